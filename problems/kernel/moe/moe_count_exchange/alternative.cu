// [solution]
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;

// Counts [2][experts] of each rank that others read. In call e they are written where those of call e - 2 were, which
// all ranks have read: each has had a barrier with this one in call e - 1 since.
__global__ void clear(int32_t* counts, int experts) {
  for (int e = static_cast<int>(threadIdx.x); e < experts; e += static_cast<int>(blockDim.x)) counts[e] = 0;
}

__global__ void count(const int32_t* ids, int32_t* counts, int64_t choices) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < choices && ids[i] >= 0) atomicAdd(&counts[ids[i]], 1);
}

// Reads the counts of all ranks from where they are. A thread for each rank: the sums are simple loops.
__global__ void lay_out(Args args, Peers<const int32_t> counts, int rank, int world) {
  const int local = static_cast<int>(args.local), experts = world * local, owner = static_cast<int>(threadIdx.x);
  extern __shared__ int32_t all[];  // [world][experts]
  for (int i = static_cast<int>(threadIdx.x); i < world * experts; i += static_cast<int>(blockDim.x))
    all[i] = counts.of[i / experts][i % experts];
  __syncthreads();
  if (owner == world) {
    int32_t at = 0;
    for (int e = 0; e < experts; ++e) {
      args.send_counts[e] = all[rank * experts + e];
      args.send_offsets[e] = at;
      at += all[rank * experts + e];
    }
    args.send_offsets[experts] = at;
  }
  if (owner >= world) return;
  int32_t at = 0;
  for (int l = 0; l < local; ++l) {
    for (int s = 0; s < world; ++s) {
      const int32_t here = all[s * experts + owner * local + l];
      if (s == rank) args.put_offsets[owner * local + l] = at;
      if (owner == rank) {
        args.recv_counts[s * local + l] = here;
        args.recv_offsets[l * world + s] = at;
      }
      at += here;
    }
  }
  if (owner == rank) args.recv_offsets[local * world] = at;
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, 64 * sizeof(uint32_t)),
        counts_(rank, 2 * static_cast<size_t>(world_ * args.local) * sizeof(int32_t)) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto experts = static_cast<int>(world_ * args.local);
    const int64_t choices = args.tokens * args.k;
    const size_t set = ++round_ % 2 * static_cast<size_t>(experts) * sizeof(int32_t);
    clear<<<1, 256, 0, stream>>>(counts_.mine<int32_t>(set), experts);
    count<<<static_cast<unsigned>((choices + 255) / 256), 256, 0, stream>>>(args.ids, counts_.mine<int32_t>(set),
                                                                            choices);
    fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, round_);
    lay_out<<<1, 256, static_cast<size_t>(world_ * experts) * sizeof(int32_t), stream>>>(
        args, counts_.peers<const int32_t>(set), rank_, world_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, counts_;
};
// [/solution]
