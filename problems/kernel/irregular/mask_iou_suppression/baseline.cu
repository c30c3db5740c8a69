#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <cstdint>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kMostMasks = 128;  // of all ranks
constexpr int kPackThreads = 512, kTile = 4;

// What a rank tells the others, in words of 32 bits: how many masks it has, their scores and areas, then the masks, a
// bit for each pixel. Everything begins at a multiple of 16 bytes.
struct Message {
  int64_t most, pixels;
  __host__ __device__ static int64_t round_up(int64_t words) { return (words + 3) / 4 * 4; }
  __host__ __device__ int64_t score() const { return 4; }
  __host__ __device__ int64_t area() const { return score() + round_up(most); }
  __host__ __device__ int64_t mask(int64_t i) const { return area() + round_up(most) + i * round_up(pixels / 32); }
  __host__ __device__ int64_t words() const { return mask(most); }
};

__device__ uint32_t bits_of(uint32_t bytes) { return bytes * 0x10204080 >> 28; }  // 4 bytes that are 0 or 1
__device__ uint32_t bits_of(uint4 b) {
  return bits_of(b.x) | bits_of(b.y) << 4 | bits_of(b.z) << 8 | bits_of(b.w) << 12;
}

// A block for each mask.
__global__ void __launch_bounds__(kPackThreads)
    pack(const int32_t* count, const float* score, const uint4* masks, uint32_t* message, Message at) {
  __shared__ uint32_t area;
  const auto i = static_cast<int>(blockIdx.x);
  const int64_t words = at.pixels / 32;
  if (threadIdx.x == 0) {
    if (i == 0) message[0] = static_cast<uint32_t>(*count);
    area = 0;
  }
  if (i >= *count) return;
  __syncthreads();
  uint32_t sum = 0;
  for (int64_t w = threadIdx.x; w < words; w += kPackThreads) {
    const uint4* from = masks + (i * words + w) * 2;
    const uint32_t word = bits_of(from[0]) | bits_of(from[1]) << 16;
    message[at.mask(i) + w] = word;
    sum += static_cast<uint32_t>(__popc(word));
  }
  sum = __reduce_add_sync(~0u, sum);
  if (threadIdx.x % kWarp == 0) atomicAdd(&area, sum);
  __syncthreads();
  if (threadIdx.x == 0) {
    message[at.score() + i] = __float_as_uint(score[i]);
    message[at.area() + i] = area;
  }
}

// Does a mask come before one of this rank in the order of scores, and do they overlap? A warp for each pair. A block
// has kTile of this rank's masks and kTile of all, so that most of its loads find a mask in the first cache. Grid:
// (columns / kTile, most / kTile rounded up), columns: world * most rounded up.
__global__ void __launch_bounds__(kWarp* kTile* kTile)
    compare(const uint32_t* messages, uint8_t* overlaps, Message at, int rank, int world) {
  const auto lane = static_cast<int>(threadIdx.x), most = static_cast<int>(at.most);
  const auto i = static_cast<int>(blockIdx.y * kTile + threadIdx.z);
  const auto j = static_cast<int>(blockIdx.x * kTile + threadIdx.y);
  if (i >= most) return;
  const int columns = static_cast<int>(gridDim.x) * kTile, self = rank * most + i;
  const uint32_t* own = messages + rank * at.words();
  bool overlap = false;
  if (j < world * most) {
    const uint32_t* other = messages + j / most * at.words();
    const int k = j % most;
    const float score = __uint_as_float(own[at.score() + i]), before = __uint_as_float(other[at.score() + k]);
    if (i < static_cast<int>(own[0]) && k < static_cast<int>(other[0]) &&
        (before > score || (before == score && j < self))) {
      const auto* a = reinterpret_cast<const uint4*>(own + at.mask(i));
      const auto* b = reinterpret_cast<const uint4*>(other + at.mask(k));
      const int quads = static_cast<int>(Message::round_up(at.pixels / 32) / 4);
      int both = 0;
#pragma unroll 4
      for (int q = lane; q < quads; q += kWarp) {
        const uint4 x = a[q], y = b[q];
        both += __popc(x.x & y.x) + __popc(x.y & y.y) + __popc(x.z & y.z) + __popc(x.w & y.w);
      }
      both = __reduce_add_sync(~0u, both);
      const int all = static_cast<int>(own[at.area() + i] + other[at.area() + k]) - both;
      overlap = 10 * both > 7 * all;
    }
  }
  if (lane == 0) overlaps[i * columns + j] = overlap ? 1 : 0;
}

// One block, a thread for each place for a mask. Rows have the masks before the thread's own that overlap it. A mask is
// suppressed as soon as one of these is known to be kept, and kept as soon as all of them are known to be suppressed.
__global__ void __launch_bounds__(kMostMasks) decide(const uint32_t* messages, const uint4* overlaps, int32_t* offsets,
                                                     int32_t* suppressor, Message at, int columns, int world) {
  constexpr int kWords = kMostMasks / 32;
  __shared__ uint32_t kept[kWords], suppressed[kWords];
  __shared__ int32_t number[kMostMasks];
  __shared__ float score[kMostMasks];
  const auto thread = static_cast<int>(threadIdx.x), most = static_cast<int>(at.most);
  const int rank = thread / most;
  bool there = false;
  uint32_t row[kWords] = {};
  if (rank < world) {
    int32_t first = 0;
    for (int r = 0; r < rank; ++r) first += static_cast<int32_t>(messages[r * at.words()]);
    const auto count = static_cast<int32_t>(messages[rank * at.words()]);
    if (thread % most == 0) {
      offsets[rank] = first;
      if (rank == world - 1) offsets[world] = first + count;
    }
    there = thread % most < count;
    number[thread] = first + thread % most;
    score[thread] = __uint_as_float(messages[rank * at.words() + at.score() + thread % most]);
  }
#pragma unroll
  for (int q = 0; q < kMostMasks / 16; ++q) {
    if (there && q < columns / 16) row[q / 2] |= bits_of(overlaps[thread * (columns / 16) + q]) << q % 2 * 16;
  }
  if (thread < kWords) kept[thread] = suppressed[thread] = 0;
  bool waits = there, stays = false;
  while (__syncthreads_or(waits) != 0) {
    uint32_t by = 0, open = 0;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      by |= row[w] & kept[w];
      open |= row[w] & ~suppressed[w];
    }
    __syncthreads();
    stays = stays || (waits && open == 0);
    waits = waits && by == 0 && open != 0;
    const uint32_t now_kept = __ballot_sync(~0u, stays), now_suppressed = __ballot_sync(~0u, there && !stays && !waits);
    if (thread % kWarp == 0) {
      kept[thread / kWarp] = now_kept;
      suppressed[thread / kWarp] = now_suppressed;
    }
  }
  if (!there) return;
  int by = thread;
  if (!stays) {
    float best = -1;
    for (int w = 0; w < kWords; ++w) {
      for (uint32_t left = row[w] & kept[w]; left != 0; left &= left - 1) {
        const int other = w * 32 + __ffs(static_cast<int>(left)) - 1;
        if (score[other] > best) {
          best = score[other];
          by = other;
        }
      }
    }
  }
  suppressor[number[thread]] = number[by];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()), world_(rank.world()), at_{args.most, args.pixels}, comm_(rank) {
    const auto world = static_cast<size_t>(world_), bytes = static_cast<size_t>(at_.words()) * sizeof(uint32_t);
    columns_ = static_cast<int>((world_ * args.most + 15) / 16 * 16);
    fabricbench::check_cuda(cudaMalloc(&message_, bytes));
    fabricbench::check_cuda(cudaMemset(message_, 0, bytes));  // gaps, and places without a mask, are gathered, too
    fabricbench::check_cuda(cudaMalloc(&messages_, world * bytes));
    fabricbench::check_cuda(cudaMalloc(&rows_, static_cast<size_t>(args.most * columns_)));
    fabricbench::check_cuda(cudaMalloc(&overlaps_, world * static_cast<size_t>(args.most * columns_)));
    cudaFuncAttributes attributes;
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, pack));
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, compare));
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, decide));
  }
  ~Solution() {
    cudaFree(message_);
    cudaFree(messages_);
    cudaFree(rows_);
    cudaFree(overlaps_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto most = static_cast<unsigned>(args.most);
    pack<<<most, kPackThreads, 0, stream>>>(args.count, args.score, reinterpret_cast<const uint4*>(args.mask), message_,
                                            at_);
    fabricbench::check_nccl(
        ncclAllGather(message_, messages_, static_cast<size_t>(at_.words()), ncclUint32, comm_, stream));
    compare<<<dim3(static_cast<unsigned>(columns_ / kTile), (most + kTile - 1) / kTile), dim3(kWarp, kTile, kTile), 0,
              stream>>>(messages_, rows_, at_, rank_, world_);
    fabricbench::check_nccl(
        ncclAllGather(rows_, overlaps_, static_cast<size_t>(args.most * columns_), ncclUint8, comm_, stream));
    decide<<<1, kMostMasks, 0, stream>>>(messages_, reinterpret_cast<const uint4*>(overlaps_), args.offsets,
                                         args.suppressor, at_, columns_, world_);
  }

 private:
  int rank_, world_, columns_ = 0;
  Message at_;
  fabricbench::NcclCommunicator comm_;
  uint32_t *message_ = nullptr, *messages_ = nullptr;
  uint8_t *rows_ = nullptr, *overlaps_ = nullptr;  // [most][columns], of this rank and of all
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the suppression
//|   }
//| };
// [/solution]
