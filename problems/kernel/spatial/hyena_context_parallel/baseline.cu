#include <cuda_bf16.h>
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

constexpr int kOctet = 8;  // channels of a block, of a load and of a store
// A block of `convolve` has kTile tokens of an octet. It takes the tokens before them in spans, each group of its
// threads a kTile of the span. A thread adds up kOutputs tokens of one channel.
constexpr int kTile = 64, kGroups = 4, kSpan = kGroups * kTile, kOutputs = 8;
constexpr int kThreadsOfGroup = kOctet * kTile / kOutputs, kThreads = kGroups * kThreadsOfGroup;
static_assert(kThreads == kSpan);  // each loads a token of the span

struct Sizes {
  int chunk, octets, taps, world;  // octets: of the channels whose filters a rank has
};

__device__ void unpack(int4 bits, float (&values)[kOctet]) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 v = __bfloat1622float2(pairs[i]);
    values[2 * i] = v.x;
    values[2 * i + 1] = v.y;
  }
}

__device__ int4 pack(const float (&values)[kOctet]) {
  int4 bits;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&bits);
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
  return bits;
}

__device__ int4 product(int4 a, int4 b) {
  float left[kOctet], right[kOctet];
  unpack(a, left);
  unpack(b, right);
#pragma unroll
  for (int i = 0; i < kOctet; ++i) left[i] *= right[i];
  return pack(left);
}

// Messages: [rank][token of a rank][octet]. A thread has an octet of a token, which goes to the rank of its channels.
__global__ void gate_and_pack(const int4* x2, const int4* v, int4* messages, Sizes n) {
  const auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), row = n.world * n.octets;
  if (i >= 2 * n.chunk * row) return;
  const int token = i / row, to = i % row / n.octets, octet = i % n.octets;
  messages[(to * 2 * n.chunk + token) * n.octets + octet] = product(x2[i], v[i]);
}

__global__ void unpack_and_gate(const int4* x1, const int4* messages, int4* y, Sizes n) {
  const auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), row = n.world * n.octets;
  if (i >= 2 * n.chunk * row) return;
  const int token = i / row, from = i % row / n.octets, octet = i % n.octets;
  y[i] = product(x1[i], messages[(from * 2 * n.chunk + token) * n.octets + octet]);
}

// Where token t of the sequence is in messages.
__device__ int64_t place_of(int t, Sizes n) {
  const int number = t / n.chunk, side = number < n.world ? 0 : 1;
  const int rank = side == 0 ? number : 2 * n.world - 1 - number;
  return (int64_t{2 * rank + side} * n.chunk + t % n.chunk) * n.octets;
}

// Grid: (tiles of the sequence, octets).
__global__ void __launch_bounds__(kThreads)
    convolve(const int4* gated, const float* h, const float* bias, int4* sums, Sizes n) {
  // Rows are padded so that channels of a warp are in different banks.
  __shared__ __align__(16) float z[kOctet][kSpan + 4];
  __shared__ float taps[kOctet][kSpan + kTile + 2];
  __shared__ float parts[kGroups][kOctet][kTile + 1];
  const int tokens = 2 * n.world * n.chunk, first = static_cast<int>(blockIdx.x) * kTile;
  const auto octet = blockIdx.y;
  const auto thread = static_cast<int>(threadIdx.x);
  const int group = thread / kThreadsOfGroup, channel = thread % kThreadsOfGroup / (kTile / kOutputs);
  const int own =
      thread % (kTile / kOutputs) * kOutputs;  // the first of this thread's tokens, from the tile's begin on

  float out[kOutputs] = {};
  for (int from = max(0, first - n.taps + 1) / kSpan * kSpan; from < first + kTile; from += kSpan) {
    __syncthreads();  // the span before has been read
    float values[kOctet];
    unpack(from + thread < tokens ? gated[place_of(from + thread, n) + octet] : int4{}, values);
#pragma unroll
    for (int c = 0; c < kOctet; ++c) z[c][thread] = values[c];
    // taps[.][m] belongs to tokens whose places in tile and span are m - (kSpan - 1) apart. Those of the future and
    // those that are too old are zero.
    for (int m = thread; m < kSpan + kTile - 1; m += kThreads) {
      const int k = first - from + m - (kSpan - 1);
#pragma unroll
      for (int c = 0; c < kOctet; ++c) {
        const int64_t d = octet * kOctet + c;
        taps[c][m] = k >= 0 && k < n.taps ? h[d * n.taps + k] + (k == 0 ? bias[d] : 0) : 0;
      }
    }
    __syncthreads();
    const int begin = group * kTile;
    if (from + begin > first || first - (from + begin + kTile - 1) >= n.taps) continue;  // the future, or too old
    // The taps of this thread's tokens move by one with each token of the span: one is new.
    float window[kOutputs];
    const float* lags = taps[channel] + own + kSpan - 1 - begin;
#pragma unroll
    for (int q = 0; q + 1 < kOutputs; ++q) window[q] = lags[q + 1];
#pragma unroll 2
    for (int s = 0; s < kTile; s += 4) {
      const float4 values = *reinterpret_cast<const float4*>(&z[channel][begin + s]);
      const float of[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int q = kOutputs - 1; q > 0; --q) window[q] = window[q - 1];
        window[0] = lags[-(s + i)];
#pragma unroll
        for (int q = 0; q < kOutputs; ++q) out[q] += window[q] * of[i];
      }
    }
  }

#pragma unroll
  for (int q = 0; q < kOutputs; ++q) parts[group][channel][own + q] = out[q];
  __syncthreads();
  if (thread >= kTile || first + thread >= tokens) return;
  float values[kOctet] = {};
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
#pragma unroll
    for (int c = 0; c < kOctet; ++c) values[c] += parts[g][c][thread];
  }
  sums[place_of(first + thread, n) + octet] = pack(values);
}

// Gate, exchange, convolve, exchange, gate.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        message_(2 * args.chunk * args.channels),
        sizes_{static_cast<int>(args.chunk), static_cast<int>(args.channels / kOctet), static_cast<int>(args.taps),
               rank.world()},
        comm_(rank) {
    const auto bytes = static_cast<size_t>(rank.world() * message_) * sizeof(__nv_bfloat16);
    fabricbench::check_cuda(cudaMalloc(&sent_, bytes));
    fabricbench::check_cuda(cudaMalloc(&received_, bytes));
  }
  ~Solution() {
    cudaFree(sent_);
    cudaFree(received_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto cast = [](const __nv_bfloat16* p) { return reinterpret_cast<const int4*>(p); };
    auto *sent = reinterpret_cast<int4*>(sent_), *received = reinterpret_cast<int4*>(received_);
    const auto items = static_cast<unsigned>(sizes_.world * message_ / kOctet);
    gate_and_pack<<<(items + 127) / 128, 128, 0, stream>>>(cast(args.x2), cast(args.v), sent, sizes_);
    exchange(stream);
    const dim3 grid(static_cast<unsigned>((2 * sizes_.world * sizes_.chunk + kTile - 1) / kTile),
                    static_cast<unsigned>(sizes_.octets));
    convolve<<<grid, kThreads, 0, stream>>>(received, args.h, args.bias, sent, sizes_);
    exchange(stream);
    unpack_and_gate<<<(items + 127) / 128, 128, 0, stream>>>(cast(args.x1), received, reinterpret_cast<int4*>(args.y),
                                                             sizes_);
  }

 private:
  // Message i of what is sent goes to rank i.
  void exchange(cudaStream_t stream) {
    const auto count = static_cast<size_t>(message_);
    fabricbench::check_nccl(ncclGroupStart());
    for (int k = 0; k < sizes_.world; ++k) {
      const int to = (rank_ + k) % sizes_.world, from = (rank_ - k + sizes_.world) % sizes_.world;
      fabricbench::check_nccl(ncclSend(sent_ + to * message_, count, ncclBfloat16, to, comm_, stream));
      fabricbench::check_nccl(ncclRecv(received_ + from * message_, count, ncclBfloat16, from, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

  int rank_;
  int64_t message_;  // elements from one rank to another
  Sizes sizes_;
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16 *sent_ = nullptr, *received_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the operator
//|   }
//| };
// [/solution]
