// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kThreads = 512, kMostHidden = 8192, kQuads = kMostHidden / 8 / kThreads;

__device__ void add_pack(float (&sum)[8], int4 pack) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&pack);
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]);
    sum[2 * k] += v.x;
    sum[2 * k + 1] += v.y;
  }
}
__device__ int4 packed(const float (&values)[8]) {
  int4 pack;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&pack);
  for (int k = 0; k < 4; ++k) pairs[k] = __floats2bfloat162_rn(values[2 * k], values[2 * k + 1]);
  return pack;
}

// A block for each row; parts: [sender][row][quads]. A thread keeps its sums in registers.
__global__ void __launch_bounds__(kThreads)
    add_and_normalise(const int4* parts, const int4* residual, const int4* weight, int4* h, int4* y, int quads,
                      int world) {
  __shared__ float of_warp[kThreads / kWarp];
  const int64_t row = int64_t{blockIdx.x} * quads, all = int64_t{gridDim.x} * quads;
  const int thread = static_cast<int>(threadIdx.x);
  float sum[kQuads][8] = {}, squares = 0;
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    const int quad = thread + q * kThreads;
    if (quad >= quads) continue;
    add_pack(sum[q], residual[row + quad]);
#pragma unroll 8
    for (int r = 0; r < world; ++r) add_pack(sum[q], parts[r * all + row + quad]);
    for (int k = 0; k < 8; ++k) squares += sum[q][k] * sum[q][k];
    h[row + quad] = packed(sum[q]);
  }
  for (int step = kWarp / 2; step > 0; step /= 2) squares += __shfl_xor_sync(~0u, squares, step);
  if (thread % kWarp == 0) of_warp[thread / kWarp] = squares;
  __syncthreads();
  squares = 0;
  for (int w = 0; w < kThreads / kWarp; ++w) squares += of_warp[w];
  const float scale = rsqrtf(squares / static_cast<float>(8 * quads) + 1e-5F);
#pragma unroll
  for (int q = 0; q < kQuads; ++q) {
    const int quad = thread + q * kThreads;
    if (quad >= quads) continue;
    float by[8] = {};
    add_pack(by, weight[quad]);
    for (int k = 0; k < 8; ++k) sum[q][k] *= scale * by[k];
    y[row + quad] = packed(sum[q]);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(
        cudaMalloc(&parts_, static_cast<size_t>(args.rows * world_ * args.hidden) * sizeof(__nv_bfloat16)));
  }
  ~Solution() { cudaFree(parts_); }

  // As many bytes as a reduce-scatter, and no rounding on the way: NCCL's own would round to bf16 at each hop.
  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(
        ncclAlltoAll(args.x, parts_, static_cast<size_t>(args.rows * args.hidden), ncclBfloat16, comm_, stream));
    add_and_normalise<<<static_cast<unsigned>(args.rows), kThreads, 0, stream>>>(
        parts_, reinterpret_cast<const int4*>(args.residual), reinterpret_cast<const int4*>(args.weight),
        reinterpret_cast<int4*>(args.h), reinterpret_cast<int4*>(args.y), static_cast<int>(args.hidden / 8), world_);
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
  int4* parts_ = nullptr;
};
// [/solution]
