// [solution]
#include <fabricbench/check.h>

// GPU 1 fetches the bytes, on a stream of its own between two events, in two halves.
class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {
    fabricbench::check_cuda(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
    fabricbench::check_cuda(cudaSetDevice(kTo));
    if (cudaDeviceEnablePeerAccess(kFrom, 0) != cudaSuccess) cudaGetLastError();
    fabricbench::check_cuda(cudaStreamCreateWithFlags(&fetching_, cudaStreamNonBlocking));
    fabricbench::check_cuda(cudaEventCreateWithFlags(&end_, cudaEventDisableTiming));
    fabricbench::check_cuda(cudaSetDevice(kFrom));
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
    fabricbench::check_cuda(cudaEventRecord(begin_, stream));
    fabricbench::check_cuda(cudaStreamWaitEvent(fetching_, begin_, 0));
    if (half > 0)
      fabricbench::check_cuda(cudaMemcpyAsync(args.out, from, half * sizeof *from, cudaMemcpyDefault, fetching_));
    fabricbench::check_cuda(
        cudaMemcpyAsync(args.out + half, from + half, rest * sizeof *from, cudaMemcpyDefault, fetching_));
    fabricbench::check_cuda(cudaEventRecord(end_, fetching_));
    fabricbench::check_cuda(cudaStreamWaitEvent(stream, end_, 0));
  }

 private:
  cudaEvent_t begin_{}, end_{};
  cudaStream_t fetching_{};
};
// [/solution]
