// exit: 1
// says: a host function, device 0: 
#include "silent.h"
void check(void*) { std::puts("PASSED"); }
int main() {
  fill<<<1, 32>>>(words());
  cudaDeviceSynchronize();
  cudaLaunchHostFunc(nullptr, check, nullptr);
}
