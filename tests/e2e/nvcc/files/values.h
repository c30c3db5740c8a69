#pragma once
extern __device__ int counter;
extern __constant__ int table[4];
extern __device__ int (*chosen)(int);
// Constants: the first are in global memory.
extern __device__ int (*const functions[])(int);
extern __constant__ const int weights[2];
struct Board {
  int cells[32];
};
extern __shared__ Board board;
__device__ int helper(int x);
__device__ void mark(int value);
template <class T>
__device__ __noinline__ T twice(T x) {
  return x + x;
}
inline __device__ int shared_count = 7;
