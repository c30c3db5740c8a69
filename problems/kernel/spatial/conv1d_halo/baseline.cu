// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kTaps = 7, kHalo = kTaps - 1;
constexpr int kThreads = 128, kStrip = 8;

__device__ void unpack(int4 bits, float (&values)[8]) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 v = __bfloat1622float2(pairs[i]);
    values[2 * i] = v.x;
    values[2 * i + 1] = v.y;
  }
}

// A thread has 8 channels (an octet) of kStrip tokens in a row. Grid: (octets * strips / kThreads, 2 chunks).
__global__ void __launch_bounds__(kThreads)
    convolve(const int4* x, const int4* halo_0, const int4* halo_1, const int4* w, int4* y, int chunk, int octets) {
  const auto item = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  const int octet = item % octets, first = item / octets * kStrip;
  if (first >= chunk) return;
  const int4* halo = (blockIdx.y == 0 ? halo_0 : halo_1) + octet;
  const int64_t offset = int64_t{blockIdx.y} * chunk * octets + octet;
  float taps[kTaps][8], sums[kStrip][8] = {};
#pragma unroll
  for (int k = 0; k < kTaps; ++k) unpack(w[k * octets + octet], taps[k]);
#pragma unroll
  for (int r = 0; r < kHalo + kStrip; ++r) {
    const int token = first + r - kHalo;
    int4 bits = {};
    if (token < 0) {
      bits = halo[(token + kHalo) * octets];
    } else if (token < chunk) {
      bits = x[offset + int64_t{token} * octets];
    }
    float value[8];
    unpack(bits, value);
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      if (r - k < 0 || r - k >= kStrip) continue;
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[r - k][i] += value[i] * taps[k][i];
    }
  }
#pragma unroll
  for (int j = 0; j < kStrip; ++j) {
    if (first + j >= chunk) return;
    int4 bits;
    auto* pairs = reinterpret_cast<__nv_bfloat162*>(&bits);
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(sums[j][2 * i], sums[j][2 * i + 1]);
    y[offset + int64_t{first + j} * octets] = bits;
  }
}

// Exchanges halos by NCCL, then computes.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), halo_(kHalo * args.channels), comm_(rank) {
    const auto bytes = static_cast<size_t>(2 * halo_) * sizeof(__nv_bfloat16);
    fabricbench::check_cuda(cudaMalloc(&halos_, bytes));
    fabricbench::check_cuda(cudaMemset(halos_, 0, bytes));  // what is before the sequence's begin stays zero
  }
  ~Solution() { cudaFree(halos_); }

  void run(const Args& args, cudaStream_t stream) {
    const __nv_bfloat16* end_0 = args.x + args.chunk * args.channels - halo_;
    const __nv_bfloat16* end_1 = end_0 + args.chunk * args.channels;
    const auto count = static_cast<size_t>(halo_);
    fabricbench::check_nccl(ncclGroupStart());
    if (rank_ + 1 < world_) {
      fabricbench::check_nccl(ncclSend(end_0, count, ncclBfloat16, rank_ + 1, comm_, stream));
      fabricbench::check_nccl(ncclRecv(halos_ + halo_, count, ncclBfloat16, rank_ + 1, comm_, stream));
    }
    if (rank_ > 0) {
      fabricbench::check_nccl(ncclSend(end_1, count, ncclBfloat16, rank_ - 1, comm_, stream));
      fabricbench::check_nccl(ncclRecv(halos_, count, ncclBfloat16, rank_ - 1, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());

    const __nv_bfloat16* halo_1 = rank_ + 1 < world_ ? halos_ + halo_ : end_0;
    const int64_t octets = args.channels / 8, items = (args.chunk + kStrip - 1) / kStrip * octets;
    const dim3 grid(static_cast<unsigned>((items + kThreads - 1) / kThreads), 2);
    convolve<<<grid, kThreads, 0, stream>>>(
        reinterpret_cast<const int4*>(args.x), reinterpret_cast<const int4*>(halos_),
        reinterpret_cast<const int4*>(halo_1), reinterpret_cast<const int4*>(args.w), reinterpret_cast<int4*>(args.y),
        static_cast<int>(args.chunk), static_cast<int>(octets));
  }

 private:
  int rank_, world_;
  int64_t halo_;  // elements of a halo
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16* halos_ = nullptr;  // of the first and of the second chunk
};
// [/solution]
