// The host knows from the kernel's last store that it is done.
// exit: 0
// says: checked: 0 findings
#include "silent.h"
__global__ void tell(volatile int* done) { *done = 1; }
int main() {
  int* done = nullptr;
  cudaMallocHost(&done, sizeof *done);
  *done = 0;
  tell<<<1, 1>>>(done);
  while (*static_cast<volatile int*>(done) == 0) {
  }
}
