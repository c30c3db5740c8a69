// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256, kQuads = 16;  // quads of 8 numbers in a block of 128

// A message: the codes of a slice, then its scales.
struct Slice {
  int64_t blocks, bytes;
  __host__ __device__ uint8_t* codes(uint8_t* messages, int64_t rank) const { return messages + rank * bytes; }
  __host__ __device__ float* scales(uint8_t* messages, int64_t rank) const {
    return reinterpret_cast<float*>(messages + rank * bytes + blocks * 128);
  }
};

// Half a warp for each block.
__global__ void quantise(const int4* grad, uint8_t* messages, Slice slice, int64_t blocks) {
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x, block = thread / kQuads, quad = thread % kQuads;
  const int4 bits = block < blocks ? __ldg(grad + thread) : int4{};
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
  float2 v[4];
  float most = 0;
  for (int k = 0; k < 4; ++k) {
    v[k] = __bfloat1622float2(pairs[k]);
    most = fmaxf(most, fmaxf(fabsf(v[k].x), fabsf(v[k].y)));
  }
  for (int step = kQuads / 2; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  if (block >= blocks) return;
  const float scale = most / 127.0F, divisor = scale > 0 ? scale : 1;
  char4 codes[2];
  for (int k = 0; k < 2; ++k) {
    codes[k].x = static_cast<signed char>(__float2int_rn(v[2 * k].x / divisor));
    codes[k].y = static_cast<signed char>(__float2int_rn(v[2 * k].y / divisor));
    codes[k].z = static_cast<signed char>(__float2int_rn(v[2 * k + 1].x / divisor));
    codes[k].w = static_cast<signed char>(__float2int_rn(v[2 * k + 1].y / divisor));
  }
  const int64_t rank = block / slice.blocks, place = block % slice.blocks;
  reinterpret_cast<uint2*>(slice.codes(messages, rank))[place * kQuads + quad] = *reinterpret_cast<uint2*>(codes);
  if (quad == 0) slice.scales(messages, rank)[place] = scale;
}

// Four numbers for each thread.
__global__ void average(uint8_t* messages, uint2* mean, Slice slice, int64_t count, int world) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count * 32) return;
  float sum[4] = {};
#pragma unroll 8
  for (int r = 0; r < world; ++r) {
    const char4 codes = reinterpret_cast<const char4*>(slice.codes(messages, r))[i];
    const float scale = slice.scales(messages, r)[i / 32];
    sum[0] += static_cast<float>(codes.x) * scale;
    sum[1] += static_cast<float>(codes.y) * scale;
    sum[2] += static_cast<float>(codes.z) * scale;
    sum[3] += static_cast<float>(codes.w) * scale;
  }
  const float factor = 1.0F / static_cast<float>(world);
  const __nv_bfloat162 pairs[2] = {__floats2bfloat162_rn(sum[0] * factor, sum[1] * factor),
                                   __floats2bfloat162_rn(sum[2] * factor, sum[3] * factor)};
  mean[i] = *reinterpret_cast<const uint2*>(pairs);
}

// Each rank adds up a slice. NCCL's slices are all of one length: the last ones may be empty.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    blocks_ = args.n / 128;
    slice_.blocks = (blocks_ + world_ - 1) / world_;
    slice_.bytes = (slice_.blocks * 132 + 15) / 16 * 16;
    const auto bytes = static_cast<size_t>(world_ * slice_.bytes);
    fabricbench::check_cuda(cudaMalloc(&sent_, bytes));
    fabricbench::check_cuda(cudaMalloc(&received_, bytes));
    fabricbench::check_cuda(cudaMemset(sent_, 0, bytes));
    if (slice_.blocks * world_ != blocks_)
      fabricbench::check_cuda(cudaMalloc(&padded_, static_cast<size_t>(slice_.blocks * world_) * 256));
    fabricbench::check_cuda(cudaDeviceSynchronize());
    // Ranks without a slice do not launch it before the timed calls.
    cudaFuncAttributes attributes;
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, average));
  }
  ~Solution() {
    cudaFree(sent_);
    cudaFree(received_);
    cudaFree(padded_);
  }

  void run(const Args& args, cudaStream_t stream) {
    quantise<<<grid(blocks_ * kQuads), kThreads, 0, stream>>>(reinterpret_cast<const int4*>(args.grad), sent_, slice_,
                                                              blocks_);
    fabricbench::check_nccl(
        ncclAlltoAll(sent_, received_, static_cast<size_t>(slice_.bytes), ncclUint8, comm_, stream));
    __nv_bfloat16* all = padded_ != nullptr ? padded_ : args.mean;
    __nv_bfloat16* own = all + rank_ * slice_.blocks * 128;
    average<<<grid(slice_.blocks * 32), kThreads, 0, stream>>>(received_, reinterpret_cast<uint2*>(own), slice_,
                                                               slice_.blocks, world_);
    fabricbench::check_nccl(
        ncclAllGather(own, all, static_cast<size_t>(slice_.blocks * 128), ncclBfloat16, comm_, stream));
    if (padded_ != nullptr)
      fabricbench::check_cuda(
          cudaMemcpyAsync(args.mean, padded_, static_cast<size_t>(args.n) * 2, cudaMemcpyDeviceToDevice, stream));
  }

 private:
  static unsigned grid(int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

  int rank_, world_;
  int64_t blocks_;
  Slice slice_;
  fabricbench::NcclCommunicator comm_;
  uint8_t *sent_ = nullptr, *received_ = nullptr;
  __nv_bfloat16* padded_ = nullptr;
};
// [/solution]
