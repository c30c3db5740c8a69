// [solution]
// Without groups: the ranks take turns. Even ones send while odd ones receive, then the other way around; where `world`
// is odd, the last rank and rank 0 are both even, and rank 0 receives last. Positions go as bytes.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {}

  void run(const Args& args, cudaStream_t stream) {
    if (rank_ % 2 == 0) {
      send(args, stream);
      receive(args, stream);
    } else {
      receive(args, stream);
      send(args, stream);
    }
  }

 private:
  void send(const Args& args, cudaStream_t stream) {
    const int to = (rank_ + 1) % world_;
    fabricbench::check_nccl(ncclSend(args.hidden_in, args.tokens * args.hidden, ncclBfloat16, to, comm_, stream));
    fabricbench::check_nccl(ncclSend(args.position_in, args.tokens * 8, ncclUint8, to, comm_, stream));
    fabricbench::check_nccl(ncclSend(args.mask_in, args.tokens, ncclUint8, to, comm_, stream));
  }
  void receive(const Args& args, cudaStream_t stream) {
    const int from = (rank_ + world_ - 1) % world_;
    fabricbench::check_nccl(ncclRecv(args.hidden_out, args.tokens * args.hidden, ncclBfloat16, from, comm_, stream));
    fabricbench::check_nccl(ncclRecv(args.position_out, args.tokens * 8, ncclUint8, from, comm_, stream));
    fabricbench::check_nccl(ncclRecv(args.mask_out, args.tokens, ncclUint8, from, comm_, stream));
  }

  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
};
// [/solution]
