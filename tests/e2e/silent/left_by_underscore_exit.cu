// exit: 1
// says: kernel fill(int*), device 1, launched at
// says: never began
#include <unistd.h>

#include "silent.h"
int main() {
  cudaSetDevice(1);
  fill<<<1, 32>>>(words());
  std::puts("PASSED");
  std::fflush(stdout);
  _exit(0);
}
