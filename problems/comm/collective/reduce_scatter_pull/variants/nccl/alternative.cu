// [solution]
__global__ void to_float(const __nv_bfloat16* in, float* wide, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) wide[i] = in[i];
}

__global__ void to_bf16(const float* sums, __nv_bfloat16* out, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) out[i] = sums[i];
}

// Without padding: every share is reduced to its own rank by a call with its own length, all in one group.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&wide_, args.n * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&sums_, (args.n / world_ + 1) * sizeof(float)));
  }
  ~Solution() {
    cudaFree(wide_);
    cudaFree(sums_);
  }

  void run(const Args& args, cudaStream_t stream) {
    to_float<<<(args.n + 127) / 128, 128, 0, stream>>>(args.in, wide_, args.n);
    fabricbench::check_nccl(ncclGroupStart());
    for (int64_t r = 0; r < world_; ++r) {
      const int64_t first = r * args.n / world_, end = (r + 1) * args.n / world_;
      fabricbench::check_nccl(ncclReduce(wide_ + first, sums_, static_cast<size_t>(end - first), ncclFloat, ncclSum,
                                         static_cast<int>(r), comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
    const int64_t count = (rank_ + 1) * args.n / world_ - rank_ * args.n / world_;
    to_bf16<<<(count + 127) / 128, 128, 0, stream>>>(sums_, args.out, count);
  }

 private:
  int64_t rank_, world_;
  fabricbench::NcclCommunicator comm_;
  float *wide_ = nullptr, *sums_ = nullptr;
};
// [/solution]
