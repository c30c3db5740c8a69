// [solution]
// By messages: everyone to everyone, in one group; the own tokens by a copy.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto count = [&](int64_t r) { return static_cast<size_t>((args.tokens + r * args.more) * args.hidden); };
    const auto first = [&](int64_t r) { return (r * args.tokens + r * (r - 1) / 2 * args.more) * args.hidden; };
    fabricbench::check_cuda(cudaMemcpyAsync(args.out + first(rank_), args.in, count(rank_) * sizeof(*args.in),
                                            cudaMemcpyDeviceToDevice, stream));
    fabricbench::check_nccl(ncclGroupStart());
    for (int k = 1; k < world_; ++k) {
      const int to = (rank_ + k) % world_, from = (rank_ + world_ - k) % world_;
      fabricbench::check_nccl(ncclSend(args.in, count(rank_), ncclBfloat16, to, comm_, stream));
      fabricbench::check_nccl(ncclRecv(args.out + first(from), count(from), ncclBfloat16, from, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
};
// [/solution]
