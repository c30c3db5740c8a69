// [solution]
#include <fabricbench/rank_barrier.h>

// Every rank reads the root's weights where they are, between two kernels that are barriers of all ranks: the stream
// orders them all.
using fabricbench::Peers;

__global__ void pull(const int32_t* root, Peers<const __nv_bfloat16> in, __nv_bfloat16* out, int64_t count) {
  const __nv_bfloat16* from = in.of[*root];
  const int64_t thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  for (int64_t q = thread; q < count / 8; q += threads)
    reinterpret_cast<int4*>(out)[q] = reinterpret_cast<const int4*>(from)[q];
  if (thread < count % 8) out[count / 8 * 8 + thread] = from[count / 8 * 8 + thread];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        attention_(rank, args.attention),
        mlp_(rank, args.mlp),
        norm_(rank, args.norm) {}

  void run(const Args& args, cudaStream_t stream) {
    // all inputs are there
    fabricbench::rank_barrier_kernel<<<1, world_, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    const auto get = [&](const fabricbench::PeerMemory& in, __nv_bfloat16* out, int64_t rows) {
      pull<<<32, 256, 0, stream>>>(args.root, in.peers<const __nv_bfloat16>(), out, rows * args.hidden);
    };
    get(attention_, args.new_attention, args.attention_rows);
    get(mlp_, args.new_mlp, args.mlp_rows);
    get(norm_, args.new_norm, args.norm_rows);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world_, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, attention_, mlp_, norm_;
};
// [/solution]
