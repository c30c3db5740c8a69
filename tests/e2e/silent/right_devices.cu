// Launches on several devices, waited for one by one, or all by the default stream's copies.
// exit: 0
// says: checked: 0 findings
#include "silent.h"
int main() {
  int* x[4];
  for (int d = 0; d < 4; ++d) {
    cudaSetDevice(d);
    x[d] = words();
    fill<<<1, 32>>>(x[d]);
  }
  for (int d = 0; d < 4; ++d) {
    int host[32];
    cudaSetDevice(d);
    cudaMemcpy(host, x[d], sizeof host, cudaMemcpyDeviceToHost);
    if (host[31] != 31) return 1;
  }
}
