// Asynchronous launches, and the program exits.
// exit: 1
// unchecked: 0
// says: launch: rank 0 ended before the work that it had launched:
// says: kernel fill(int*), device 0, launched at
// says: left_at_once.cu:[launch]
// says: never began (3 times)
// says: 0 kernels, 0 accesses checked: 1 finding
#include "silent.h"
int main() {
  int* x = words();
  for (int k = 0; k < 3; ++k) {
    fill<<<1, 32>>>(x);  // [launch]
  }
  std::puts("PASSED");
}
