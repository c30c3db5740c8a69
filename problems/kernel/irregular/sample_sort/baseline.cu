#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <algorithm>

constexpr int kTile = 256, kWarp = 32, kThreads = 256;
constexpr int kMostWorld = 8, kSamples = kTile / kMostWorld;  // samples of a rank: one block sorts all of them

// A key and where it was are one word, so that there are no equal ones, and words are in the wanted order. Words from
// kPad on are no keys: they fill up tiles.
constexpr uint64_t kPad = 0xFFFFFFFF80000000;
__device__ uint64_t word_of(int32_t key, int64_t origin) {
  return uint64_t{static_cast<uint32_t>(key) ^ 0x80000000} << 32 | static_cast<uint32_t>(origin);
}

// A word of each thread; afterwards thread t has the t-th smallest one. Bitonic: words that are fewer than 32 threads
// apart are exchanged by shuffles.
__device__ uint64_t sort_block(uint64_t word, uint64_t* tile) {
  const auto thread = static_cast<int>(threadIdx.x);
  for (int size = 2; size <= kTile; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      uint64_t other;
      if (distance < kWarp) {
        other = __shfl_xor_sync(~0u, word, distance);
      } else {
        __syncthreads();
        tile[thread] = word;
        __syncthreads();
        other = tile[thread ^ distance];
      }
      const bool ascending = (thread & size) == 0, lower = (thread & distance) == 0;
      word = ascending == lower ? min(word, other) : max(word, other);
    }
  }
  return word;
}

__global__ void __launch_bounds__(kTile)
    sort_tiles(const int32_t* count, const int32_t* key, uint64_t* words, int64_t first_origin) {
  __shared__ uint64_t tile[kTile];
  const int64_t i = int64_t{blockIdx.x} * kTile + threadIdx.x;
  words[i] = sort_block(i < *count ? word_of(key[i], first_origin + i) : kPad + static_cast<uint64_t>(i), tile);
}

// Eight sorted runs; run k ends where run k + 1 begins.
struct Runs {
  int32_t begin[9];
};

// Merges groups of eight runs: the place of a word is the number of smaller ones in all runs. The eight searches of a
// thread go on side by side. Grid: (any, groups), each group `stride` words behind the last one; `step`: a power of two
// that is not longer than the longest run, and at least half as long.
__global__ void merge(const uint64_t* words, uint64_t* merged, Runs runs, int32_t stride, int32_t total, int32_t step) {
  int32_t at[8], end[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    at[k] = min(runs.begin[k] + static_cast<int32_t>(blockIdx.y) * stride, total);
    end[k] = min(runs.begin[k + 1] + static_cast<int32_t>(blockIdx.y) * stride, total);
  }
  const int32_t first = at[0], i = first + static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= end[7]) return;
  const uint64_t word = words[i];
  int32_t place = first;
#pragma unroll
  for (int k = 0; k < 8; ++k) place -= at[k];
  for (; step > 0; step /= 2) {
    uint64_t other[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) other[k] = words[max(min(at[k] + step, end[k]), 1) - 1];
#pragma unroll
    for (int k = 0; k < 8; ++k)
      at[k] += static_cast<int>(at[k] + step <= end[k]) & static_cast<int>(other[k] < word) ? step : 0;
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) place += at[k];
  merged[place] = word;
}

__global__ void sample(const int32_t* count, const uint64_t* words, uint64_t* samples) {
  const int64_t n = *count, j = threadIdx.x;
  samples[j] = n > 0 ? words[(2 * j + 1) * n / (2 * kSamples)] : kPad;
}

// Splitters from the samples of all ranks, and how many of this rank's words are in each bucket.
__global__ void __launch_bounds__(kTile)
    split(const uint64_t* samples, const int32_t* count, const uint64_t* words, int32_t* counts, int world) {
  __shared__ uint64_t tile[kTile];
  __shared__ int32_t begin[kMostWorld + 1];
  const auto thread = static_cast<int>(threadIdx.x);
  const uint64_t word = sort_block(thread < world * kSamples ? samples[thread] : kPad, tile);
  const int real = __syncthreads_count(word < kPad);
  tile[thread] = word;
  __syncthreads();
  if (thread <= world) {
    int32_t low = 0, high = *count;
    if (thread == 0) high = 0;
    if (thread == world) low = high;
    const uint64_t splitter = tile[min(thread * real / world, kTile - 1)];
    while (low < high) {
      const int32_t middle = (low + high) / 2;
      if (words[middle] < splitter) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    begin[thread] = low;
  }
  __syncthreads();
  if (thread < world) counts[thread] = begin[thread + 1] - begin[thread];
}

__global__ void unpack(const uint64_t* words, int32_t* block, int32_t* sorted_key, int32_t* origin, int32_t first,
                       int32_t end) {
  const auto i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < 2) block[i] = i == 0 ? first : end;
  if (i >= end - first) return;
  sorted_key[i] = static_cast<int32_t>(static_cast<uint32_t>(words[i] >> 32) ^ 0x80000000);
  origin[i] = static_cast<int32_t>(words[i]);
}

// Sample sort: sorts here, takes splitters from regular samples of all ranks, sends buckets to their ranks, merges them
// there, and moves what is beyond the borders of the blocks. NCCL needs counts on the host, which waits for them.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        tiles_(static_cast<int>((args.capacity + kTile - 1) / kTile)),
        comm_(rank) {
    // A bucket may have all keys of all ranks.
    const auto world = static_cast<size_t>(world_), most = world * static_cast<size_t>(tiles_) * kTile;
    fabricbench::check_cuda(cudaMalloc(&words_, most * sizeof(uint64_t)));
    fabricbench::check_cuda(cudaMalloc(&other_words_, most * sizeof(uint64_t)));
    fabricbench::check_cuda(cudaMalloc(&samples_, (world + 1) * kSamples * sizeof(uint64_t)));
    fabricbench::check_cuda(cudaMalloc(&matrix_, (world + 1) * world * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMallocHost(&counts_, world * world * sizeof(int32_t)));
    cudaFuncAttributes attributes;  // loads the kernel, which is not launched in calls without keys
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, merge));
  }
  ~Solution() {
    cudaFree(words_);
    cudaFree(other_words_);
    cudaFree(samples_);
    cudaFree(matrix_);
    cudaFreeHost(counts_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<size_t>(world_);
    sort_tiles<<<static_cast<unsigned>(tiles_), kTile, 0, stream>>>(args.count, args.key, words_,
                                                                    rank_ * args.capacity);
    const int padded = tiles_ * kTile;
    uint64_t *from = words_, *to = other_words_;
    for (int run = kTile; run < padded; run *= 8) {
      Runs runs;
      for (int k = 0; k <= 8; ++k) runs.begin[k] = k * run;
      const auto group = static_cast<unsigned>(std::min(8 * run, padded)), all = static_cast<unsigned>(padded);
      merge<<<dim3((group + kThreads - 1) / kThreads, (all + group - 1) / group), kThreads, 0, stream>>>(
          from, to, runs, 8 * run, padded, run);
      std::swap(from, to);
    }
    uint64_t* own_samples = samples_ + world * kSamples;
    sample<<<1, kSamples, 0, stream>>>(args.count, from, own_samples);
    fabricbench::check_nccl(ncclAllGather(own_samples, samples_, kSamples, ncclUint64, comm_, stream));
    int32_t* own = matrix_ + world * world;
    split<<<1, kTile, 0, stream>>>(samples_, args.count, from, own, world_);
    fabricbench::check_nccl(ncclAllGather(own, matrix_, world, ncclInt32, comm_, stream));
    fabricbench::check_cuda(
        cudaMemcpyAsync(counts_, matrix_, world * world * sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));

    // Buckets to their ranks, and where the bucket of each rank begins in the order of all keys.
    int32_t bucket[kMostWorld + 1] = {}, sent = 0, longest = 0;
    Runs runs{};
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const int32_t out = counts_[rank_ * world_ + peer], in = counts_[peer * world_ + rank_];
      send(from + sent, out, peer, stream);
      receive(to + runs.begin[peer], in, peer, stream);
      sent += out;
      longest = std::max(longest, in);
      std::fill(runs.begin + peer + 1, runs.begin + 9, runs.begin[peer] + in);
      bucket[peer + 1] = bucket[peer];
      for (int source = 0; source < world_; ++source) bucket[peer + 1] += counts_[source * world_ + peer];
    }
    fabricbench::check_nccl(ncclGroupEnd());
    const int32_t come = runs.begin[8];
    if (come > 0) {
      int32_t step = 1;
      while (2 * step <= longest) step *= 2;
      merge<<<static_cast<unsigned>((come + kThreads - 1) / kThreads), kThreads, 0, stream>>>(to, from, runs, 0, come,
                                                                                              step);
    }

    // From buckets to blocks: each rank sends what it has of a block.
    const auto border = [&](int w) { return static_cast<int32_t>(int64_t{w} * bucket[world_] / world_); };
    fabricbench::check_nccl(ncclGroupStart());
    int32_t out = 0, in = 0;
    for (int peer = 0; peer < world_; ++peer) {
      const int32_t there = common(bucket[rank_], bucket[rank_ + 1], border(peer), border(peer + 1));
      const int32_t here = common(bucket[peer], bucket[peer + 1], border(rank_), border(rank_ + 1));
      send(from + out, there, peer, stream);
      receive(to + in, here, peer, stream);
      out += there;
      in += here;
    }
    fabricbench::check_nccl(ncclGroupEnd());
    unpack<<<static_cast<unsigned>(in / kThreads + 1), kThreads, 0, stream>>>(
        to, args.block, args.sorted_key, args.origin, border(rank_), border(rank_ + 1));
  }

 private:
  // How long the common part of two intervals is.
  static int32_t common(int32_t begin, int32_t end, int32_t other_begin, int32_t other_end) {
    return std::max(std::min(end, other_end) - std::max(begin, other_begin), 0);
  }
  // No message of nothing: both sides know.
  void send(const uint64_t* from, int32_t count, int peer, cudaStream_t stream) {
    if (count > 0) fabricbench::check_nccl(ncclSend(from, static_cast<size_t>(count), ncclUint64, peer, comm_, stream));
  }
  void receive(uint64_t* to, int32_t count, int peer, cudaStream_t stream) {
    if (count > 0) fabricbench::check_nccl(ncclRecv(to, static_cast<size_t>(count), ncclUint64, peer, comm_, stream));
  }

  int rank_, world_, tiles_;
  fabricbench::NcclCommunicator comm_;
  uint64_t *words_ = nullptr, *other_words_ = nullptr;
  uint64_t* samples_ = nullptr;                    // of all ranks, and the own ones once more
  int32_t *matrix_ = nullptr, *counts_ = nullptr;  // [source][bucket], on the GPU (and the own row) and on the host
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the sort
//|   }
//| };
// [/solution]
