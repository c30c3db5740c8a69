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
using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
using Ticket = cuda::atomic_ref<uint32_t, cuda::thread_scope_device>;

constexpr int kBlocks = 64;  // all resident at once: they wait for their peers
constexpr int kWarp = 32, kMostRanks = 8;
constexpr int kImages = 16, kTexts = 8;  // of a warp
constexpr int kPiece = 2;                // texts that a warp sends together
constexpr int kChunks = 12, kBatch = 8;  // loads of a lane that are under way together: of texts, and else

// d += a b: a has 16 rows of 16, b has 8 columns of 16.
__device__ __forceinline__ void multiply(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                         uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Products of 16 images, in shared memory, and 8 texts: d[0] and d[1] are row lane / 4, d[2] and d[3] the row 8 behind
// it, in columns lane % 4 * 2 and the one behind. Which numbers of an embedding stand for which index of a product is
// free, as long as both factors agree: a lane loads 16 bytes at a time. `chunks` of 32 numbers; texts are 4 * chunks
// units of 16 bytes long, images one unit more, so that rows are in different banks.
__device__ __forceinline__ void multiply(float (&d)[4], const uint4* images, const uint4* text, int chunks) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, group = lane / 4, member = lane % 4;
  const uint4 *low = images + group * (4 * chunks + 1) + member, *high = low + 8 * (4 * chunks + 1);
  float odd[4] = {};  // two sums, which do not wait for each other
  int first = 0;
  do {
    uint4 b[kChunks];
#pragma unroll
    for (int n = 0; n < kChunks; ++n) b[n] = text[min(first + n, chunks - 1) * 4 + member];
#pragma unroll
    for (int n = 0; n < kChunks; ++n) {
      const int chunk = min(first + n, chunks - 1);
      if (first + n >= chunks) b[n] = {};  // nothing is left
      const uint4 a0 = low[chunk * 4], a1 = high[chunk * 4];
      multiply(d, a0.x, a1.x, a0.y, a1.y, b[n].x, b[n].y);
      multiply(odd, a0.z, a1.z, a0.w, a1.w, b[n].z, b[n].w);
    }
    first += kChunks;
  } while (first < chunks);
#pragma unroll
  for (int n = 0; n < 4; ++n) d[n] += odd[n];
}

// Texts on their way: [call % 2][sender][text][dim] in the memory of each rank, and a flag [call % 2][sender] for each
// piece of 2 texts, which holds the number of the call.
struct Mail {
  int64_t units;  // of 16 bytes, of a sender's texts
  int pieces, world;
  __device__ int64_t texts(uint32_t call, int sender) const { return (call % 2 * int64_t{world} + sender) * units; }
  __device__ int64_t flags(uint32_t call, int sender) const { return (call % 2 * int64_t{world} + sender) * pieces; }
};

// By a warp, many loads at a time.
__device__ __forceinline__ void copy(const uint4* from, uint4* to, int units) {
  for (int i = static_cast<int>(threadIdx.x) % kWarp; i < units; i += kBatch * kWarp) {
    uint4 bits[kBatch];
#pragma unroll
    for (int n = 0; n < kBatch; ++n) bits[n] = __ldg(from + min(i + n * kWarp, units - 1));
#pragma unroll
    for (int n = 0; n < kBatch; ++n) {
      if (i + n * kWarp < units) to[i + n * kWarp] = bits[n];
    }
  }
}

// Of partial sums: as many as are loaded together.
__host__ __device__ constexpr int slots_of(int tiles) { return (tiles + kBatch - 1) / kBatch * kBatch; }

// Blocks first send pieces of this rank's texts to all others, then compute: a block takes 16 images and tile j of
// every rank's texts, a warp for each rank, which waits for this tile alone. So this rank's own texts are done while
// others are on their way. Terms are added up in registers, in shared memory and at last over the tiles of texts, by
// the block that is the last one to end for these images.
//
// In call e a rank writes into mail that holds texts of call e - 2. The owner has read those: its kernel of call e - 1
// began when that of call e - 2 had ended, and the writer has waited in call e - 1 for the flags that it set then.
__global__ void __launch_bounds__(kMostRanks* kWarp)
    add_terms(Peers<uint4> mail, Peers<uint32_t> flags, Mail at, const uint4* image, const uint4* text,
              const float* learned, float* loss, float* partial, uint32_t* tickets, int batch, int chunks, int rank,
              uint32_t call) {
  extern __shared__ uint4 images[];
  __shared__ float sums[kMostRanks][kImages];
  __shared__ bool is_last;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int length = 4 * chunks, tiles = (batch + kTexts - 1) / kTexts;  // of an embedding, in units of 16 bytes

  // The k-th warp sends to the k-th rank behind this one.
  const int peer = rank + warp < at.world ? rank + warp : rank + warp - at.world;
  for (int piece = static_cast<int>(blockIdx.x); peer != rank && piece < at.pieces;
       piece += static_cast<int>(gridDim.x)) {
    const int first = piece * kPiece * length;
    copy(text + first, mail.of[peer] + at.texts(call, rank) + first, min(kPiece, batch - piece * kPiece) * length);
    __syncwarp();  // orders the stores of all lanes before the release of one
    if (lane == 0) Flag(flags.of[peer][at.flags(call, rank) + piece]).store(call, cuda::memory_order_release);
  }

  const float temperature = __ldg(learned), bias = __ldg(learned + 1);
  const int items = (batch + kImages - 1) / kImages * tiles, slots = slots_of(tiles);
  for (int item = static_cast<int>(blockIdx.x); item < items; item += static_cast<int>(gridDim.x)) {
    const int tile = item % tiles, first = item / tiles * kImages;
    for (int row = warp; row < kImages; row += at.world)  // the last image stands for those behind it
      copy(image + min(first + row, batch - 1) * length, images + row * (length + 1), length);
    // Each lane waits for one piece of the tile.
    if (const int piece = tile * (kTexts / kPiece) + lane;
        warp != rank && lane < kTexts / kPiece && piece < at.pieces) {
      Flag flag(flags.of[rank][at.flags(call, warp) + piece]);
      while (flag.load(cuda::memory_order_acquire) != call) {
      }
    }
    __syncthreads();  // the images are there; what a lane has acquired is there for its warp

    const uint4* texts = warp == rank ? text : mail.of[rank] + at.texts(call, warp);
    float products[4] = {};
    multiply(products, images, texts + min(tile * kTexts + lane / 4, batch - 1) * length, chunks);
    float sum[2] = {};
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int i = first + lane / 4 + n / 2 * 8, j = tile * kTexts + lane % 4 * 2 + n % 2;
      const float logit = temperature * products[n] + bias, x = warp == rank && i == j ? -logit : logit;
      sum[n / 2] += j < batch ? fmaxf(x, 0) + __logf(1 + __expf(-fabsf(x))) : 0;
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
      sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
      if (lane % 4 == 0) sums[warp][lane / 4 + r * 8] = sum[r];
    }
    __syncthreads();
    if (thread < kImages) {
      float all = 0;
      for (int s = 0; s < at.world; ++s) all += sums[s][thread];
      partial[(item / tiles * slots + tile) * kImages + thread] = all;
    }
    __syncthreads();  // orders these stores before the ticket, and all loads before `images` is written again
    // Every call takes as many tickets as there are tiles of texts: they are never reset.
    if (thread == 0) {
      Ticket ticket(tickets[item / tiles]);
      is_last = ticket.fetch_add(1, cuda::memory_order_acq_rel) + 1 == call * static_cast<uint32_t>(tiles);
    }
    __syncthreads();
    if (is_last && thread < kImages && first + thread < batch) {
      const float* parts = partial + item / tiles * slots * kImages + thread;  // zeros behind the last tile
      float all = 0;
      int t = 0;
      do {
        float part[kBatch];
#pragma unroll
        for (int n = 0; n < kBatch; ++n) part[n] = parts[(t + n) * kImages];
#pragma unroll
        for (int n = 0; n < kBatch; ++n) all += part[n];
        t += kBatch;
      } while (t < slots);
      loss[first + thread] = all;
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        at_{args.batch * args.dim / 8, static_cast<int>((args.batch + kPiece - 1) / kPiece), rank.world()},
        tiles_(static_cast<int>((args.batch + kTexts - 1) / kTexts)),
        groups_(static_cast<int>((args.batch + kImages - 1) / kImages)),
        mail_(rank, static_cast<size_t>(2 * rank.world() * at_.units) * sizeof(uint4)),
        flags_(rank, static_cast<size_t>(2 * rank.world() * at_.pieces) * sizeof(uint32_t)) {
    const size_t sums = static_cast<size_t>(groups_ * slots_of(tiles_) * kImages) * sizeof(float);
    fabricbench::check_cuda(cudaMalloc(&partial_, sums));
    fabricbench::check_cuda(cudaMemset(partial_, 0, sums));
    fabricbench::check_cuda(cudaMalloc(&tickets_, static_cast<size_t>(groups_) * sizeof(uint32_t)));
    fabricbench::check_cuda(cudaMemset(tickets_, 0, static_cast<size_t>(groups_) * sizeof(uint32_t)));
  }
  ~Solution() {
    cudaFree(tickets_);
    cudaFree(partial_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int blocks = std::min(kBlocks, groups_ * tiles_), chunks = static_cast<int>(args.dim / 32);
    const size_t shared = static_cast<size_t>(kImages * (4 * chunks + 1)) * sizeof(uint4);
    add_terms<<<blocks, at_.world * kWarp, shared, stream>>>(
        mail_.peers<uint4>(), flags_.peers<uint32_t>(), at_, reinterpret_cast<const uint4*>(args.image),
        reinterpret_cast<const uint4*>(args.text), args.learned, args.loss, partial_, tickets_,
        static_cast<int>(args.batch), chunks, rank_, ++call_);
  }

 private:
  int rank_;
  Mail at_;
  int tiles_, groups_;  // of 8 texts, and of 16 images
  uint32_t call_ = 0;   // the flags of fresh memory are 0
  fabricbench::PeerMemory mail_, flags_;
  float* partial_ = nullptr;
  uint32_t* tickets_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the loss
//|   }
//| };
// [/solution]
