// [solution]
#include <fabricbench/rank_barrier.h>
#include <vector>

// Pulled: between two barriers, each rank reads the routing of all ranks, finds the rows it gets, and fetches them.
using fabricbench::Peers;
using fabricbench::rank_barrier;

constexpr int kThreads = 256;

struct Source {
  const int* count;
  const uint4* x;
  const int* topk;
  const float* weight;
};

__global__ void pull(Args args, const Source* sources, Peers<uint32_t> flags, int rank, int world, uint32_t call) {
  const int k = static_cast<int>(args.k), local = static_cast<int>(args.experts) / world;
  const int64_t vectors = args.hidden / 8;
  for (int64_t e = threadIdx.x; e < local; e += kThreads) args.expert_count[e] = 0;
  rank_barrier(flags, rank, world, 2 * call - 1);

  int64_t row = 0;  // the same in all threads
  for (int s = 0; s < world; ++s) {
    const Source source = sources[s];
    if (threadIdx.x == 0) args.recv_from[s] = static_cast<int>(row);
    for (int64_t first = 0; first < *source.count; first += kThreads) {
      // Which of the next tokens come here?
      const int64_t mine = first + threadIdx.x;
      bool comes = false;
      for (int j = 0; mine < *source.count && j < k; ++j) {
        const int expert = source.topk[mine * k + j];
        comes |= expert >= 0 && expert / local == rank;
      }
      __shared__ bool wanted[kThreads];
      __syncthreads();
      wanted[threadIdx.x] = comes;
      __syncthreads();
      for (int t = 0; t < kThreads; ++t) {
        if (!wanted[t]) continue;
        const int64_t token = first + t;
        for (int64_t i = threadIdx.x; i < vectors; i += kThreads) {
          reinterpret_cast<uint4*>(args.recv_x)[row * vectors + i] = source.x[token * vectors + i];
        }
        if (const int j = threadIdx.x; j < k) {
          const int expert = source.topk[token * k + j];
          const bool owned = expert >= 0 && expert / local == rank;
          args.recv_topk[row * k + j] = owned ? expert % local : -1;
          args.recv_weight[row * k + j] = owned ? source.weight[token * k + j] : 0;
          if (owned) atomicAdd(&args.expert_count[expert % local], 1);
        }
        if (threadIdx.x == 0) args.recv_token[row] = static_cast<int>(token);
        ++row;
      }
    }
  }
  if (threadIdx.x == 0) args.recv_from[world] = static_cast<int>(row);
  rank_barrier(flags, rank, world, 2 * call);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        count_(rank, args.count),
        x_(rank, args.x),
        topk_(rank, args.topk),
        weight_(rank, args.weight),
        flags_(rank, sizeof(uint32_t) * fabricbench::kMostRanks) {
    std::vector<Source> sources;
    for (int r = 0; r < world_; ++r) {
      sources.push_back(
          {count_.at<const int>(r), x_.at<const uint4>(r), topk_.at<const int>(r), weight_.at<const float>(r)});
    }
    fabricbench::check_cuda(cudaMalloc(&sources_, sources.size() * sizeof(Source)), "cudaMalloc");
    fabricbench::check_cuda(
        cudaMemcpy(sources_, sources.data(), sources.size() * sizeof(Source), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~Solution() { cudaFree(sources_); }

  void run(const Args& args, cudaStream_t stream) {
    pull<<<1, kThreads, 0, stream>>>(args, sources_, flags_.peers<uint32_t>(), rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  Source* sources_ = nullptr;
  fabricbench::PeerMemory count_, x_, topk_, weight_, flags_;
};
// [/solution]
