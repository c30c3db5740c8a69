// [solution]
// One communicator and one stream, both operations in a group.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : comm_(rank) {}
  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAllGather(args.shard, args.parameters, args.p, ncclBfloat16, comm_, stream));
    fabricbench::check_nccl(ncclReduceScatter(args.gradients, args.share, args.n, ncclFloat, ncclSum, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  fabricbench::NcclCommunicator comm_;
};
// [/solution]
