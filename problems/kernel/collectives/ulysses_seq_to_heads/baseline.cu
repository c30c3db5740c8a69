// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;

// packed[peer][token] = in[token][peer]: pieces of `quads` times 16 bytes. Grid: (tokens, world).
__global__ void pack(const int4* in, int4* packed, int64_t quads) {
  const int64_t token = blockIdx.x, tokens = gridDim.x, peer = blockIdx.y, world = gridDim.y;
  for (int64_t q = threadIdx.x; q < quads; q += kThreads)
    packed[(peer * tokens + token) * quads + q] = in[(token * world + peer) * quads + q];
}

// Packs what each rank gets into one message, and lets NCCL exchange the messages. They arrive where they belong: the
// pieces of one source are adjacent in `out`.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), message_(args.tokens * args.heads * args.dim), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&packed_, static_cast<size_t>(world_ * message_) * sizeof(__nv_bfloat16)));
  }
  ~Solution() { cudaFree(packed_); }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t quads = args.heads * args.dim / 8;
    const dim3 grid(static_cast<unsigned>(args.tokens), static_cast<unsigned>(world_));
    pack<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const int4*>(args.in), reinterpret_cast<int4*>(packed_),
                                        quads);
    fabricbench::check_nccl(ncclGroupStart());
    for (int k = 0; k < world_; ++k) {
      const int to = (rank_ + k) % world_, from = (rank_ - k + world_) % world_;
      const auto count = static_cast<size_t>(message_);
      fabricbench::check_nccl(ncclSend(packed_ + to * message_, count, ncclBfloat16, to, comm_, stream));
      fabricbench::check_nccl(ncclRecv(args.out + from * message_, count, ncclBfloat16, from, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  int rank_, world_;
  int64_t message_;  // elements from one rank to another
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16* packed_ = nullptr;
};
// [/solution]
