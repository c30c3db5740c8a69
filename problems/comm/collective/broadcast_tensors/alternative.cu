// [solution]
// Packed: the tensors of one owner are put together, one all-gather of equal, padded shares moves them all, and they
// are put where they belong. Two kernels and one collective.
__device__ int64_t offset(int64_t k, int64_t n) { return k * n + k * (k - 1) / 2; }
// Where tensor k begins in its owner's share: behind those that the owner has before it.
__device__ int64_t place(int64_t k, int64_t n, int64_t world) {
  const int64_t owner = k % world, before = k / world;  // owner, owner + world, …
  return before * (n + owner) + world * (before * (before - 1) / 2);
}

__global__ void pack(Args args, __nv_bfloat16* share, int64_t rank, int64_t world) {
  for (int64_t k = rank + blockIdx.x * world; k < args.tensors; k += gridDim.x * world) {
    for (int64_t i = threadIdx.x; i < args.n + k; i += blockDim.x)
      share[place(k, args.n, world) + i] = args.in[offset(k, args.n) + i];
  }
}

__global__ void unpack(Args args, const __nv_bfloat16* shares, int64_t length, int64_t world) {
  for (int64_t k = blockIdx.x; k < args.tensors; k += gridDim.x) {
    const __nv_bfloat16* from = shares + k % world * length + place(k, args.n, world);
    for (int64_t i = threadIdx.x; i < args.n + k; i += blockDim.x) args.out[offset(k, args.n) + i] = from[i];
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    const int64_t most = (args.tensors + world_ - 1) / world_;
    length_ = most * (args.n + args.tensors);
    fabricbench::check_cuda(cudaMalloc(&shares_, world_ * length_ * sizeof(__nv_bfloat16)));
    fabricbench::check_cuda(cudaMemset(shares_, 0, world_ * length_ * sizeof(__nv_bfloat16)));
  }
  ~Solution() { cudaFree(shares_); }

  void run(const Args& args, cudaStream_t stream) {
    pack<<<16, 256, 0, stream>>>(args, shares_ + rank_ * length_, rank_, world_);
    fabricbench::check_nccl(ncclAllGather(shares_ + rank_ * length_, shares_, length_, ncclBfloat16, comm_, stream));
    unpack<<<64, 256, 0, stream>>>(args, shares_, length_, world_);
  }

 private:
  int64_t rank_, world_, length_ = 0;
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16* shares_ = nullptr;
};
// [/solution]
