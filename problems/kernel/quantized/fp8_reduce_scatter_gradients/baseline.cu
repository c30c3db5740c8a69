#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

#include "../scales_of_history.h"

// Eight numbers for each thread; blockIdx.y is the rank that they are for, blockIdx.z the weight. Codes are
// [rank][weight], as NCCL sends them.
__global__ void quantise(const int4* grad, const float* scales, uint2* codes, int* most, int64_t octets) {
  const int64_t w = blockIdx.z, rank = blockIdx.y, world = gridDim.y, tensors = gridDim.z;
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int4 bits = i < octets ? __ldg(grad + (w * world + rank) * octets + i) : int4{};
  const float scale = scales[w];
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
  uint32_t word[2] = {};
  float own = 0;
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]), q = make_float2(v.x / scale, v.y / scale);
    own = fmaxf(own, fmaxf(fabsf(v.x), fabsf(v.y)));
    word[k / 2] |= uint32_t{__nv_cvt_float2_to_fp8x2(q, __NV_SATFINITE, __NV_E4M3)} << (k % 2 * 16);
  }
  if (i < octets) codes[(rank * tensors + w) * octets + i] = make_uint2(word[0], word[1]);
  own = largest(own);
  // The order of floats that are not negative is that of their bits.
  if (threadIdx.x == 0) atomicMax(most + w, __float_as_int(own));
}

// Four numbers for each thread; blockIdx.y is the weight.
__global__ void finish(const uint32_t* codes, const float* scales, const float* most, float4* mean, float* new_history,
                       int64_t quads, int64_t steps, int world) {
  const int64_t w = blockIdx.y, tensors = gridDim.y, i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < quads) {
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8
    for (int r = 0; r < world; ++r) {
      const uint32_t four = __ldg(codes + (r * tensors + w) * quads + i);
      const auto* two = reinterpret_cast<const __nv_fp8x2_storage_t*>(&four);
      const float2 low = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(two[0], __NV_E4M3)));
      const float2 high = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(two[1], __NV_E4M3)));
      sum = make_float4(sum.x + low.x, sum.y + low.y, sum.z + high.x, sum.w + high.y);
    }
    const float factor = scales[w] / static_cast<float>(world);
    mean[w * quads + i] = make_float4(sum.x * factor, sum.y * factor, sum.z * factor, sum.w * factor);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) new_history[(w + 1) * steps - 1] = most[w];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    const auto bytes = static_cast<size_t>(args.tensors * world_ * args.count);
    fabricbench::check_cuda(cudaMalloc(&sent_, bytes));
    fabricbench::check_cuda(cudaMalloc(&received_, bytes));
    fabricbench::check_cuda(cudaMalloc(&scales_, static_cast<size_t>(args.tensors) * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&most_, static_cast<size_t>(args.tensors) * sizeof(float)));
  }
  ~Solution() {
    cudaFree(sent_);
    cudaFree(received_);
    cudaFree(scales_);
    cudaFree(most_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto tensors = static_cast<unsigned>(args.tensors);
    const auto blocks = [&](int64_t numbers) {
      return static_cast<unsigned>((args.count / numbers + kThreads - 1) / kThreads);
    };
    begin<<<tensors, kThreads, 0, stream>>>(args.history, scales_, most_, args.new_history, args.steps);
    quantise<<<dim3(blocks(8), static_cast<unsigned>(world_), tensors), kThreads, 0, stream>>>(
        reinterpret_cast<const int4*>(args.grad), scales_, reinterpret_cast<uint2*>(sent_),
        reinterpret_cast<int*>(most_), args.count / 8);
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(
        ncclAlltoAll(sent_, received_, static_cast<size_t>(args.tensors * args.count), ncclUint8, comm_, stream));
    fabricbench::check_nccl(ncclAllReduce(most_, most_, tensors, ncclFloat, ncclMax, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    finish<<<dim3(blocks(4), tensors), kThreads, 0, stream>>>(reinterpret_cast<const uint32_t*>(received_), scales_,
                                                              most_, reinterpret_cast<float4*>(args.mean),
                                                              args.new_history, args.count / 4, args.steps, world_);
  }

 private:
  int world_;
  fabricbench::NcclCommunicator comm_;
  uint8_t *sent_ = nullptr, *received_ = nullptr;
  float *scales_ = nullptr, *most_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the reduce-scatter
//|   }
//| };
// [/solution]
