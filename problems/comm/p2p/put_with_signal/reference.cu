#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

// A warp is enough for a chunk, and has cheaper barriers than a block. Half of the blocks send, the others receive: no
// rank waits with sending for what it receives. All are resident at once, because they wait for each other.
constexpr int kBlocks = 64;  // that send, and as many that receive
constexpr int kWarps = 4;    // of a block
constexpr int kBatch = 8;    // 16-byte loads that a thread has under way

using Signal = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;
using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Every rank has two slots, used in turn, so that a sender hardly ever waits: the slot of this call was last filled two
// calls ago. Signals are doubled too. With one set for both slots, a fast rank's signal of the next call could hide
// that this call's chunk, from a slower rank, is not there yet.
struct Mail {
  Peers<uint32_t> slots;    // 2 × pitch words
  Peers<uint64_t> signals;  // 2 × chunks: the number of the call above the tag
  Peers<uint32_t> begun;    // for each rank the call that it has come to
  int64_t chunks, pitch;
  int rank, world;
};

// 16 bytes in one access. Written as PTX, because a compiler may split the copy of a struct.
__device__ uint4 load_vector(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}
__device__ void store_vector(uint4* to, uint4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

// All lanes of a warp. `from` and `to` are at multiples of 16 bytes.
__device__ void copy_by_warp(uint32_t* to, const uint32_t* from, int64_t n, int lane) {
  const int64_t vectors = n / 4;
  const auto* wide_from = reinterpret_cast<const uint4*>(from);
  auto* wide_to = reinterpret_cast<uint4*>(to);
  for (int64_t first = lane; first < vectors; first += kBatch * warpSize) {
    uint4 batch[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * warpSize < vectors) batch[k] = load_vector(wide_from + first + k * warpSize);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k * warpSize < vectors) store_vector(wide_to + first + k * warpSize, batch[k]);
    }
  }
  if (const int64_t last = 4 * vectors + lane; last < n) to[last] = from[last];
}

__device__ void send(const Mail& mail, const Args& args, int warp, int warps, int lane, uint32_t call) {
  const int receiver = *args.to;
  const int64_t half = call % 2;
  uint32_t* slot = mail.slots.of[receiver] + half * mail.pitch;
  uint64_t* signals = mail.signals.of[receiver] + half * mail.chunks;

  // A rank that has begun the last call is done with the one before it, and with its slot.
  if (lane == 0) {
    while (Flag(mail.begun.of[mail.rank][receiver]).load(cuda::memory_order_acquire) + 1 < call) {
    }
  }
  __syncwarp();
  for (int64_t c = warp; c < mail.chunks; c += warps) {
    const int64_t begin = c * args.chunk;
    const uint32_t tag = args.tags[c];
    copy_by_warp(slot + begin, args.in + begin, min(args.chunk, args.n - begin), lane);
    __syncwarp();  // puts the stores of all lanes before the release of one
    if (lane == 0) Signal(signals[c]).store(uint64_t{call} << 32 | tag, cuda::memory_order_release);
  }
}

__device__ void receive(const Mail& mail, const Args& args, int warp, int warps, int lane, uint32_t call) {
  const int64_t half = call % 2;
  const uint32_t* slot = mail.slots.of[mail.rank] + half * mail.pitch;
  uint64_t* signals = mail.signals.of[mail.rank] + half * mail.chunks;

  // Release: all loads from slots by kernels before this one are over. No rank knows which one sends next, so all of
  // them are told; and now, when a receiver has nothing to do yet, rather than at the end of the call before.
  if (warp == 0 && lane < mail.world) {
    Flag(mail.begun.of[lane][mail.rank]).store(call, cuda::memory_order_release);
  }
  for (int64_t c = warp; c < mail.chunks; c += warps) {
    if (lane == 0) {
      uint64_t word;
      do {
        word = Signal(signals[c]).load(cuda::memory_order_acquire);
      } while (word >> 32 != call);
      args.seen[c] = static_cast<uint32_t>(word);
    }
    __syncwarp();
    const int64_t begin = c * args.chunk;
    copy_by_warp(args.out + begin, slot + begin, min(args.chunk, args.n - begin), lane);
  }
}

__global__ void __launch_bounds__(kWarps * 32) deliver(Mail mail, Args args, uint32_t call) {
  const int blocks = gridDim.x / 2, block = blockIdx.x % blocks, lane = threadIdx.x % warpSize;
  // Neighbouring chunks go to different blocks, so that few chunks use many multiprocessors.
  const int warp = threadIdx.x / warpSize * blocks + block, warps = kWarps * blocks;
  if (blockIdx.x < blocks) {
    send(mail, args, warp, warps, lane, call);
  } else {
    receive(mail, args, warp, warps, lane, call);
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : chunks_((args.n + args.chunk - 1) / args.chunk),
        pitch_((args.n + 3) / 4 * 4),
        slots_(rank, 2 * static_cast<size_t>(pitch_) * sizeof(uint32_t)),
        signals_(rank, 2 * static_cast<size_t>(chunks_) * sizeof(uint64_t)),
        begun_(rank, static_cast<size_t>(rank.world()) * sizeof(uint32_t)),
        mail_{.slots = slots_.peers<uint32_t>(),
              .signals = signals_.peers<uint64_t>(),
              .begun = begun_.peers<uint32_t>(),
              .chunks = chunks_,
              .pitch = pitch_,
              .rank = rank.rank(),
              .world = rank.world()} {}

  void run(const Args& args, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(kBlocks, chunks_));
    deliver<<<2 * blocks, kWarps * 32, 0, stream>>>(mail_, args, ++call_);
  }

 private:
  int64_t chunks_, pitch_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory slots_, signals_, begun_;
  Mail mail_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: put the message, wait for the signals, deliver what came
//|   }
//| };
// [/solution]
