#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kBlocks = 16;  // channels: block b of a rank talks to block b of its neighbours. All are resident at once
constexpr int kWorkers = 128;              // threads of a block that move data
constexpr int kDepth = 8;                  // float4s of a thread that are under way at once
constexpr int kPiece = kWorkers * kDepth;  // float4s that a block passes on at once
// To signal a piece takes longer than to move it: the signal must wait until all stores have arrived at the neighbour.
// So some warps do nothing but wait and signal. They take turns, and meanwhile the workers go on to the next piece.
constexpr int kClerks = 4;
constexpr int kThreads = kWorkers + 32 * kClerks;

struct Ring {
  // For each piece of each channel, how far it is: numbers of stages since the beginning, through all calls. Each word
  // has one writer and lies in the reader's memory.
  uint32_t *arrived, *right_arrived;  // sent by the left neighbour: it is in the inbox or, complete, in the output
  uint32_t *emptied, *left_emptied;   // taken out of its inbox by the right neighbour
  float4 *inbox, *right_inbox;        // [2][channels][pieces][kPiece]
  float *out, *right_out;
  int rank, world;
};

// The difference is signed, so that numbers may wrap around.
__device__ void await(uint32_t& stage, uint32_t least) {
  const cuda::atomic_ref<uint32_t, cuda::thread_scope_system> flag(stage);
  while (static_cast<int32_t>(flag.load(cuda::memory_order_acquire) - least) < 0) {
  }
}
__device__ void post(uint32_t& stage, uint32_t value) {
  cuda::atomic_ref<uint32_t, cuda::thread_scope_system>(stage).store(value, cuda::memory_order_relaxed);
}

// Barriers of one clerk's warp and all workers: `begin` of a piece, and its `end`, which the workers do not wait for.
__device__ int begin_of(int clerk) { return 1 + 2 * clerk; }
__device__ int end_of(int clerk) { return 2 + 2 * clerk; }
__device__ void arrive_and_wait(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kWorkers + 32) : "memory");
}
__device__ void arrive(int barrier) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kWorkers + 32) : "memory");
}

// The vector as groups of four floats, of which the last one may be incomplete.
__device__ float4 load_quad(const float* from, int64_t quad, int64_t n) {
  const int64_t i = 4 * quad;
  if (i + 4 <= n) return reinterpret_cast<const float4*>(from)[quad];
  return make_float4(from[i], i + 1 < n ? from[i + 1] : 0, i + 2 < n ? from[i + 2] : 0, 0);
}
__device__ void store_quad(float* to, int64_t quad, int64_t n, float4 value) {
  const int64_t i = 4 * quad;
  if (i + 4 <= n) {
    reinterpret_cast<float4*>(to)[quad] = value;
    return;
  }
  to[i] = value.x;
  if (i + 1 < n) to[i + 1] = value.y;
  if (i + 2 < n) to[i + 2] = value.z;
}

// A chunk takes 2 * world - 1 stages. In stage s a rank handles chunk rank - s:
//   s = 0                      it sends its own part to the right neighbour's inbox
//   s = 1 … world - 2          it adds its part to what comes, and passes that on
//   s = world - 1              the same; now the chunk is complete and goes into `out`, here and at the right neighbour
//   s = world … 2 * world - 3  it passes on what the left neighbour has put into `out`
//   s = 2 * world - 2          it waits for the last chunk
// A neighbour's `out` may be written without asking: a complete chunk has the parts of all ranks of this call, so the
// same channel of all ranks has begun it.
enum class Step { send, add, complete, pass };

// What a worker does with a piece: the quads from `first` on, none of them at `end` or behind. `from` and `to` are its
// places in the inboxes. kFull: all quads exist and have four floats. Then they are at fixed distances, and the loads
// of a thread are all on their way before the first one is used.
template <Step kStep, bool kFull>
__device__ void handle(const Ring& ring, const float* in, const float4* from, float4* to, int64_t first, int64_t end,
                       int64_t n) {
  constexpr bool kAdds = kStep == Step::add || kStep == Step::complete;
  const int64_t mine = first + threadIdx.x;
  const float* source = kStep == Step::pass ? ring.out : in;
  float4 value[kDepth], come[kDepth];
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    const int64_t quad = mine + k * kWorkers;
    if (!kFull && quad >= end) break;
    if (kAdds) come[k] = (from + threadIdx.x)[k * kWorkers];
    value[k] = kFull ? (reinterpret_cast<const float4*>(source) + mine)[k * kWorkers] : load_quad(source, quad, n);
  }
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    const int64_t quad = mine + k * kWorkers;
    if (!kFull && quad >= end) break;
    if (kAdds) {
      value[k].x += come[k].x;
      value[k].y += come[k].y;
      value[k].z += come[k].z;
      value[k].w += come[k].w;
    }
    const auto store = [&](float* out) {
      if (kFull) {
        (reinterpret_cast<float4*>(out) + mine)[k * kWorkers] = value[k];
      } else {
        store_quad(out, quad, n, value[k]);
      }
    };
    if (kStep == Step::send || kStep == Step::add) (to + threadIdx.x)[k * kWorkers] = value[k];
    if (kStep == Step::complete || kStep == Step::pass) store(ring.right_out);
    if (kStep == Step::complete) store(ring.out);
  }
}

// The first world - 1 stages send to an inbox of two places, used in turn, so a sender may be two stages ahead of its
// receiver, and only waits for `emptied` when it is. An empty piece is signalled too: chunks differ by a quad.
__global__ void __launch_bounds__(kThreads)
    ring_all_reduce(Ring ring, const float* in, int64_t n, int pieces, uint32_t call) {
  const int channel = blockIdx.x, channels = gridDim.x, world = ring.world, last = 2 * world - 2;
  const uint32_t before = call * last, boxed_before = call * (world - 1);  // stages of earlier calls; with an inbox

  if (threadIdx.x >= kWorkers) {
    const int clerk = (threadIdx.x - kWorkers) / 32, lane = threadIdx.x % 32;
    for (int stage = 0; stage <= last; ++stage) {
      for (int piece = clerk; piece < pieces; piece += kClerks) {
        const int flag = channel * pieces + piece;
        // Two lanes wait, at the same time. Their acquires are the workers' after the barrier.
        if (lane == 0 && stage > 0) await(ring.arrived[flag], before + stage);
        if (lane == 1 && stage < world - 1) await(ring.emptied[flag], boxed_before + stage - 1);
        __syncwarp();
        if (stage == last) continue;
        arrive_and_wait(begin_of(clerk));
        arrive_and_wait(end_of(clerk));
        // The barrier puts all workers' accesses before the fence, and that comes before both flags.
        if (lane < 2) cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
        if (lane == 0) post(ring.right_arrived[flag], before + stage + 1);
        if (lane == 1 && stage > 0 && stage < world) post(ring.left_emptied[flag], boxed_before + stage);
      }
    }
    // No barrier at the end: no other rank touches `in`, all that others write into `out` has come, and `emptied`
    // protects the inbox in the next call as well.
    return;
  }

  const int64_t quads = (n + 3) / 4, place = int64_t{channels} * pieces * kPiece;
  for (int stage = 0; stage < last; ++stage) {
    const int chunk = (ring.rank - stage + 2 * world) % world;
    const int64_t chunk_begin = quads * chunk / world, chunk_quads = quads * (chunk + 1) / world - chunk_begin;
    const int64_t begin = chunk_begin + chunk_quads * channel / channels;
    const int64_t end = chunk_begin + chunk_quads * (channel + 1) / channels;
    // What comes in a stage was sent in the one before.
    const uint32_t turn = boxed_before + stage;
    for (int piece = 0; piece < pieces; ++piece) {
      const int64_t slot = (int64_t{channel} * pieces + piece) * kPiece, first = begin + int64_t{piece} * kPiece;
      const float4* const from = ring.inbox + (turn + 1) % 2 * place + slot;
      float4* const to = ring.right_inbox + turn % 2 * place + slot;
      const bool full = first + kPiece <= end && 4 * end <= n;
      const auto take = [&]<Step kStep>() {
        if (full) {
          handle<kStep, true>(ring, in, from, to, first, end, n);
        } else {
          handle<kStep, false>(ring, in, from, to, first, end, n);
        }
      };
      // A worker is at most one barrier of each kind ahead of a clerk: it arrives at the end of a piece only after the
      // clerk has come to its begin, which it does when it has signalled the one before.
      arrive_and_wait(begin_of(piece % kClerks));
      if (stage == 0) {
        take.operator()<Step::send>();
      } else if (stage < world - 1) {
        take.operator()<Step::add>();
      } else if (stage == world - 1) {
        take.operator()<Step::complete>();
      } else {
        take.operator()<Step::pass>();
      }
      arrive(end_of(piece % kClerks));
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        chunk_(ceil_div(ceil_div(args.n, 4), world_)),
        channels_(static_cast<int>(std::min<int64_t>(kBlocks, ceil_div(chunk_, kWorkers)))),
        pieces_(static_cast<int>(ceil_div(ceil_div(chunk_, channels_), kPiece))),
        arrived_(rank, sizeof(uint32_t) * channels_ * pieces_),
        emptied_(rank, sizeof(uint32_t) * channels_ * pieces_),
        inbox_(rank, sizeof(float4) * 2 * channels_ * pieces_ * kPiece),
        outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    const int left = (rank_ + world_ - 1) % world_, right = (rank_ + 1) % world_;
    const Ring ring{.arrived = arrived_.mine<uint32_t>(),
                    .right_arrived = arrived_.at<uint32_t>(right),
                    .emptied = emptied_.mine<uint32_t>(),
                    .left_emptied = emptied_.at<uint32_t>(left),
                    .inbox = inbox_.mine<float4>(),
                    .right_inbox = inbox_.at<float4>(right),
                    .out = outputs_.mine<float>(),
                    .right_out = outputs_.at<float>(right),
                    .rank = rank_,
                    .world = world_};
    ring_all_reduce<<<channels_, kThreads, 0, stream>>>(ring, args.in, args.n, pieces_, calls_++);
  }

 private:
  static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

  int rank_, world_;
  int64_t chunk_;  // float4s of the largest
  int channels_, pieces_;
  uint32_t calls_ = 0;  // so far
  fabricbench::PeerMemory arrived_, emptied_, inbox_, outputs_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the all-reduce
//|   }
//| };
// [/solution]
