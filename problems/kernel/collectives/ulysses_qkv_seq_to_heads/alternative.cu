// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
// Reads one part (queries, keys or values) of all tokens from the ranks that have them: `quads` times 16 bytes, behind
// the first `begin` of each token. Grid: (tokens, world).
__global__ void pull(Peers<int4> qkv, int4* out, int64_t row, int64_t begin, int64_t quads, int rank) {
  const int64_t token = blockIdx.x, tokens = gridDim.x;
  const int source = (rank + static_cast<int>(blockIdx.y)) % static_cast<int>(gridDim.y);
  for (int64_t i = threadIdx.x; i < quads; i += blockDim.x)
    out[(source * tokens + token) * quads + i] = qkv.of[source][token * row + begin + i];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), words_(rank, 64 * sizeof(uint32_t)), inputs_(rank, args.qkv) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t groups = (world_ + args.copies - 1) / args.copies, group = rank_ / args.copies;
    const int64_t q = args.q_heads * args.dim / 8, kv = args.kv_heads * args.dim / 8;
    const int64_t row = world_ * q + 2 * groups * kv;
    const dim3 grid(static_cast<unsigned>(args.tokens), static_cast<unsigned>(world_));
    const auto inputs = inputs_.peers<int4>();
    // all inputs are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    pull<<<grid, 128, 0, stream>>>(inputs, reinterpret_cast<int4*>(args.q), row, rank_ * q, q, rank_);
    pull<<<grid, 32, 0, stream>>>(inputs, reinterpret_cast<int4*>(args.k), row, world_ * q + group * kv, kv, rank_);
    pull<<<grid, 32, 0, stream>>>(inputs, reinterpret_cast<int4*>(args.v), row, world_ * q + (groups + group) * kv, kv,
                                  rank_);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, inputs_;
};
// [/solution]
