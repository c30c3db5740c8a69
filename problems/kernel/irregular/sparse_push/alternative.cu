// [solution]
#include <fabricbench/rank_barrier.h>

// Each rank lists its pairs by owner; owners read the lists and fetch the pairs. Barriers of all ranks are kernels.
using fabricbench::Peers;

constexpr int kWarp = 32;

// A warp for each owner. `lists`: for each owner its count, then the positions of its pairs.
__global__ void list(const int64_t* id, int32_t* lists, int64_t pairs, int world) {
  const int owner = static_cast<int>(blockIdx.x), lane = static_cast<int>(threadIdx.x);
  int32_t* mine = lists + owner * (pairs + 1);
  int32_t count = 0;
  for (int64_t p = lane; p - lane < pairs; p += kWarp) {
    const bool owned = p < pairs && id[p] % world == owner;
    const unsigned all = __ballot_sync(~0u, owned);
    if (owned) mine[1 + count + __popc(all & ((1u << lane) - 1))] = static_cast<int32_t>(p);
    count += __popc(all);
  }
  if (lane == 0) mine[0] = count;
}

// Grid: (any, world); a warp takes pairs of one source in turn.
__global__ void fetch(Peers<const int32_t> lists, Peers<const int64_t> id, Peers<const int4> row, int32_t* offsets,
                      int64_t* owned_id, int4* owned_row, int64_t pairs, int64_t quads, int rank) {
  const int source = static_cast<int>(blockIdx.y), world = static_cast<int>(gridDim.y);
  const int64_t list = rank * (pairs + 1);
  int32_t before = 0;
  for (int s = 0; s < source; ++s) before += lists.of[s][list];
  const int32_t count = lists.of[source][list];
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    offsets[source] = before;
    if (source == world - 1) offsets[world] = before + count;
  }
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warps = static_cast<int>(gridDim.x * blockDim.x) / kWarp;
  for (auto k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / kWarp; k < count; k += warps) {
    const int64_t p = lists.of[source][list + 1 + k], to = before + k;
    if (lane == 0) owned_id[to] = id.of[source][p];
    for (int64_t q = lane; q < quads; q += kWarp) owned_row[to * quads + q] = row.of[source][p * quads + q];
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        lists_(rank, static_cast<size_t>(rank.world() * (args.pairs + 1)) * sizeof(int32_t)),
        ids_(rank, args.id),
        rows_(rank, args.row) {}

  void run(const Args& args, cudaStream_t stream) {
    const auto world = static_cast<unsigned>(world_);
    list<<<world, kWarp, 0, stream>>>(args.id, lists_.mine<int32_t>(), args.pairs, world_);
    // all lists are there
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    fetch<<<dim3(16, world), 128, 0, stream>>>(
        lists_.peers<const int32_t>(), ids_.peers<const int64_t>(), rows_.peers<const int4>(), args.offsets,
        args.owned_id, reinterpret_cast<int4*>(args.owned_row), args.pairs, args.width / 4, rank_);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, lists_, ids_, rows_;
};
// [/solution]
