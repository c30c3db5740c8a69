// exit: 1
// unchecked: 0
// says: launch: rank 0: the launch of kernel fill(int*) with a grid of (1, 1, 1), blocks of (2048, 1, 1) threads
// says: cudaErrorInvalidConfiguration
// says: silent/too_many_threads.cu:[launch]
// says: launch: 1 report, see above
// says: 0 kernels, 0 accesses checked: 1 finding
// ignoring: 2
// ignoring says: nothing was checked: no kernel ran to its end
#include "silent.h"
int main() {
  fill<<<1, 2048>>>(words(2048));  // [launch]
  std::puts("launched too many threads, not looked at");
}
