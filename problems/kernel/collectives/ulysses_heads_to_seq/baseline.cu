// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 128;

// out[token][source] = received[source][token]: pieces of `quads` times 16 bytes. Grid: (tokens, world).
__global__ void unpack(const int4* received, int4* out, int64_t quads) {
  const int64_t token = blockIdx.x, tokens = gridDim.x, source = blockIdx.y, world = gridDim.y;
  for (int64_t q = threadIdx.x; q < quads; q += kThreads)
    out[(token * world + source) * quads + q] = received[(source * tokens + token) * quads + q];
}

// What a rank gets is adjacent in `in`: NCCL sends it from there. A kernel then joins the heads of each token.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), message_(args.tokens * args.heads * args.dim), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&received_, static_cast<size_t>(world_ * message_) * sizeof(__nv_bfloat16)));
  }
  ~Solution() { cudaFree(received_); }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(ncclGroupStart());
    for (int k = 0; k < world_; ++k) {
      const int to = (rank_ + k) % world_, from = (rank_ - k + world_) % world_;
      const auto count = static_cast<size_t>(message_);
      fabricbench::check_nccl(ncclSend(args.in + to * message_, count, ncclBfloat16, to, comm_, stream));
      fabricbench::check_nccl(ncclRecv(received_ + from * message_, count, ncclBfloat16, from, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
    const dim3 grid(static_cast<unsigned>(args.tokens), static_cast<unsigned>(world_));
    unpack<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const int4*>(received_), reinterpret_cast<int4*>(args.out),
                                          args.heads * args.dim / 8);
  }

 private:
  int rank_, world_;
  int64_t message_;  // elements from one rank to another
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16* received_ = nullptr;
};
// [/solution]
