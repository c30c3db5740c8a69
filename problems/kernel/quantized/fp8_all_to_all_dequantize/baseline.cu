// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;

// Eight numbers for each thread.
__global__ void dequantise(const uint2* codes, const float* scales, uint4* out, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const uint2 bytes = __ldg(codes + i);
  const float scale = __ldg(scales + i / 16);
  const auto* two = reinterpret_cast<const __nv_fp8x2_storage_t*>(&bytes);
  uint4 result;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&result);
  for (int k = 0; k < 4; ++k) {
    const float2 v = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(two[k], __NV_E4M3)));
    pairs[k] = __floats2bfloat162_rn(v.x * scale, v.y * scale);
  }
  out[i] = result;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : blocks_(args.rows * args.hidden / 128), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&codes_, static_cast<size_t>(world_ * blocks_) * 128));
    fabricbench::check_cuda(cudaMalloc(&scales_, static_cast<size_t>(world_ * blocks_) * sizeof(float)));
  }
  ~Solution() {
    cudaFree(codes_);
    cudaFree(scales_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<size_t>(blocks_);
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclAlltoAll(args.codes, codes_, blocks * 128, ncclUint8, comm_, stream));
    fabricbench::check_nccl(ncclAlltoAll(args.scales, scales_, blocks, ncclFloat, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
    const int64_t threads = world_ * blocks_ * 16;
    dequantise<<<static_cast<unsigned>((threads + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        reinterpret_cast<const uint2*>(codes_), scales_, reinterpret_cast<uint4*>(args.out), threads);
  }

 private:
  int64_t blocks_;
  int world_;
  fabricbench::NcclCommunicator comm_;
  uint8_t* codes_ = nullptr;
  float* scales_ = nullptr;
};
// [/solution]
