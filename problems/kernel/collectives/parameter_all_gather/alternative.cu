// [solution]
#include <fabricbench/rank_barrier.h>

// Copy engines pull each rank's rows, between two kernels that are barriers of all ranks: the stream orders them all.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        words_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        shards_(rank, args.shard) {}

  void run(const Args& args, cudaStream_t stream) {
    // all shards are there
    fabricbench::rank_barrier_kernel<<<1, world_, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
    int64_t before = 0;
    const auto pull = [&](__nv_bfloat16* out, int64_t rows) {
      const int64_t chunk = (rows + world_ - 1) / world_;
      for (int step = 0; step < world_; ++step) {
        const int source = (rank_ + step) % world_;
        const int64_t first = source * chunk, count = std::min(chunk, rows - first);
        if (count <= 0) continue;
        fabricbench::check_cuda(cudaMemcpyAsync(
            out + first * args.hidden, shards_.at<__nv_bfloat16>(source) + before * args.hidden,
            static_cast<size_t>(count * args.hidden) * sizeof(__nv_bfloat16), cudaMemcpyDeviceToDevice, stream));
      }
      before += chunk;
    };
    pull(args.qkv, args.qkv_rows);
    pull(args.proj, args.proj_rows);
    pull(args.gate_up, args.gate_up_rows);
    pull(args.down, args.down_rows);
    pull(args.norm, args.norm_rows);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, world_, 0, stream>>>(words_.peers<uint32_t>(), rank_, ++round_);
  }

 private:
  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, shards_;
};
// [/solution]
