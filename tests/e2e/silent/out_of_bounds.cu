// exit: 1
// unchecked: 0
// says: fault: rank 0, device 0: out_of_bounds
// says: fault: 1 report, see above
// says: checked: 1 finding
// ignoring: 2
// ignoring says: nothing was checked: no kernel ran to its end
#include "silent.h"
__global__ void far(int* x) { x[1 << 20] = 1; }
int main() {
  far<<<1, 1>>>(words());
  cudaDeviceSynchronize();
  std::puts("PASSED");
}
