// Compiled twice with other macros: two objects of one file.
#include <cstdio>
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
static __device__ int value = PART;
static __global__ void show() { printf("part %d\n", value); }
void JOIN(part, PART)() {
  show<<<1, 1>>>();
  cudaDeviceSynchronize();
}
#if PART == 1
void part2();
int main() {
  part1();
  part2();
}
#endif
