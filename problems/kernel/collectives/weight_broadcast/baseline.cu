// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

// NCCL wants the root on the host: it is copied there and waited for. The tensors then go in one group.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : comm_(rank) {
    fabricbench::check_cuda(cudaMallocHost(&root_, sizeof(int32_t)));
  }
  ~Solution() { cudaFreeHost(root_); }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cuda(cudaMemcpyAsync(root_, args.root, sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));
    const auto broadcast = [&](const __nv_bfloat16* in, __nv_bfloat16* out, int64_t rows) {
      const auto count = static_cast<size_t>(rows * args.hidden);
      fabricbench::check_nccl(ncclBroadcast(in, out, count, ncclBfloat16, *root_, comm_, stream));
    };
    fabricbench::check_nccl(ncclGroupStart());
    broadcast(args.attention, args.new_attention, args.attention_rows);
    broadcast(args.mlp, args.new_mlp, args.mlp_rows);
    broadcast(args.norm, args.new_norm, args.norm_rows);
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  fabricbench::NcclCommunicator comm_;
  int32_t* root_ = nullptr;
};
// [/solution]
