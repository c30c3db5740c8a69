// [solution]
#include <fabricbench/rank_barrier.h>

// Ranks read lists of neighbours where they are, without requests. The first occurrence of each node is kept in an
// array of all nodes of the graph; one block gives out the numbers. Barriers of all ranks are kernels.
using fabricbench::Peers;

constexpr int kThreads = 128, kScan = 512, kWarp = 32;

__device__ uint32_t mix(uint32_t x) {
  x = (x ^ x >> 16) * 0x85EBCA6B;
  x = (x ^ x >> 13) * 0xC2B2AE35;
  return x ^ x >> 16;
}

// state: nodes and edges so far, and where the nodes begin whose neighbours are wanted.
__global__ void start(const int32_t* seed, int32_t* node, int32_t* first, int32_t* local, int32_t* state,
                      int32_t seeds) {
  const auto i = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (i == 0) {
    state[0] = seeds;
    state[1] = state[2] = 0;
  }
  if (i >= seeds) return;
  node[i] = seed[i];
  first[seed[i]] = -1;
  local[seed[i]] = i;
}

// A thread for each sample, of as many as there can be.
__global__ void expand(const int32_t* state, const int32_t* node, const uint32_t* salt, Peers<const int32_t> offsets,
                       Peers<const int32_t> neighbour, int2* sample, int32_t* first, int32_t most, int32_t fanout,
                       int32_t nodes, int32_t edges, int32_t order) {
  const auto t = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (t >= most) return;
  sample[t] = {-1, -1};
  const int32_t i = state[2] + t / fanout, j = t % fanout;
  if (i >= state[0]) return;
  const int32_t v = node[i], owner = v / nodes, begin = offsets.of[owner][v % nodes];
  const int32_t degree = offsets.of[owner][v % nodes + 1] - begin;
  if (j >= degree) return;
  int32_t at = j;
  if (degree > fanout) {
    at = j * degree / fanout;
    const auto stratum = static_cast<uint32_t>((j + 1) * degree / fanout - at);
    const uint32_t hash = mix(mix(*salt + static_cast<uint32_t>(v)) + static_cast<uint32_t>(j));
    at += static_cast<int32_t>(hash % stratum);
  }
  const int32_t u = neighbour.of[owner][begin + at];
  sample[t] = {u, owner * edges + begin + at};
  atomicMin(&first[u], order + t);
}

// One block, a part of the samples at a time.
__global__ void __launch_bounds__(kScan)
    number(int32_t* state, const int2* sample, const int32_t* first, int32_t* local, int32_t* counts, int32_t* node,
           int32_t* row, int32_t* col, int32_t* edge, int32_t most, int32_t fanout, int32_t order) {
  __shared__ int32_t of_warp[2][kScan / kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  int32_t nodes = state[0], edges = state[1];
  const int32_t begin = state[2], end = nodes;
  for (int32_t base = 0; base < most; base += kScan) {
    const int32_t t = base + static_cast<int32_t>(threadIdx.x);
    const int2 mine = t < most ? sample[t] : make_int2(-1, -1);
    const bool real = mine.x >= 0, fresh = real && first[mine.x] == order + t;
    const unsigned reals = __ballot_sync(~0u, real), freshes = __ballot_sync(~0u, fresh);
    if (lane == 0) {
      of_warp[0][warp] = __popc(freshes);
      of_warp[1][warp] = __popc(reals);
    }
    __syncthreads();
    const unsigned lower = (1u << lane) - 1;
    int32_t n = nodes + __popc(freshes & lower), e = edges + __popc(reals & lower);
    for (int w = 0; w < kScan / kWarp; ++w) {
      n += w < warp ? of_warp[0][w] : 0;
      e += w < warp ? of_warp[1][w] : 0;
      nodes += of_warp[0][w];
      edges += of_warp[1][w];
    }
    if (fresh) {
      node[n] = mine.x;
      local[mine.x] = n;
    }
    if (real) {
      row[e] = mine.x;  // its local number may not be known yet
      col[e] = begin + t / fanout;
      edge[e] = mine.y;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    counts[0] = state[0] = nodes;
    counts[2] = state[1] = edges;
    state[2] = end;
  }
}

// Local numbers, and -1 behind everything.
__global__ void finish(const int32_t* state, const int32_t* local, int32_t* node, int32_t* row, int32_t* col,
                       int32_t* edge, int32_t most_nodes, int32_t most_edges) {
  const auto i = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (i >= state[0] && i < most_nodes) node[i] = -1;
  if (i < state[1]) {
    row[i] = local[row[i]];
  } else if (i < most_edges) {
    row[i] = col[i] = edge[i] = -1;
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, fabricbench::kMostRanks * sizeof(uint32_t)),
        offsets_(rank, args.offsets),
        neighbours_(rank, args.neighbour) {
    const auto all = static_cast<size_t>(world_ * args.nodes);
    fabricbench::check_cuda(cudaMalloc(&first_, all * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&local_, all * sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&state_, 3 * sizeof(int32_t)));
    fabricbench::check_cuda(
        cudaMalloc(&sample_, static_cast<size_t>(args.seeds * args.first_fanout * args.second_fanout) * sizeof(int2)));
  }
  ~Solution() {
    cudaFree(first_);
    cudaFree(local_);
    cudaFree(state_);
    cudaFree(sample_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto seeds = static_cast<int32_t>(args.seeds), first = seeds * static_cast<int32_t>(args.first_fanout);
    const int32_t second = first * static_cast<int32_t>(args.second_fanout);
    // Bytes of 0x7F: numbers larger than that of any sample.
    fabricbench::check_cuda(
        cudaMemsetAsync(first_, 0x7F, static_cast<size_t>(world_ * args.nodes) * sizeof(int32_t), stream));
    start<<<blocks(seeds), kThreads, 0, stream>>>(args.seed, args.node, first_, local_, state_, seeds);
    // all have begun
    fabricbench::rank_barrier_kernel<<<1, static_cast<unsigned>(world_), 0, stream>>>(flags_.peers<uint32_t>(), rank_,
                                                                                      ++round_);
    hop(args, args.counts, first, args.first_fanout, 0, stream);
    hop(args, args.counts + 1, second, args.second_fanout, first, stream);
    finish<<<blocks(seeds + first + second), kThreads, 0, stream>>>(state_, local_, args.node, args.row, args.col,
                                                                    args.edge, seeds + first + second, first + second);
    // all have read
    fabricbench::rank_barrier_kernel<<<1, static_cast<unsigned>(world_), 0, stream>>>(flags_.peers<uint32_t>(), rank_,
                                                                                      ++round_);
  }

 private:
  static unsigned blocks(int32_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }
  void hop(const Args& args, int32_t* counts, int32_t most, int64_t fanout, int32_t order, cudaStream_t stream) {
    expand<<<blocks(most), kThreads, 0, stream>>>(state_, args.node, args.salt, offsets_.peers<const int32_t>(),
                                                  neighbours_.peers<const int32_t>(), sample_, first_, most,
                                                  static_cast<int32_t>(fanout), static_cast<int32_t>(args.nodes),
                                                  static_cast<int32_t>(args.edges), order);
    number<<<1, kScan, 0, stream>>>(state_, sample_, first_, local_, counts, args.node, args.row, args.col, args.edge,
                                    most, static_cast<int32_t>(fanout), order);
  }

  int rank_, world_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory flags_, offsets_, neighbours_;
  int32_t *first_ = nullptr, *local_ = nullptr, *state_ = nullptr;
  int2* sample_ = nullptr;
};
// [/solution]
