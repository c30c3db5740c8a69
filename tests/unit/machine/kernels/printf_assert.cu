// printf, assert and trap in device code.
#include <cassert>
#include <cstdio>

// run: prints grid=1 block=2 shared=0
// in:  f32[2] = list 1.5 -2.25
// out: i32[2]
// expect: list 21 22
// prints: thread 0 has 1.500000 (a, 7, 123456789012)
// prints: thread 1 has -2.250000 (b, 7, 123456789012)
extern "C" __global__ void prints(const float* in, int* out, int n) {
  const char letters[] = {'a', 'b'};
  out[threadIdx.x] = 21 + int(threadIdx.x);
  printf("thread %u has %f (%c, %d, %lld)\n", threadIdx.x, in[threadIdx.x], letters[threadIdx.x], 7, 123456789012ll);
}

// run: holds grid=1 block=32 shared=0
// in:  i32[32] = iota
// out: i32[32]
extern "C" __global__ void holds(const int* in, int* out, int n) {
  assert(in[threadIdx.x] < n);
  out[threadIdx.x] = in[threadIdx.x];
}
extern "C" void expect_holds(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i];
}

// run: fails grid=1 block=32 shared=0
// in:  i32[32] = iota
// out: i32[32]
// fault: assert
extern "C" __global__ void fails(const int* in, int* out, int n) {
  assert(in[threadIdx.x] != 17);
  out[threadIdx.x] = 1;
}

// run: traps grid=1 block=32 shared=0
// in:  i32[32] = iota
// out: i32[32]
// fault: trap
extern "C" __global__ void traps(const int* in, int* out, int n) {
  if (in[threadIdx.x] == n - 1) __trap();
  out[threadIdx.x] = 1;
}
