// [solution]
#include <fabricbench/rank_barrier.h>

// Not overlapped: every rank leaves its whole part where the others can read it; then each pulls its rows.
using fabricbench::Peers;
using fabricbench::rank_barrier;

constexpr int kThreads = 256;

__global__ void multiply(Args args, float* part, int world) {
  __shared__ TileBuffers buffers;
  const int n = static_cast<int>(args.n), k = static_cast<int>(args.k), all = world * static_cast<int>(args.m);
  const int columns = (n + kTileColumns - 1) / kTileColumns;
  const int row = static_cast<int>(blockIdx.x) / columns * kTileRows, rows = min(kTileRows, all - row);
  const int column = static_cast<int>(blockIdx.x) % columns * kTileColumns;
  float sums[kTileSums];
  multiply_tile(buffers, args.a + int64_t{row} * k, k, rows, args.b + int64_t{column} * k, k, n - column, k, sums);
  for (int i = 0; i < kTileSums; ++i) {
    const int r = tile_row(i), c = column + tile_column(i);
    if (r < rows && c < n) part[int64_t{row + r} * n + c] = sums[i];
  }
}

// One block: the parts are complete when it starts, and no rank overwrites them before it has ended everywhere.
__global__ void pull(Args args, Peers<const float> part, Peers<uint32_t> flags, int rank, int world, uint32_t call) {
  rank_barrier(flags, rank, world, 2 * call - 1);
  for (int64_t i = threadIdx.x; i < args.m * args.n; i += kThreads) {
    float sum = 0;
    for (int r = 0; r < world; ++r) sum += part.of[r][rank * args.m * args.n + i];
    args.out[i] = __float2bfloat16(sum);
  }
  rank_barrier(flags, rank, world, 2 * call);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        part_(rank, static_cast<size_t>(world_ * args.m * args.n) * sizeof(float)),
        flags_(rank, sizeof(uint32_t) * fabricbench::kMostRanks) {}

  void run(const Args& args, cudaStream_t stream) {
    const int64_t tiles = (world_ * args.m + kTileRows - 1) / kTileRows * ((args.n + kTileColumns - 1) / kTileColumns);
    multiply<<<static_cast<unsigned>(tiles), kTileThreads, 0, stream>>>(args, part_.mine<float>(), world_);
    pull<<<1, kThreads, 0, stream>>>(args, part_.peers<const float>(), flags_.peers<uint32_t>(), rank_, world_,
                                     ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory part_, flags_;
};
// [/solution]
