// [solution]
// Call by call, without a graph; a sum and a division instead of NCCL's mean.
__global__ void towards(const float* x, const float* sum, float* y, int64_t n, float half_share) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / 2 + sum[i] * half_share;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&sum_, args.n * sizeof(float)));
  }
  ~Solution() { cudaFree(sum_); }

  void run(const Args& args, cudaStream_t stream) {
    for (int64_t k = 0; k < args.steps; ++k) {
      const float* x = k == 0 ? args.in : args.out;
      fabricbench::check_nccl(ncclAllReduce(x, sum_, args.n, ncclFloat, ncclSum, comm_, stream));
      towards<<<(args.n + 127) / 128, 128, 0, stream>>>(x, sum_, args.out, args.n, 0.5f / world_);
    }
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
  float* sum_ = nullptr;
};
// [/solution]
