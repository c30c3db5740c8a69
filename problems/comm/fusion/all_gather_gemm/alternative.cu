// [solution]
// Not overlapped and nothing is sent: between two barriers, tiles read the rows of peers where they are.
using fabricbench::Peers;

constexpr int kBlocks = 8;

__device__ void barrier(const Peers<uint32_t>& flags, int rank, int world, uint32_t epoch) {
  using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  __syncthreads();
  if (const int peer = threadIdx.x; peer < world) {
    Flag(flags.of[peer][blockIdx.x * world + rank]).store(epoch, cuda::memory_order_release);
    while (Flag(flags.of[rank][blockIdx.x * world + peer]).load(cuda::memory_order_acquire) < epoch) {
    }
  }
  __syncthreads();
}

__global__ void gemm_of_peers(Args args, Peers<const bf16> a, Peers<uint32_t> flags, int rank, int world,
                              uint32_t call) {
  __shared__ TileBuffers buffers;
  barrier(flags, rank, world, 2 * call - 1);
  const int m = static_cast<int>(args.m), n = static_cast<int>(args.n), k = static_cast<int>(args.k);
  const int stripes = (m + kTileRows - 1) / kTileRows, columns = (n + kTileColumns - 1) / kTileColumns;
  for (int tile = static_cast<int>(blockIdx.x); tile < world * stripes * columns; tile += kBlocks) {
    const int source = tile / columns / stripes, row = tile / columns % stripes * kTileRows;
    const int column = tile % columns * kTileColumns, rows = min(kTileRows, m - row);
    float sums[kTileSums];
    multiply_tile(buffers, a.of[source] + int64_t{row} * k, k, rows, args.b + int64_t{column} * k, k, n - column, k,
                  sums);
    for (int i = 0; i < kTileSums; ++i) {
      const int r = tile_row(i), c = column + tile_column(i);
      if (r < rows && c < n) args.c[(int64_t{source} * m + row + r) * n + c] = __float2bfloat16(sums[i]);
    }
  }
  barrier(flags, rank, world, 2 * call);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        a_(rank, args.a),
        flags_(rank, sizeof(uint32_t) * kBlocks * fabricbench::kMostRanks) {}

  void run(const Args& args, cudaStream_t stream) {
    gemm_of_peers<<<kBlocks, kTileThreads, 0, stream>>>(args, a_.peers<const bf16>(), flags_.peers<uint32_t>(), rank_,
                                                        world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory a_, flags_;
};
// [/solution]
