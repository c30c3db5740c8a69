#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <stdexcept>
#include <string>

#include "args.h"

constexpr int kFrom = 0;  // the GPU that has `in`
constexpr int kTo = 1;    // the GPU that has `out`

// [solution]
// GPU 1 fetches the bytes, on a stream of its own between two events, in two halves.
class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {
    cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming);
    cudaSetDevice(kTo);
    if (cudaDeviceEnablePeerAccess(kFrom, 0) != cudaSuccess) cudaGetLastError();
    cudaStreamCreateWithFlags(&fetching_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&end_, cudaEventDisableTiming);
    cudaSetDevice(kFrom);
  }
  ~Solution() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(fetching_);
  }
  Solution(const Solution&) = delete;
  Solution& operator=(const Solution&) = delete;

  void run(const Args& args, cudaStream_t stream) {
    const auto half = static_cast<size_t>(args.n) / 2, rest = static_cast<size_t>(args.n) - half;
    const auto* from = args.in + args.first;
    cudaEventRecord(begin_, stream);
    cudaStreamWaitEvent(fetching_, begin_, 0);
    if (half > 0) cudaMemcpyAsync(args.out, from, half * sizeof *from, cudaMemcpyDefault, fetching_);
    cudaMemcpyAsync(args.out + half, from + half, rest * sizeof *from, cudaMemcpyDefault, fetching_);
    cudaEventRecord(end_, fetching_);
    cudaStreamWaitEvent(stream, end_, 0);
  }

 private:
  cudaEvent_t begin_{}, end_{};
  cudaStream_t fetching_{};
};
// [/solution]
