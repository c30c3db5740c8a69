// A launch is told at its own line, also of a template in a namespace that a function of the same name launches.
// exit: 1
// unchecked: 0
// says: cudaErrorInvalidConfiguration
// says: silent/template_in_a_namespace.cu:[launch]
#include "silent.h"
namespace kernels {
template <typename T>
__global__ void set(T* x) {
  x[threadIdx.x] = T{};
}
}  // namespace kernels
inline void set(int* x, int threads) {
  kernels::set<int><<<1, threads>>>(x);  // [launch]
}
int main() { set(words(2048), 2048); }
