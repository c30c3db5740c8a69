// [solution]
// The other way around: trainers send their rows as they are, and each server keeps its columns. More bytes over the
// links, and nothing to do for trainers. The copy is one cudaMemcpy2DAsync for each trainer.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), half_(rank.world() / 2), comm_(rank) {
    if (rank_ >= half_)
      fabricbench::check_cuda(cudaMalloc(&all_, half_ * half_ * args.m * args.k * sizeof(__nv_bfloat16)));
  }
  ~Solution() { cudaFree(all_); }

  void run(const Args& args, cudaStream_t stream) {
    const size_t shard = args.m * args.k * half_, row = args.k * sizeof(__nv_bfloat16);
    fabricbench::check_nccl(ncclGroupStart());
    for (int i = 0; i < half_; ++i) {
      if (rank_ < half_) fabricbench::check_nccl(ncclSend(args.rows, shard, ncclBfloat16, half_ + i, comm_, stream));
      if (rank_ >= half_) fabricbench::check_nccl(ncclRecv(all_ + i * shard, shard, ncclBfloat16, i, comm_, stream));
    }
    if (rank_ < half_) fabricbench::check_nccl(ncclRecv(args.columns, 1, ncclBfloat16, half_ + rank_, comm_, stream));
    if (rank_ >= half_) fabricbench::check_nccl(ncclSend(args.rows, 1, ncclBfloat16, rank_ - half_, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    if (rank_ < half_) return;
    fabricbench::check_cuda(cudaMemcpy2DAsync(args.columns, row, all_ + (rank_ - half_) * args.k, row * half_, row,
                                              half_ * args.m, cudaMemcpyDeviceToDevice, stream));
  }

 private:
  int rank_, half_;
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16* all_ = nullptr;
};
// [/solution]
