// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;

// NCCL wants shares of one length. So wide[owner][row] has room for the longest of them. Grid: (longest, world).
__global__ void widen(const __nv_bfloat162* partial, float2* wide, int64_t rows, int64_t pairs) {
  const int64_t row = blockIdx.x, longest = gridDim.x, owner = blockIdx.y, world = gridDim.y;
  const int64_t first = owner * rows / world, end = (owner + 1) * rows / world;
  if (first + row >= end) return;
  for (int64_t k = threadIdx.x; k < pairs; k += kThreads)
    wide[(owner * longest + row) * pairs + k] = __bfloat1622float2(partial[(first + row) * pairs + k]);
}

// Grid: this rank's rows.
__global__ void narrow(const float2* sums, __nv_bfloat162* out, int64_t pairs) {
  for (int64_t k = threadIdx.x; k < pairs; k += kThreads)
    out[blockIdx.x * pairs + k] = __float22bfloat162_rn(sums[blockIdx.x * pairs + k]);
}

// NCCL's rings round sums of bf16 at every hop. So the matrix is widened to float, reduced, and rounded once.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), longest_((args.rows + world_ - 1) / world_), comm_(rank) {
    const auto share = static_cast<size_t>(longest_ * args.cols) * sizeof(float);
    fabricbench::check_cuda(cudaMalloc(&wide_, share * static_cast<size_t>(world_)));
    fabricbench::check_cuda(cudaMemset(wide_, 0, share * static_cast<size_t>(world_)));  // rows that no rank fills
    fabricbench::check_cuda(cudaMalloc(&sums_, share));
    fabricbench::check_cuda(cudaDeviceSynchronize());
  }
  ~Solution() {
    cudaFree(wide_);
    cudaFree(sums_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t own = (rank_ + 1) * args.rows / world_ - rank_ * args.rows / world_;
    const dim3 grid(static_cast<unsigned>(longest_), static_cast<unsigned>(world_));
    widen<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const __nv_bfloat162*>(args.partial),
                                         reinterpret_cast<float2*>(wide_), args.rows, args.cols / 2);
    fabricbench::check_nccl(
        ncclReduceScatter(wide_, sums_, static_cast<size_t>(longest_ * args.cols), ncclFloat, ncclSum, comm_, stream));
    narrow<<<static_cast<unsigned>(own), kThreads, 0, stream>>>(
        reinterpret_cast<const float2*>(sums_), reinterpret_cast<__nv_bfloat162*>(args.out), args.cols / 2);
  }

 private:
  int rank_, world_;
  int64_t longest_;  // rows of a share, at most
  fabricbench::NcclCommunicator comm_;
  float *wide_ = nullptr, *sums_ = nullptr;
};
// [/solution]
