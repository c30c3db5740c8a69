// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256, kQuads = 16;  // quads of 8 numbers in a block of 128

// Half a warp for each block.
__global__ void quantise(const int4* x, uint2* codes, float* scales, int64_t blocks) {
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x, block = thread / kQuads;
  const int4 bits = block < blocks ? __ldg(x + thread) : int4{};
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
  float2 v[4];
  float most = 0;
  for (int k = 0; k < 4; ++k) {
    v[k] = __bfloat1622float2(pairs[k]);
    most = fmaxf(most, fmaxf(fabsf(v[k].x), fabsf(v[k].y)));
  }
  for (int step = kQuads / 2; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  if (block >= blocks) return;
  const float scale = most / 448.0F, divisor = scale > 0 ? scale : 1;
  uint32_t word[2] = {};
  for (int k = 0; k < 4; ++k) {
    const float2 quotient = make_float2(v[k].x / divisor, v[k].y / divisor);
    word[k / 2] |= uint32_t{__nv_cvt_float2_to_fp8x2(quotient, __NV_SATFINITE, __NV_E4M3)} << (k % 2 * 16);
  }
  codes[thread] = make_uint2(word[0], word[1]);
  if (thread % kQuads == 0) scales[block] = scale;
}

// Each rank quantises into its own place of the outputs, and NCCL gathers in place.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), comm_(rank) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t blocks = args.rows * args.hidden / 128;
    uint8_t* codes = args.codes + rank_ * blocks * 128;
    float* scales = args.scales + rank_ * blocks;
    const auto grid = static_cast<unsigned>((blocks * kQuads + kThreads - 1) / kThreads);
    quantise<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const int4*>(args.x), reinterpret_cast<uint2*>(codes),
                                            scales, blocks);
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(
        ncclAllGather(codes, args.codes, static_cast<size_t>(blocks * 128), ncclUint8, comm_, stream));
    fabricbench::check_nccl(ncclAllGather(scales, args.scales, static_cast<size_t>(blocks), ncclFloat, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  int rank_;
  fabricbench::NcclCommunicator comm_;
};
// [/solution]
