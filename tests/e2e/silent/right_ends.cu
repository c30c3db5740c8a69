// exit() from a function, with destructors and handlers that still call CUDA; copies and fills of nothing.
// exit: 0
// says: 2 kernels, 64 accesses checked: 0 findings
#include "silent.h"
struct Holder {
  int* x = nullptr;
  ~Holder() { cudaFree(x); }
} holder;
void at_end() {
  cudaDeviceSynchronize();
  std::puts("at the end");
}
[[noreturn]] void finish() {
  cudaMemcpy(holder.x, holder.x, 0, cudaMemcpyDeviceToDevice);
  cudaMemset(holder.x, 0, 0);
  cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDeviceToHost, nullptr);
  std::exit(0);
}
int main() {
  std::atexit(at_end);
  holder.x = words();
  fill<<<1, 32>>>(holder.x);
  finish();
}
