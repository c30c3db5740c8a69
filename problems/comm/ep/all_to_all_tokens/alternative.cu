// [solution]
// Without the host: every rank gets all tokens and all counts, and a kernel takes its own. A block for each source.
__global__ void take(Args args, const int32_t* matrix, const __nv_bfloat16* all, int rank, int world) {
  const int source = blockIdx.y;
  int64_t first = 0, at = 0;
  for (int d = 0; d < rank; ++d) first += matrix[source * world + d];
  for (int s = 0; s < source; ++s) at += matrix[s * world + rank];
  const int64_t count = matrix[source * world + rank];
  if (blockIdx.x == 0 && threadIdx.x == 0) args.received[source] = static_cast<int32_t>(count);
  const __nv_bfloat16* from = all + (source * args.tokens + first) * args.hidden;
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count * args.hidden; i += gridDim.x * blockDim.x)
    args.out[at * args.hidden + i] = from[i];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&matrix_, world_ * world_ * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&all_, world_ * args.tokens * args.hidden * sizeof(__nv_bfloat16)));
  }
  ~Solution() {
    cudaFree(matrix_);
    cudaFree(all_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAllGather(args.counts, matrix_, world_, ncclInt32, comm_, stream));
    fabricbench::check_nccl(ncclAllGather(args.in, all_, args.tokens * args.hidden, ncclBfloat16, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    take<<<dim3(16, world_), 256, 0, stream>>>(args, matrix_, all_, rank_, world_);
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int32_t* matrix_ = nullptr;
  __nv_bfloat16* all_ = nullptr;
};
// [/solution]
