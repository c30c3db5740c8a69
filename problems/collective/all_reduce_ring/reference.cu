#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
constexpr int kBlocks = 32;  // channels: block b of a rank talks to block b of its neighbours
constexpr int kThreads = 512;
constexpr int kPiece = kThreads;  // float4s that a block passes on at once

// Counts of messages of a channel, since the beginning. Each word has one writer and lies in the reader's memory.
struct Channel {
  alignas(128) uint32_t arrived;  // by the left neighbour: in my inbox
  alignas(128) uint32_t emptied;  // by the right neighbour: taken out of its inbox
};

struct Ring {
  Channel *left, *mine, *right;
  float4 *inbox, *right_inbox;  // [2][channels][pieces][kPiece]
  int rank, world;
};

using Count = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// The difference is signed, so that counts may wrap around.
__device__ void await(uint32_t& count, uint32_t least) {
  while (static_cast<int32_t>(Count(count).load(cuda::memory_order_acquire) - least) < 0) {
  }
}

// The vector as groups of four floats, of which the last one may be incomplete.
__device__ float4 load_quad(const float* in, int64_t quad, int64_t n) {
  const int64_t i = 4 * quad;
  if (i + 4 <= n) return reinterpret_cast<const float4*>(in)[quad];
  return make_float4(in[i], i + 1 < n ? in[i + 1] : 0, i + 2 < n ? in[i + 2] : 0, 0);
}
__device__ void store_quad(float* out, int64_t quad, int64_t n, float4 value) {
  const int64_t i = 4 * quad;
  if (i + 4 <= n) {
    reinterpret_cast<float4*>(out)[quad] = value;
    return;
  }
  out[i] = value.x;
  if (i + 1 < n) out[i + 1] = value.y;
  if (i + 2 < n) out[i + 2] = value.z;
}

// A chunk takes 2 * world - 1 stages. In stage s a rank handles chunk rank - s:
//   s = 0                      it sends its own part
//   s = 1 … world - 2          it adds its part to what comes, and passes that on
//   s = world - 1              the same; now the chunk is complete and goes into `out` too
//   s = world … 2 * world - 2  what comes goes into `out`, and on; in the last stage it stays
//
// Messages of a channel are numbered through all stages, pieces and calls. A message lies in the inbox at the parity of
// its stage, so a sender may be two stages ahead of its receiver, and only waits for `emptied` when it is. An empty
// piece is a message too: chunks differ by a quad, and numbers must not.
__global__ void __launch_bounds__(kThreads)
    ring_all_reduce(Ring ring, const float* in, float* out, int64_t n, int pieces, uint32_t received) {
  const int channel = blockIdx.x, channels = gridDim.x, world = ring.world;
  const int64_t quads = (n + 3) / 4;
  const int last = 2 * world - 2;
  uint32_t sent = received;  // at the beginning of a call, as many came as went

  for (int stage = 0; stage <= last; ++stage) {
    const int chunk = (ring.rank - stage + 2 * world) % world;
    const int64_t chunk_begin = quads * chunk / world, chunk_quads = quads * (chunk + 1) / world - chunk_begin;
    const int64_t begin = chunk_begin + chunk_quads * channel / channels;
    const int64_t end = chunk_begin + chunk_quads * (channel + 1) / channels;
    const bool incoming = stage > 0, outgoing = stage < last, adding = stage < world, complete = stage >= world - 1;

    for (int piece = 0; piece < pieces; ++piece) {
      // What comes in stage s was sent in stage s - 1 of the left neighbour: that parity.
      const int64_t slot = (int64_t{channel} * pieces + piece) * kPiece, other = int64_t{channels} * pieces * kPiece;
      const float4* const from = ring.inbox + (stage + 1) % 2 * other + slot;
      float4* const to = ring.right_inbox + stage % 2 * other + slot;

      // Two warps wait, at the same time. Their acquires are the whole block's after the barrier.
      if (threadIdx.x == 0 && incoming) await(ring.mine[channel].arrived, received + 1);
      if (threadIdx.x == 32 && outgoing) await(ring.mine[channel].emptied, sent + 1 - 2 * pieces);
      __syncthreads();

      if (const int64_t quad = begin + int64_t{piece} * kPiece + threadIdx.x; quad < end) {
        float4 value{};
        if (incoming) value = from[threadIdx.x];
        if (adding) {
          const float4 part = load_quad(in, quad, n);
          value.x += part.x;
          value.y += part.y;
          value.z += part.z;
          value.w += part.w;
        }
        if (outgoing) to[threadIdx.x] = value;
        if (complete) store_quad(out, quad, n, value);
      }

      // The barrier puts all threads' stores before one release, and all threads' loads before the other.
      __syncthreads();
      received += incoming;
      sent += outgoing;
      if (threadIdx.x == 0 && outgoing) Count(ring.right[channel].arrived).store(sent, cuda::memory_order_release);
      if (threadIdx.x == 32 && incoming) Count(ring.left[channel].emptied).store(received, cuda::memory_order_release);
    }
  }
  // No barrier at the end: no other rank touches `in` and `out`, and credits protect the inbox in the next call as
  // well.
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        chunk_(ceil_div(ceil_div(args.n, 4), world_)),
        channels_(static_cast<int>(std::min<int64_t>(kBlocks, ceil_div(chunk_, kPiece)))),
        pieces_(static_cast<int>(ceil_div(ceil_div(chunk_, channels_), kPiece))),
        flags_(rank, sizeof(Channel) * kBlocks),
        inbox_(rank, sizeof(float4) * 2 * channels_ * pieces_ * kPiece) {}

  void run(const Args& args, cudaStream_t stream) {
    const int left = (rank_ + world_ - 1) % world_, right = (rank_ + 1) % world_;
    const Ring ring{flags_.at<Channel>(left),
                    flags_.mine<Channel>(),
                    flags_.at<Channel>(right),
                    inbox_.mine<float4>(),
                    inbox_.at<float4>(right),
                    rank_,
                    world_};
    ring_all_reduce<<<channels_, kThreads, 0, stream>>>(ring, args.in, args.out, args.n, pieces_, messages_);
    messages_ += static_cast<uint32_t>(2 * world_ - 2) * pieces_;
  }

 private:
  static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

  int rank_, world_;
  int64_t chunk_;  // float4s of the largest
  int channels_, pieces_;
  uint32_t messages_ = 0;  // of each channel, so far
  fabricbench::PeerMemory flags_, inbox_;
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
