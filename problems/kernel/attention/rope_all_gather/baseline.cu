// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;

// Eight pairs for each thread.
__global__ void rotate(const uint4* in, uint4* out, const float4* cosines, const float4* sines, int count, int heads,
                       int units) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const int row = i / units, unit = i % units, angle = (row / heads * units + unit) * 2, at = row * 2 * units + unit;
  const uint4 from[2] = {in[at], in[at + units]};
  const float4 cos[2] = {cosines[angle], cosines[angle + 1]}, sin[2] = {sines[angle], sines[angle + 1]};
  const auto *low = reinterpret_cast<const __nv_bfloat16*>(&from[0]),
             *high = reinterpret_cast<const __nv_bfloat16*>(&from[1]);
  uint4 to[2];
  auto *first = reinterpret_cast<__nv_bfloat16*>(&to[0]), *second = reinterpret_cast<__nv_bfloat16*>(&to[1]);
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const float a = __bfloat162float(low[n]), b = __bfloat162float(high[n]);
    const float x = reinterpret_cast<const float*>(cos)[n], y = reinterpret_cast<const float*>(sin)[n];
    first[n] = __float2bfloat16(a * x - b * y);
    second[n] = __float2bfloat16(b * x + a * y);
  }
  out[at] = to[0];
  out[at + units] = to[1];
}

// Rotates in place in this rank's part of the outputs, and gathers from there.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()), comm_(rank) {}

  void run(const Args& args, cudaStream_t stream) {
    __nv_bfloat16* q = rotated(args.q, args.q_all, args.q_heads, args, stream);
    __nv_bfloat16* k = rotated(args.k, args.k_all, args.k_heads, args, stream);
    const int64_t row = args.tokens * args.dim;
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(
        ncclAllGather(q, args.q_all, static_cast<size_t>(row * args.q_heads), ncclBfloat16, comm_, stream));
    fabricbench::check_nccl(
        ncclAllGather(k, args.k_all, static_cast<size_t>(row * args.k_heads), ncclBfloat16, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  __nv_bfloat16* rotated(const __nv_bfloat16* in, __nv_bfloat16* all, int64_t heads, const Args& args,
                         cudaStream_t stream) const {
    __nv_bfloat16* out = all + rank_ * args.tokens * heads * args.dim;
    const auto units = static_cast<int>(args.dim / 16), count = static_cast<int>(args.tokens * heads) * units;
    rotate<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
        reinterpret_cast<const uint4*>(in), reinterpret_cast<uint4*>(out), reinterpret_cast<const float4*>(args.cos),
        reinterpret_cast<const float4*>(args.sin), count, static_cast<int>(heads), units);
    return out;
  }

  int rank_;
  fabricbench::NcclCommunicator comm_;
};
// [/solution]
