#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
constexpr int kThreads = 256;
constexpr int64_t kWide = 4;  // floats in 16 bytes

// Row r of `padded` is share r of `in` as floats. A share keeps its distance from the last multiple of 4 elements
// before it: its first element is at first(r) % kWide of the row, so that what is aligned in `in` is aligned in the
// row, and 4 elements are one load of 8 bytes and one store of 16. What lies around a share in its row is not touched:
// it is zero since the constructor. Grid: (blocks, world).
__global__ void widen(const __nv_bfloat16* in, float* padded, int64_t n, int64_t row) {
  const int64_t r = blockIdx.y, world = gridDim.y;
  const int64_t first = r * n / world, end = (r + 1) * n / world;
  const int64_t before = first / kWide * kWide;  // the row begins with this element's place
  for (int64_t i = before + (int64_t{blockIdx.x} * kThreads + threadIdx.x) * kWide; i < end;
       i += int64_t{gridDim.x} * kThreads * kWide) {
    float* to = padded + r * row + (i - before);
    if (i >= first && i + kWide <= end) {
      const int2 bits = *reinterpret_cast<const int2*>(in + i);
      const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
      const float2 a = __bfloat1622float2(pairs[0]), b = __bfloat1622float2(pairs[1]);
      *reinterpret_cast<float4*>(to) = make_float4(a.x, a.y, b.x, b.y);
    } else {  // the ends of the share
      for (int64_t k = max(i, first); k < min(i + kWide, end); ++k) to[k - i] = __bfloat162float(in[k]);
    }
  }
}

// Two at a time: `out` is aligned, `sums` may begin anywhere.
__global__ void narrow(const float* sums, __nv_bfloat16* out, int64_t count) {
  for (int64_t i = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * 2; i < count;
       i += int64_t{gridDim.x} * kThreads * 2) {
    if (i + 1 < count) {
      *reinterpret_cast<__nv_bfloat162*>(out + i) = __floats2bfloat162_rn(sums[i], sums[i + 1]);
    } else {
      out[i] = __float2bfloat16(sums[i]);
    }
  }
}

// Shares in rows of equal length, so that ncclReduceScatter can give each rank its row, and in float, so that the ring
// adds up floats. The padding travels, too: some elements of each row.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        row_((args.n / world_ + 1 + 2 * kWide - 2) / kWide * kWide),
        comm_(rank) {
    const size_t bytes = static_cast<size_t>(world_ * row_) * sizeof(float);
    fabricbench::check_cuda(cudaMalloc(&padded_, bytes));
    fabricbench::check_cuda(cudaMemset(padded_, 0, bytes));  // the padding, for all calls: its sum is zero as well
  }
  ~Solution() { cudaFree(padded_); }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t first = rank_ * args.n / world_, count = (rank_ + 1) * args.n / world_ - first;
    widen<<<dim3(blocks(row_ / kWide), static_cast<unsigned>(world_)), kThreads, 0, stream>>>(args.in, padded_, args.n,
                                                                                              row_);
    // In place: the sum of row `rank_` replaces it. NCCL knows this by the pointers alone.
    float* const mine = padded_ + rank_ * row_;
    fabricbench::check_nccl(
        ncclReduceScatter(padded_, mine, static_cast<size_t>(row_), ncclFloat, ncclSum, comm_, stream));
    narrow<<<blocks((count + 1) / 2), kThreads, 0, stream>>>(mine + first % kWide, args.out, count);
  }

 private:
  // Enough to fill the device at the most; each thread then goes on with the next piece.
  static unsigned blocks(int64_t pieces) {
    const int64_t needed = (pieces + kThreads - 1) / kThreads;
    return static_cast<unsigned>(needed < 128 ? needed : 128);
  }

  int64_t rank_, world_, row_;
  fabricbench::NcclCommunicator comm_;
  float* padded_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: a communicator, buffers
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: kernels and NCCL's operations on the stream
//|   }
//| };
// [/solution]
