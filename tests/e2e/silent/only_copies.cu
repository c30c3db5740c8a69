// Data goes to the device and back, and nothing computes.
// exit: 2
// says: nothing was checked: no kernel was launched (there were 3 copies and fills)
#include "silent.h"
int main() {
  int host[64] = {};
  int* x = words();
  cudaMemset(x, 0, sizeof host);
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  std::puts("PASSED");
}
