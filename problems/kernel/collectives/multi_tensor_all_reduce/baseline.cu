// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

// One all-reduce for each tensor, in one group.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : comm_(rank) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t of_hidden = args.experts * args.lora * args.hidden, of_ffn = args.experts * args.lora * args.ffn;
    const auto reduce = [&](const float* in, float* out, int64_t count) {
      fabricbench::check_nccl(ncclAllReduce(in, out, static_cast<size_t>(count), ncclFloat, ncclSum, comm_, stream));
    };
    fabricbench::check_nccl(ncclGroupStart());
    reduce(args.gate_a, args.gate_a_sum, of_hidden);
    reduce(args.gate_b, args.gate_b_sum, of_ffn);
    reduce(args.down_a, args.down_a_sum, of_ffn);
    reduce(args.down_b, args.down_b_sum, of_hidden);
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  fabricbench::NcclCommunicator comm_;
};
// [/solution]
