// A kernel runs until the host says so; the host leaves instead.
// exit: 1
// says: kernel forever(int volatile*), device 0
// says: was stopped while it ran
#include "silent.h"
__global__ void forever(volatile int* go) {
  go[1] = 1;
  while (go[0] == 0) {
  }
}
int main() {
  int* go = nullptr;
  cudaMallocHost(&go, 64);
  go[0] = go[1] = 0;
  forever<<<1, 1>>>(go);
  while (static_cast<volatile int*>(go)[1] == 0) {
  }
  std::puts("it runs");
}
