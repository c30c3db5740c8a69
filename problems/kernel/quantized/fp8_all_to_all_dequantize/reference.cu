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
using fabricbench::Peers;

constexpr int kBlocks = 128;  // all resident at once: they wait for their peers
constexpr int kThreads = 256;
constexpr int64_t kBatch = 4;                  // octets of codes that a thread sends before it waits
constexpr int64_t kPiece = kBatch * kThreads;  // octets that a block of threads takes at once

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// One word for each share and peer, written by that peer only: the last call in which it has sent this share.
struct Flags {
  uint32_t sent[kBlocks][fabricbench::kMostRanks];
};

// Eight numbers. f16 has all numbers of e4m3.
__device__ uint4 dequantise(uint2 codes, float scale) {
  const auto* two = reinterpret_cast<const __nv_fp8x2_storage_t*>(&codes);
  uint4 result;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&result);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 v = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(two[k], __NV_E4M3)));
    pairs[k] = __floats2bfloat162_rn(v.x * scale, v.y * scale);
  }
  return result;
}

// Codes and scales of one call, [sender][octet] and [sender][octet / 16], on each rank.
struct Inbox {
  Peers<uint2> codes;
  Peers<float> scales;
};

// Each block of threads deals with one peer and one share of the rows: it sends the peer's codes into the inbox there,
// tells the block of the peer that deals with this rank and has the same share, and dequantises what that one has sent
// here. So codes cross the link, and ranks wait for each other once. Blocks of all peers alternate, beginning with the
// rank behind this one: every pair of ranks is under way at once.
//
// There are two inboxes, used in turn, and no permission is asked for. In call e a block overwrites what it sent in
// call e - 2. Its partner has read that: it has sent its share of call e - 1, which this block has waited for, in a
// kernel that its stream started when the one of call e - 2 had ended.
__global__ void __launch_bounds__(kThreads)
    exchange(Peers<Flags> flags, const uint2* codes, const float* scales, Inbox inbox, uint4* out, int64_t octets,
             int rank, int world, uint32_t call) {
  const auto block = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const int peer = (rank + 1 + block % world) % world, share = block / world;
  const int shares = static_cast<int>(gridDim.x) / world;

  // Sixteen octets have one scale.
  const uint2* from = codes + peer * octets;
  const float* scale_from = scales + peer * octets / 16;
  uint2* to = inbox.codes.of[peer] + rank * octets;
  float* scale_to = inbox.scales.of[peer] + rank * octets / 16;
  for (int64_t piece = share; piece * kPiece < octets; piece += shares) {
    const int64_t first = piece * kPiece + thread;
    uint2 bytes[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      // Behind the end the last one is loaded again: without branches all loads are under way at once.
      bytes[k] = __ldg(from + min(first + k * kThreads, octets - 1));
    }
    const int64_t scale = piece * kPiece / 16 + thread;
    if (thread < kPiece / 16 && scale < octets / 16) scale_to[scale] = __ldg(scale_from + scale);
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * kThreads < octets) to[first + k * kThreads] = bytes[k];
    }
  }

  // The first barrier orders the stores of all threads before the release of one, the second one its acquire before the
  // loads of all.
  __syncthreads();
  if (thread == 0) {
    Flag(flags.of[peer]->sent[share][rank]).store(call, cuda::memory_order_release);
    while (Flag(flags.of[rank]->sent[share][peer]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();

  const uint2* received = inbox.codes.of[rank] + peer * octets;
  const float* scale_of = inbox.scales.of[rank] + peer * octets / 16;
  for (int64_t piece = share; piece * kPiece < octets; piece += shares) {
    const int64_t first = piece * kPiece + thread;
    uint2 bytes[kBatch];
    float scale[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int64_t octet = min(first + k * kThreads, octets - 1);
      bytes[k] = received[octet];
      scale[k] = scale_of[octet / 16];
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * kThreads < octets) out[peer * octets + first + k * kThreads] = dequantise(bytes[k], scale[k]);
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        octets_(args.rows * args.hidden / 8),
        flags_(rank, sizeof(Flags)),
        codes_(rank, 2 * set_bytes()),
        scales_(rank, 2 * set_bytes() / 32) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t pieces = (octets_ + kPiece - 1) / kPiece;
    // The same on all ranks, and no share without a piece.
    const auto shares = static_cast<int>(std::min<int64_t>(kBlocks / world_, pieces));
    const size_t set = ++call_ % 2 * set_bytes();
    exchange<<<shares * world_, kThreads, 0, stream>>>(
        flags_.peers<Flags>(), reinterpret_cast<const uint2*>(args.codes), args.scales,
        {codes_.peers<uint2>(set), scales_.peers<float>(set / 32)}, reinterpret_cast<uint4*>(args.out), octets_, rank_,
        world_, call_);
  }

 private:
  // Of the codes of one call. Four bytes of scale come to 128.
  size_t set_bytes() const { return static_cast<size_t>(world_ * octets_) * sizeof(uint2); }

  int rank_, world_;
  int64_t octets_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, codes_, scales_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the exchange
//|   }
//| };
// [/solution]
