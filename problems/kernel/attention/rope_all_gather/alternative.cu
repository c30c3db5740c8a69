// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
// Reads numbers and angles of all ranks where they are, and rotates them here. Grid: (token, source). A thread has
// eight pairs.
__global__ void pull(Peers<const uint4> in, Peers<const float4> cosines, Peers<const float4> sines, uint4* out,
                     int heads, int units, int rank) {
  const auto token = static_cast<int>(blockIdx.x), tokens = static_cast<int>(gridDim.x);
  const int source = (rank + static_cast<int>(blockIdx.y)) % static_cast<int>(gridDim.y);
  for (int i = static_cast<int>(threadIdx.x); i < heads * units; i += static_cast<int>(blockDim.x)) {
    const int head = i / units, unit = i % units, angle = (token * units + unit) * 2;
    const int64_t low = (int64_t{token} * heads + head) * 2 * units + unit, high = low + units;
    const uint4 a = in.of[source][low], b = in.of[source][high];
    const float4 cos[2] = {cosines.of[source][angle], cosines.of[source][angle + 1]};
    const float4 sin[2] = {sines.of[source][angle], sines.of[source][angle + 1]};
    uint4 first, second;
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const float v = __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(&a)[n]);
      const float w = __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(&b)[n]);
      const float x = reinterpret_cast<const float*>(cos)[n], y = reinterpret_cast<const float*>(sin)[n];
      reinterpret_cast<__nv_bfloat16*>(&first)[n] = __float2bfloat16(fmaf(v, x, -w * y));
      reinterpret_cast<__nv_bfloat16*>(&second)[n] = __float2bfloat16(fmaf(w, x, v * y));
    }
    uint4* to = out + int64_t{source} * tokens * heads * 2 * units;
    to[low] = first;
    to[high] = second;
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        queries_(rank, args.q),
        keys_(rank, args.k),
        cosines_(rank, args.cos),
        sines_(rank, args.sin) {}

  void run(const Args& args, cudaStream_t stream) {
    // all inputs are there
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    const dim3 grid(static_cast<unsigned>(args.tokens), static_cast<unsigned>(world_));
    const auto launch = [&](const fabricbench::PeerMemory& in, __nv_bfloat16* out, int64_t heads) {
      pull<<<grid, 128, 0, stream>>>(in.peers<const uint4>(), cosines_.peers<const float4>(),
                                     sines_.peers<const float4>(), reinterpret_cast<uint4*>(out),
                                     static_cast<int>(heads), static_cast<int>(args.dim / 16), rank_);
    };
    launch(queries_, args.q_all, args.q_heads);
    launch(keys_, args.k_all, args.k_heads);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, queries_, keys_, cosines_, sines_;
};
// [/solution]
