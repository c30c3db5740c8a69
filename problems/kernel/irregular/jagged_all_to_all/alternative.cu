// [solution]
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank_barrier.h>

#include <cuda/atomic>

// Every rank adds up the lengths of each key; owners read these sums, and then lengths and values where they are.
// Barriers of all ranks are kernels, and the host learns nothing.
using fabricbench::Peers;

// begin[f]: where key f begins among the values. One block: a thread for each sample of a key, in turn.
__global__ void find_keys(const int32_t* length, int32_t* begin, int keys, int64_t batch) {
  __shared__ int32_t total;
  if (threadIdx.x == 0) total = 0;
  for (int f = 0; f < keys; ++f) {
    __syncthreads();
    if (threadIdx.x == 0) begin[f] = total;
    __syncthreads();
    for (int64_t b = threadIdx.x; b < batch; b += blockDim.x) atomicAdd(&total, length[f * batch + b]);
  }
  __syncthreads();
  if (threadIdx.x == 0) begin[keys] = total;
}

// Grid: (owned keys, world).
__global__ void pull(Peers<const int32_t> begin, Peers<const int32_t> length, Peers<const int64_t> value,
                     int32_t* key_length, int32_t* offsets, int64_t* key_value, int first, int64_t batch) {
  const int key = static_cast<int>(blockIdx.x), owned = static_cast<int>(gridDim.x);
  const int source = static_cast<int>(blockIdx.y), world = static_cast<int>(gridDim.y);
  int64_t to = 0;
  for (int s = 0; s < world; ++s) {
    to += begin.of[s][first + key] - begin.of[s][first];
    if (s < source) to += begin.of[s][first + key + 1] - begin.of[s][first + key];
  }
  const int64_t from = begin.of[source][first + key], count = begin.of[source][first + key + 1] - from;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) key_value[to + i] = value.of[source][from + i];
  for (int64_t b = threadIdx.x; b < batch; b += blockDim.x)
    key_length[(key * world + source) * batch + b] = length.of[source][(first + key) * batch + b];
  if (threadIdx.x == 0 && source == 0) offsets[key] = static_cast<int32_t>(to);
  if (threadIdx.x == 0 && source == world - 1 && key == owned - 1) offsets[owned] = static_cast<int32_t>(to + count);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        all_keys_(static_cast<int>(rank.world() * args.keys + rank.world() / 2)),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        begin_(rank, static_cast<size_t>(all_keys_ + 1) * sizeof(int32_t)),
        lengths_(rank, args.length),
        values_(rank, args.value) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_);
    find_keys<<<1, 128, 0, stream>>>(args.length, begin_.mine<int32_t>(), all_keys_, args.batch);
    // all have begun and added up
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    const auto owned = static_cast<unsigned>(args.keys + rank_ % 2);
    pull<<<dim3(owned, world), 256, 0, stream>>>(
        begin_.peers<const int32_t>(), lengths_.peers<const int32_t>(), values_.peers<const int64_t>(), args.key_length,
        args.offsets, args.key_value, static_cast<int>(rank_ * args.keys + rank_ / 2), args.batch);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_, all_keys_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, begin_, lengths_, values_;
};
// [/solution]
