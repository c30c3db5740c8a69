// [solution]
#include <fabricbench/rank_barrier.h>

// No splitters: each rank sorts its keys, reads the sorted ones of all ranks, finds the place of each of its own keys
// in the order of all by searches, and stores it there. Barriers of all ranks are kernels, and the host learns nothing.
#include <utility>

using fabricbench::Peers;

constexpr int kTile = 256, kThreads = 128;

// Keys with their origins as words without equals; behind the count there are larger ones that are no keys.
__global__ void sort_tiles(const int32_t* count, const int32_t* key, uint64_t* words, int64_t first_origin) {
  __shared__ uint64_t tile[kTile];
  const int64_t base = int64_t{blockIdx.x} * kTile;
  for (int t = static_cast<int>(threadIdx.x); t < kTile; t += kThreads) {
    const int64_t i = base + t;
    const bool real = i < *count;
    const uint32_t upper = real ? static_cast<uint32_t>(key[i]) + 0x80000000 : ~0u;
    tile[t] = uint64_t{upper} << 32 | static_cast<uint32_t>(real ? first_origin + i : 0x80000000 + i);
  }
  for (int size = 2; size <= kTile; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      const int pair = static_cast<int>(threadIdx.x);
      const int a = pair / distance * 2 * distance + pair % distance, b = a + distance;
      const uint64_t x = tile[a], y = tile[b];
      if ((x > y) == ((a & size) == 0)) {
        tile[a] = y;
        tile[b] = x;
      }
    }
  }
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.x); t < kTile; t += kThreads) words[base + t] = tile[t];
}

__device__ int64_t smaller(const uint64_t* run, int64_t length, uint64_t word) {
  int64_t low = 0;
  while (length > 0) {
    const int64_t half = length / 2;
    if (run[low + half] < word) {
      low += half + 1;
      length -= half + 1;
    } else {
      length = half;
    }
  }
  return low;
}

// Merges pairs of runs.
__global__ void merge_pairs(const uint64_t* words, uint64_t* merged, int64_t run, int64_t total) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x, pair = i / (2 * run) * 2 * run;
  const int64_t sibling = i < pair + run ? pair + run : pair;
  const int64_t length = max(min(run, total - sibling), int64_t{0});
  const int64_t own = i < pair + run ? i - pair : i - pair - run;
  merged[pair + own + smaller(words + sibling, length, words[i])] = words[i];
}

// Grid: (any, world).
__global__ void collect(Peers<const uint64_t> sorted, Peers<const int32_t> count, uint64_t* all, int32_t* counts,
                        int64_t padded) {
  const auto source = blockIdx.y;
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  all[source * padded + i] = sorted.of[source][i];
  if (i == 0) counts[source] = *count.of[source];
}

__global__ void put(const uint64_t* all, const int32_t* counts, int32_t* block, Peers<int32_t> sorted_key,
                    Peers<int32_t> origin, int64_t padded, int rank, int world) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  int64_t total = 0;
  for (int r = 0; r < world; ++r) total += counts[r];
  if (i < 2) block[i] = static_cast<int32_t>((rank + i) * total / world);
  if (i >= counts[rank]) return;
  const uint64_t word = all[rank * padded + i];
  int64_t place = 0;
  for (int r = 0; r < world; ++r) place += smaller(all + r * padded, counts[r], word);
  int owner = 0;
  while ((owner + 1) * total / world <= place) ++owner;
  const int64_t to = place - owner * total / world;
  sorted_key.of[owner][to] = static_cast<int32_t>(static_cast<uint32_t>(word >> 32) - 0x80000000);
  origin.of[owner][to] = static_cast<int32_t>(word);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        padded_((args.capacity + kTile - 1) / kTile * kTile),
        flags_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        sorted_(rank, 2 * static_cast<size_t>(padded_) * sizeof(uint64_t)),
        counts_(rank, args.count),
        keys_(rank, args.sorted_key),
        origins_(rank, args.origin) {
    fabricbench::check_cuda(cudaMalloc(&all_, static_cast<size_t>(world_ * padded_) * sizeof(uint64_t)));
    fabricbench::check_cuda(cudaMalloc(&all_counts_, static_cast<size_t>(world_) * sizeof(int32_t)));
  }
  ~Solution() {
    cudaFree(all_);
    cudaFree(all_counts_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_), blocks = static_cast<unsigned>(padded_ / kThreads);
    size_t from = 0, to = static_cast<size_t>(padded_) * sizeof(uint64_t);
    sort_tiles<<<static_cast<unsigned>(padded_ / kTile), kThreads, 0, stream>>>(
        args.count, args.key, sorted_.mine<uint64_t>(from), rank_ * args.capacity);
    for (int64_t run = kTile; run < padded_; run *= 2) {
      merge_pairs<<<blocks, kThreads, 0, stream>>>(sorted_.mine<uint64_t>(from), sorted_.mine<uint64_t>(to), run,
                                                   padded_);
      std::swap(from, to);
    }
    // all have sorted
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(flags_.peers<uint32_t>(), rank_, ++round_);
    collect<<<dim3(blocks, world), kThreads, 0, stream>>>(sorted_.peers<const uint64_t>(from),
                                                          counts_.peers<const int32_t>(), all_, all_counts_, padded_);
    put<<<blocks, kThreads, 0, stream>>>(all_, all_counts_, args.block, keys_.peers<int32_t>(),
                                         origins_.peers<int32_t>(), padded_, rank_, world_);
    // all have read and written
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(flags_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  int64_t padded_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory flags_, sorted_, counts_, keys_, origins_;
  uint64_t* all_ = nullptr;
  int32_t* all_counts_ = nullptr;
};
// [/solution]
