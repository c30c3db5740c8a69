#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kTaps = 7, kHalo = kTaps - 1;
constexpr int kWarp = 32;
constexpr int kThreads = kHalo * kWarp;  // a warp for each token of a halo
constexpr int kBlocks = 128;             // all resident at once: some of them wait for their peers
constexpr int kStrip = 4;                // tokens that a thread computes at once
constexpr int kTile = kHalo * kStrip;    // tokens that a block computes at once

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// 8 channels of a token: an octet.
struct Octet {
  float at[8];
};

__device__ Octet unpack(int4 bits) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
  Octet values;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 v = __bfloat1622float2(pairs[i]);
    values.at[2 * i] = v.x;
    values.at[2 * i + 1] = v.y;
  }
  return values;
}

__device__ int4 pack(const Octet& values) {
  int4 bits;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&bits);
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(values.at[2 * i], values.at[2 * i + 1]);
  return bits;
}

__device__ void add_product(Octet& sums, const Octet& x, const Octet& w) {
#pragma unroll
  for (int i = 0; i < 8; ++i) sums.at[i] += x.at[i] * w.at[i];
}

struct Sizes {
  int chunk, octets;  // tokens of a chunk, octets of a token
  int slices;         // of a halo: groups of kWarp octets
};

// Where the ends of this rank's chunks go, and where its halos come from: 0 is the first chunk, 1 the second. The
// chain of first chunks runs towards higher ranks, that of second chunks back.
struct Place {
  int rank, world;
  __device__ int target(int side) const { return side == 0 ? rank + 1 : rank - 1; }
  __device__ int source(int side) const { return side == 0 ? rank - 1 : rank + 1; }
  __device__ bool exists(int r) const { return r >= 0 && r < world; }
};

// Stores a slice of the end of a chunk in the inbox of the rank that needs it. A thread has an octet of a token.
__device__ void push(const Peers<int4>& inbox, const Peers<uint32_t>& arrived, const int4* x, int slice, Sizes n,
                     Place place, uint32_t call) {
  const int side = slice / n.slices, target = place.target(side);
  if (!place.exists(target)) return;
  const int token = static_cast<int>(threadIdx.x) / kWarp;
  const int octet = slice % n.slices * kWarp + static_cast<int>(threadIdx.x) % kWarp;
  if (octet < n.octets) {
    const int64_t row = int64_t{side} * n.chunk + n.chunk - kHalo + token;
    inbox.of[target][(side * kHalo + token) * n.octets + octet] = __ldg(x + row * n.octets + octet);
  }
  __syncthreads();  // orders the stores of all threads before the release of one
  if (threadIdx.x == 0) Flag(arrived.of[target][slice]).store(call, cuda::memory_order_release);
}

// The first tokens of a chunk, a slice of them: a thread has an octet of one.
__device__ void compute_edge(const int4* inbox, uint32_t* arrived, const int4* x, const int4* w, int4* y, int slice,
                             Sizes n, Place place, uint32_t call) {
  const int side = slice / n.slices, source = place.source(side);
  const int4* halo = nullptr;
  if (place.exists(source)) {
    if (threadIdx.x == 0) {
      while (Flag(arrived[slice]).load(cuda::memory_order_acquire) < call) {
      }
    }
    __syncthreads();  // what one thread has acquired is there for all
    halo = inbox + side * kHalo * n.octets;
  } else if (side == 1) {
    halo = x + int64_t{n.chunk - kHalo} * n.octets;  // the last rank's second chunk follows its first one
  }
  const int token = static_cast<int>(threadIdx.x) / kWarp;
  const int octet = slice % n.slices * kWarp + static_cast<int>(threadIdx.x) % kWarp;
  if (octet >= n.octets) return;
  const int4* own = x + int64_t{side} * n.chunk * n.octets;
  Octet sums = {};
#pragma unroll
  for (int k = 0; k < kTaps; ++k) {
    const int row = token + k;  // counted from the begin of the halo
    int4 value = {};
    if (row >= kHalo) {
      value = __ldg(own + (row - kHalo) * n.octets + octet);
    } else if (halo != nullptr) {
      value = halo[row * n.octets + octet];
    }
    add_product(sums, unpack(value), unpack(__ldg(w + k * n.octets + octet)));
  }
  y[(int64_t{side} * n.chunk + token) * n.octets + octet] = pack(sums);
}

// All tokens that need no halo, in tiles of kWarp octets and kTile tokens. A thread has an octet of kStrip tokens in a
// row: it loads each of the tokens they see, and adds its products to all sums that it belongs to. Warps of a block are
// next to each other in time, so that what two of them see is in L1.
__device__ void compute_interior(const int4* x, const int4* w, int4* y, Sizes n) {
  const int tiles = (n.chunk - kHalo + kTile - 1) / kTile;  // of a slice of a chunk
  for (int tile = static_cast<int>(blockIdx.x); tile < 2 * n.slices * tiles; tile += static_cast<int>(gridDim.x)) {
    const int slice = tile / tiles, side = slice / n.slices;
    const int octet = slice % n.slices * kWarp + static_cast<int>(threadIdx.x) % kWarp;
    // The first token that is seen.
    const int first = tile % tiles * kTile + static_cast<int>(threadIdx.x) / kWarp * kStrip;
    if (octet >= n.octets) continue;
    const int64_t at = (int64_t{side} * n.chunk + first) * n.octets + octet;
    int4 seen[kHalo + kStrip] = {};
#pragma unroll
    for (int r = 0; r < kHalo + kStrip; ++r) {
      if (first + r < n.chunk) seen[r] = __ldg(x + at + r * n.octets);
    }
    Octet taps[kTaps], sums[kStrip] = {};
#pragma unroll
    for (int k = 0; k < kTaps; ++k) taps[k] = unpack(__ldg(w + k * n.octets + octet));
#pragma unroll
    for (int r = 0; r < kHalo + kStrip; ++r) {
      const Octet value = unpack(seen[r]);
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
        if (r - k >= 0 && r - k < kStrip) add_product(sums[r - k], value, taps[k]);
      }
    }
#pragma unroll
    for (int j = 0; j < kStrip; ++j) {
      if (first + kHalo + j < n.chunk) y[at + (kHalo + j) * n.octets] = pack(sums[j]);
    }
  }
}

// Sends first, computes what needs nothing from others while the halos are on their way, then the edges.
//
// There are two inboxes, used in turn, and no rank asks for permission to write. What a rank overwrites in call e was
// read in call e - 2: neighbours exchange halos in both directions, so in call e - 1 the writer has waited for the
// reader's halos, which the reader sent in a kernel behind that of its call e - 2.
__global__ void __launch_bounds__(kThreads) convolve(Peers<int4> inbox, Peers<uint32_t> arrived, const int4* x,
                                                     const int4* w, int4* y, Sizes n, Place place, uint32_t call) {
  // Slices are given out from the last block on: the first ones have a tile more than others.
  const int slices = 2 * n.slices, blocks = static_cast<int>(gridDim.x),
            own = blocks - 1 - static_cast<int>(blockIdx.x);
  for (int slice = own; slice < slices; slice += blocks) push(inbox, arrived, x, slice, n, place, call);
  compute_interior(x, w, y, n);
  for (int slice = own; slice < slices; slice += blocks)
    compute_edge(inbox.of[place.rank], arrived.of[place.rank], x, w, y, slice, n, place, call);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : place_{rank.rank(), rank.world()},
        sizes_{static_cast<int>(args.chunk), static_cast<int>(args.channels / 8),
               static_cast<int>((args.channels / 8 + kWarp - 1) / kWarp)},
        inboxes_(rank, 2 * inbox_bytes(args)),
        arrived_(rank, static_cast<size_t>(2 * sizes_.slices) * sizeof(uint32_t)) {}

  void run(const Args& args, cudaStream_t stream) {
    const int tiles = 2 * sizes_.slices * ((sizes_.chunk - kHalo + kTile - 1) / kTile);
    const int blocks = std::clamp(tiles, 1, kBlocks);
    ++call_;
    convolve<<<blocks, kThreads, 0, stream>>>(inboxes_.peers<int4>(call_ % 2 * inbox_bytes(args)),
                                              arrived_.peers<uint32_t>(), reinterpret_cast<const int4*>(args.x),
                                              reinterpret_cast<const int4*>(args.w), reinterpret_cast<int4*>(args.y),
                                              sizes_, place_, call_);
  }

 private:
  static size_t inbox_bytes(const Args& args) {
    return static_cast<size_t>(2 * kHalo * args.channels) * sizeof(__nv_bfloat16);
  }

  Place place_;
  Sizes sizes_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory inboxes_, arrived_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the convolution
//|   }
//| };
// [/solution]
