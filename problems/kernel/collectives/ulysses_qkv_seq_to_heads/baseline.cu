// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 128;

// packed[peer][token] = what the peer gets of it, the quads (16 bytes) of `from` on behind peer / copies * quads.
// Grid: (tokens, world).
__global__ void pack(const int4* from, int4* packed, int64_t row, int64_t quads, int64_t copies) {
  const int64_t token = blockIdx.x, tokens = gridDim.x, peer = blockIdx.y;
  for (int64_t i = threadIdx.x; i < quads; i += kThreads)
    packed[(peer * tokens + token) * quads + i] = from[token * row + peer / copies * quads + i];
}

// Packs queries, keys and values for each rank, and lets NCCL exchange them. They arrive where they belong: the pieces
// of one source are adjacent in `q`, `k` and `v`.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        q_(args.tokens * args.q_heads * args.dim),
        kv_(args.tokens * args.kv_heads * args.dim),
        comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&packed_, static_cast<size_t>(world_ * (q_ + 2 * kv_)) * sizeof(__nv_bfloat16)));
  }
  ~Solution() { cudaFree(packed_); }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t groups = (world_ + args.copies - 1) / args.copies;
    const int64_t q_quads = args.q_heads * args.dim / 8, kv_quads = args.kv_heads * args.dim / 8;
    const int64_t row = world_ * q_quads + 2 * groups * kv_quads;
    const dim3 grid(static_cast<unsigned>(args.tokens), static_cast<unsigned>(world_));
    const auto* from = reinterpret_cast<const int4*>(args.qkv);
    __nv_bfloat16 *q = packed_, *k = q + world_ * q_, *v = k + world_ * kv_;
    pack<<<grid, kThreads, 0, stream>>>(from, reinterpret_cast<int4*>(q), row, q_quads, 1);
    from += world_ * q_quads;
    pack<<<grid, kThreads, 0, stream>>>(from, reinterpret_cast<int4*>(k), row, kv_quads, args.copies);
    from += groups * kv_quads;
    pack<<<grid, kThreads, 0, stream>>>(from, reinterpret_cast<int4*>(v), row, kv_quads, args.copies);

    fabricbench::check_nccl(ncclGroupStart());
    exchange(q, args.q, q_, stream);
    exchange(k, args.k, kv_, stream);
    exchange(v, args.v, kv_, stream);
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  void exchange(const __nv_bfloat16* packed, __nv_bfloat16* out, int64_t message, cudaStream_t stream) {
    for (int k = 0; k < world_; ++k) {
      const int to = (rank_ + k) % world_, from = (rank_ - k + world_) % world_;
      const auto count = static_cast<size_t>(message);
      fabricbench::check_nccl(ncclSend(packed + to * message, count, ncclBfloat16, to, comm_, stream));
      fabricbench::check_nccl(ncclRecv(out + from * message, count, ncclBfloat16, from, comm_, stream));
    }
  }

  int rank_, world_;
  int64_t q_, kv_;  // elements of queries, and of keys or values, from one rank to another
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16* packed_ = nullptr;
};
// [/solution]
