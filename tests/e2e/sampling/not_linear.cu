// peer_copy, right, and slowed down by a time that depends on the size as SHAPE says. The test writes SHAPE.
#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cmath>

#include "args.h"

constexpr int kFrom = 0;  // the GPU that has `in`
constexpr int kTo = 1;    // the GPU that has `out`

// [solution]
// Microseconds for x millions of elements.
inline double quadratic(double x) { return 8 * x * x; }
inline double protocol_above(double x) { return x > 2.5 ? 25 * x : 0; }
inline double protocol_below(double x) { return x < 1.5 ? 20 : 0; }
inline double waves(double x) { return 15 * std::ceil(x / 1.4); }
inline double tiles(double x) { return 10 * std::ceil(x / 0.9); }
inline double fine_tiles(double x) { return 0.2 * std::ceil(64 * x); }
inline double further_launch(double x) { return x > 1.5 ? 15 : 0; }
inline double waits_at_small_sizes(double x) { return std::max(0.0, 60 - 18 * x); }
inline double saw(double x) { return 30 * (x / 0.8 - std::floor(x / 0.8)); }
inline double uneven_shares(double x) { return 12 * std::ceil(x) * (x > std::floor(x) ? 1.4 : 1); }
inline double constant(double) { return 500; }
inline double falls(double x) { return std::max(0.0, 90 - 10 * x); }
inline double line(double x) { return 7 + 5 * x; }

// A chain of operations that wait for each other; some 20 cycles each.
__global__ void work(int links) {
  float x = 1;
#pragma unroll 1
  for (int i = 0; i < links; ++i) x = __frcp_rn(x + 1);
  if (x == 0) __trap();  // never; the chain must not be left out
}

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {
    cudaSetDevice(kFrom);
    if (cudaDeviceEnablePeerAccess(kTo, 0) != cudaSuccess) cudaGetLastError();  // it was there already
  }
  void run(const Args& args, cudaStream_t stream) {
    cudaMemcpyPeerAsync(args.out, kTo, args.in + args.first, kFrom, static_cast<size_t>(args.n) * sizeof *args.out,
                        stream);
    constexpr double kLinks = 100;  // in a microsecond, about
    const double time = SHAPE(static_cast<double>(args.n) / (1 << 20));
    if (time > 0) work<<<1, 1, 0, stream>>>(static_cast<int>(kLinks * time));
  }
};
// [/solution]
