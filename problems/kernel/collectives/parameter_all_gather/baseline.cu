// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

#include <algorithm>

constexpr int kThreads = 256, kBatch = 4, kParameters = 5;

// A parameter, in quads of 16 bytes: where its chunk begins in a shard, how long a chunk is, and how long all of it is.
struct Parameter {
  int4* out;
  int64_t before, chunk, quads;
};
struct Parameters {
  Parameter of[kParameters];
};

// Copies the parameters out of the gathered shards. Grid: (any, world, parameters).
__global__ void __launch_bounds__(kThreads) copy_out(const int4* gathered, Parameters parameters, int64_t shard) {
  const Parameter p = parameters.of[blockIdx.z];
  const int64_t rank = blockIdx.y, first = rank * p.chunk, count = min(p.chunk, p.quads - first);
  const int4* from = gathered + rank * shard + p.before;
  constexpr int64_t kStep = kThreads * kBatch;
  for (int64_t i = blockIdx.x * kStep + threadIdx.x; i < count; i += gridDim.x * kStep) {
    int4 value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (i + k * kThreads < count) value[k] = __ldg(from + i + k * kThreads);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (i + k * kThreads < count) p.out[first + i + k * kThreads] = value[k];
    }
  }
}

// NCCL gathers the flat shards, then a kernel copies the chunks of all parameters into place.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : world_(rank.world()), comm_(rank) {
    int64_t longest = 0;
    auto add = [&, p = 0](__nv_bfloat16* out, int64_t rows) mutable {
      const int64_t quads = args.hidden / 8, chunk = (rows + world_ - 1) / world_ * quads;
      parameters_.of[p++] = {reinterpret_cast<int4*>(out), shard_, chunk, rows * quads};
      shard_ += chunk;
      longest = std::max(longest, chunk);
    };
    add(args.qkv, args.qkv_rows);
    add(args.proj, args.proj_rows);
    add(args.gate_up, args.gate_up_rows);
    add(args.down, args.down_rows);
    add(args.norm, args.norm_rows);
    blocks_ = std::min<int64_t>(132, (longest + kThreads * kBatch - 1) / (kThreads * kBatch));
    fabricbench::check_cuda(cudaMalloc(&gathered_, static_cast<size_t>(world_ * shard_) * sizeof(int4)));
  }
  ~Solution() { cudaFree(gathered_); }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_nccl(
        ncclAllGather(args.shard, gathered_, static_cast<size_t>(8 * shard_), ncclBfloat16, comm_, stream));
    const dim3 grid(static_cast<unsigned>(blocks_), static_cast<unsigned>(world_), kParameters);
    copy_out<<<grid, kThreads, 0, stream>>>(gathered_, parameters_, shard_);
  }

 private:
  int world_;
  int64_t shard_ = 0, blocks_;
  Parameters parameters_;
  fabricbench::NcclCommunicator comm_;
  int4* gathered_ = nullptr;
};
// [/solution]
