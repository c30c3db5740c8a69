#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kWarp = 32, kWarps = 32, kThreads = 256, kMostWorld = 8;

__device__ uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x85EBCA6B;
  x ^= x >> 13;
  x *= 0xC2B2AE35;
  return x ^ x >> 16;
}

// Nodes that this rank knows: open addressing, keys of -1 are free.
struct Table {
  int32_t *key, *first, *local;  // a node, the first place at which it occurs, its local number
  uint32_t mask;

  __device__ int32_t enter(int32_t node) const {
    uint32_t slot = mix(static_cast<uint32_t>(node)) & mask;
    while (true) {
      const int32_t was = atomicCAS(&key[slot], -1, node);
      if (was == -1 || was == node) return static_cast<int32_t>(slot);
      slot = (slot + 1) & mask;
    }
  }
};

// How many nodes and edges there are after a number of hops.
struct Progress {
  int32_t nodes, edges;
};

// Everything as it is before the first hop.
__global__ void clear(const int32_t* seed, Table table, Progress* progress, int32_t* node, int32_t* row, int32_t* col,
                      int32_t* edge, int64_t seeds, int64_t most_nodes, int64_t most_edges) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i == 0) progress[0] = {static_cast<int32_t>(seeds), 0};
  if (i <= table.mask) {
    table.key[i] = -1;
    table.first[i] = INT32_MAX;
  }
  if (i < most_nodes) node[i] = i < seeds ? seed[i] : -1;
  if (i < most_edges) row[i] = col[i] = edge[i] = -1;
}

__global__ void enter_seeds(const int32_t* seed, Table table, int64_t seeds) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= seeds) return;
  const int32_t slot = table.enter(seed[i]);
  table.first[slot] = -1;  // before all edges
  table.local[slot] = static_cast<int32_t>(i);
}

__device__ int owner_of(const int32_t* node, int32_t i, int32_t end, uint32_t nodes, int world) {
  return i < end ? static_cast<int>(static_cast<uint32_t>(node[i]) / nodes) : world;
}

// The nodes that the last hop has added, grouped by owner in a stable order, the place of each of them in it, and how
// many each owner has. One block: each warp takes a run of nodes, counts them, and adds up what earlier warps counted.
__global__ void __launch_bounds__(kWarp* kWarps)
    group(const Progress* progress, int hop, const int32_t* node, const uint32_t* salt, int32_t* place,
          int32_t* grouped, int32_t* counts, uint32_t nodes, int world) {
  __shared__ int32_t next[kWarps][kMostWorld + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int32_t begin = hop == 0 ? 0 : progress[hop - 1].nodes, last = progress[hop].nodes;
  const int32_t run = (last - begin + kWarps - 1) / kWarps;
  const int32_t first = begin + warp * run, end = min(first + run, last);
  if (lane <= world) next[warp][lane] = 0;
  __syncwarp();
  for (int32_t i = first; i < end; i += kWarp) {
    const int owner = owner_of(node, i + lane, end, nodes, world);
    const unsigned same = __match_any_sync(~0u, owner);
    if ((same & ((1u << lane) - 1)) == 0) next[warp][owner] += __popc(same);
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int32_t sum = 0;
    for (int w = 0; w < world; ++w) {
      const int32_t before = sum;
      for (int k = 0; k < kWarps; ++k) {
        const int32_t count = next[k][w];
        next[k][w] = sum;
        sum += count;
      }
      counts[w] = sum - before;
    }
    counts[world] = static_cast<int32_t>(*salt);
  }
  __syncthreads();
  for (int32_t i = first; i < end; i += kWarp) {
    const int owner = owner_of(node, i + lane, end, nodes, world);
    const unsigned same = __match_any_sync(~0u, owner), before = same & ((1u << lane) - 1);
    if (owner < world) {
      const int32_t to = next[warp][owner] + __popc(before);
      place[i + lane - begin] = to;
      grouped[to] = node[i + lane];
    }
    __syncwarp();
    if (before == 0) next[warp][owner] += __popc(same);
    __syncwarp();
  }
}

// Where the questions of each rank end, and its salt.
struct Askers {
  int32_t end[kMostWorld];
  uint32_t salt[kMostWorld];
};

// The samples of the nodes that ranks have asked for: a neighbour and an edge each, -1 where there are fewer.
__global__ void draw(const int32_t* asked, Askers askers, const int32_t* offsets, const int32_t* neighbour,
                     int2* answer, int32_t count, int32_t fanout, int32_t first_node, int32_t first_edge) {
  const auto t = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x), i = t / fanout, j = t % fanout;
  if (i >= count) return;
  uint32_t salt = askers.salt[0];
#pragma unroll
  for (int r = 1; r < kMostWorld; ++r) salt = i >= askers.end[r - 1] ? askers.salt[r] : salt;
  const int32_t node = asked[i], begin = offsets[node - first_node];
  const int32_t degree = offsets[node - first_node + 1] - begin;
  int32_t position = j;
  if (degree > fanout) {
    const int32_t low = j * degree / fanout, high = (j + 1) * degree / fanout;
    const uint32_t hash = mix(mix(salt + static_cast<uint32_t>(node)) + static_cast<uint32_t>(j));
    position = low + static_cast<int32_t>(hash % static_cast<uint32_t>(high - low));
  }
  answer[t] =
      position < degree ? make_int2(neighbour[begin + position], first_edge + begin + position) : make_int2(-1, -1);
}

// Enters the sampled neighbours into the table, a thread for each sample. `slots`: where in the table they are.
__global__ void enter_samples(const int2* answer, const int32_t* place, Table table, int32_t* slots, int32_t samples,
                              int32_t fanout, int32_t order) {
  const auto t = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (t >= samples) return;
  const int32_t neighbour = answer[place[t / fanout] * fanout + t % fanout].x;
  int32_t slot = -1;
  if (neighbour >= 0) {
    slot = table.enter(neighbour);
    atomicMin(&table.first[slot], order + t);
  }
  slots[t] = slot;
}

// How many samples of each block are edges, and how many are new nodes.
__global__ void count(const int32_t* slots, Table table, Progress* of_block, int32_t samples, int32_t order) {
  const auto t = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  const int32_t slot = t < samples ? slots[t] : -1;
  const int edges = __syncthreads_count(slot >= 0);
  const int nodes = __syncthreads_count(slot >= 0 && table.first[max(slot, 0)] == order + t);
  if (threadIdx.x == 0) of_block[blockIdx.x] = {nodes, edges};
}

// Edges and new nodes behind those of earlier hops, blocks and threads.
__global__ void append(const int2* answer, const int32_t* place, const int32_t* slots, Table table,
                       const Progress* of_block, Progress* progress, int hop, int32_t* counts, int32_t* node,
                       int32_t* row, int32_t* col, int32_t* edge, int32_t samples, int32_t fanout, int32_t order) {
  __shared__ Progress before;
  __shared__ Progress of_warp[kThreads / kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const auto t = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (warp == 0) {
    Progress sum = {0, 0};
    for (int b = lane; b < static_cast<int>(blockIdx.x); b += kWarp) {
      sum.nodes += of_block[b].nodes;
      sum.edges += of_block[b].edges;
    }
    for (int step = kWarp / 2; step > 0; step /= 2) {
      sum.nodes += __shfl_down_sync(~0u, sum.nodes, step);
      sum.edges += __shfl_down_sync(~0u, sum.edges, step);
    }
    if (lane == 0) before = {progress[hop].nodes + sum.nodes, progress[hop].edges + sum.edges};
  }
  const int32_t slot = t < samples ? slots[t] : -1;
  const bool fresh = slot >= 0 && table.first[max(slot, 0)] == order + t;
  const unsigned edges = __ballot_sync(~0u, slot >= 0), nodes = __ballot_sync(~0u, fresh), lower = (1u << lane) - 1;
  if (lane == 0) of_warp[warp] = {__popc(nodes), __popc(edges)};
  __syncthreads();
  int32_t n = before.nodes + __popc(nodes & lower), e = before.edges + __popc(edges & lower);
  for (int w = 0; w < warp; ++w) {
    n += of_warp[w].nodes;
    e += of_warp[w].edges;
  }
  if (slot >= 0) {
    const int32_t i = t / fanout, begin = hop == 0 ? 0 : progress[hop - 1].nodes;
    row[e] = slot;  // for now
    col[e] = begin + i;
    edge[e] = answer[place[i] * fanout + t % fanout].y;
  }
  if (fresh) {
    node[n] = table.key[slot];
    table.local[slot] = n;
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == kThreads - 1) {
    progress[hop + 1] = {n + fresh, e + (slot >= 0)};
    counts[hop] = n + fresh;
    counts[2 + hop] = e + (slot >= 0);
  }
}

__global__ void relabel(const Progress* progress, Table table, int32_t* row) {
  const auto e = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (e < progress[2].edges) row[e] = table.local[row[e]];
}

// Asks the owners of nodes for samples, hop by hop, as frameworks do. NCCL needs counts on the host: all ranks gather
// all of them, and the host waits for them.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    most_edges_ = args.seeds * args.first_fanout * (1 + args.second_fanout);
    const int64_t most_asked = args.seeds * args.first_fanout;  // by a rank, in the second hop
    table_.mask = 1;
    while (table_.mask < 2 * (args.seeds + most_edges_)) table_.mask *= 2;
    allocate(table_.key, table_.mask);
    allocate(table_.first, table_.mask);
    allocate(table_.local, table_.mask);
    --table_.mask;
    allocate(progress_, 3);
    allocate(of_block_, most_edges_ / kThreads + 1);
    allocate(place_, most_asked);
    allocate(grouped_, most_asked);
    allocate(asked_, world_ * most_asked);
    allocate(answer_, world_ * most_edges_);
    allocate(got_, most_edges_);
    allocate(slots_, most_edges_);
    allocate(matrix_, (world_ + 1) * (world_ + 1));
    fabricbench::check_cuda(cudaMallocHost(&counts_, static_cast<size_t>(world_ * (world_ + 1)) * sizeof(int32_t)));
  }
  ~Solution() {
    for (void* memory :
         {static_cast<void*>(table_.key), static_cast<void*>(table_.first), static_cast<void*>(table_.local),
          static_cast<void*>(progress_), static_cast<void*>(of_block_), static_cast<void*>(place_),
          static_cast<void*>(grouped_), static_cast<void*>(asked_), static_cast<void*>(answer_),
          static_cast<void*>(got_), static_cast<void*>(slots_), static_cast<void*>(matrix_)})
      cudaFree(memory);
    cudaFreeHost(counts_);
  }

  void run(const Args& args, cudaStream_t stream) {
    clear<<<blocks(table_.mask), kThreads, 0, stream>>>(args.seed, table_, progress_, args.node, args.row, args.col,
                                                        args.edge, args.seeds, args.seeds + most_edges_, most_edges_);
    enter_seeds<<<blocks(args.seeds), kThreads, 0, stream>>>(args.seed, table_, args.seeds);
    take_hop(args, 0, static_cast<int32_t>(args.first_fanout), 0, stream);
    take_hop(args, 1, static_cast<int32_t>(args.second_fanout), static_cast<int32_t>(args.seeds * args.first_fanout),
             stream);
    relabel<<<blocks(most_edges_), kThreads, 0, stream>>>(progress_, table_, args.row);
  }

 private:
  template <class T>
  static void allocate(T*& memory, int64_t count) {
    fabricbench::check_cuda(cudaMalloc(&memory, static_cast<size_t>(count) * sizeof(T)));
  }
  // At least one.
  static unsigned blocks(int64_t threads) { return static_cast<unsigned>(threads / kThreads + 1); }

  // `order`: how many samples earlier hops may have had.
  void take_hop(const Args& args, int hop, int32_t fanout, int32_t order, cudaStream_t stream) {
    const int row = world_ + 1;  // counts of a rank, and its salt
    int32_t* own = matrix_ + world_ * row;
    group<<<1, kWarp * kWarps, 0, stream>>>(progress_, hop, args.node, args.salt, place_, grouped_, own,
                                            static_cast<uint32_t>(args.nodes), world_);
    fabricbench::check_nccl(ncclAllGather(own, matrix_, static_cast<size_t>(row), ncclInt32, comm_, stream));
    fabricbench::check_cuda(cudaMemcpyAsync(counts_, matrix_, static_cast<size_t>(world_ * row) * sizeof(int32_t),
                                            cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));

    Askers askers{};
    int32_t asked = 0, asks = 0;
    for (int peer = 0; peer < world_; ++peer) {
      asked += counts_[peer * row + rank_];
      asks += counts_[rank_ * row + peer];
      askers.end[peer] = asked;
      askers.salt[peer] = static_cast<uint32_t>(counts_[peer * row + world_]);
    }
    for (int peer = world_; peer < kMostWorld; ++peer) askers.end[peer] = askers.end[peer - 1];

    exchange(grouped_, asked_, 1, ncclInt32, false, stream);
    draw<<<blocks(int64_t{asked} * fanout), kThreads, 0, stream>>>(
        asked_, askers, args.offsets, args.neighbour, answer_, asked, fanout, static_cast<int32_t>(rank_ * args.nodes),
        static_cast<int32_t>(rank_ * args.edges));
    exchange(answer_, got_, fanout, ncclInt64, true, stream);
    const int32_t samples = asks * fanout;
    enter_samples<<<blocks(samples), kThreads, 0, stream>>>(got_, place_, table_, slots_, samples, fanout, order);
    count<<<blocks(samples), kThreads, 0, stream>>>(slots_, table_, of_block_, samples, order);
    append<<<blocks(samples), kThreads, 0, stream>>>(got_, place_, slots_, table_, of_block_, progress_, hop,
                                                     args.counts, args.node, args.row, args.col, args.edge, samples,
                                                     fanout, order);
  }

  // Sends questions to the owners, or, `back`, their answers: `width` words of each.
  template <class T>
  void exchange(const T* from, T* to, int64_t width, ncclDataType_t type, bool back, cudaStream_t stream) {
    const T* send = from;
    T* receive = to;
    fabricbench::check_nccl(ncclGroupStart());
    for (int peer = 0; peer < world_; ++peer) {
      const int64_t asks = counts_[rank_ * (world_ + 1) + peer], asked = counts_[peer * (world_ + 1) + rank_];
      const int64_t out = (back ? asked : asks) * width, in = (back ? asks : asked) * width;
      // No message of nothing: both sides know.
      if (out > 0) fabricbench::check_nccl(ncclSend(send, static_cast<size_t>(out), type, peer, comm_, stream));
      if (in > 0) fabricbench::check_nccl(ncclRecv(receive, static_cast<size_t>(in), type, peer, comm_, stream));
      send += out;
      receive += in;
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int64_t most_edges_ = 0;
  Table table_{};
  Progress *progress_ = nullptr, *of_block_ = nullptr;
  int32_t *place_ = nullptr, *grouped_ = nullptr, *asked_ = nullptr, *slots_ = nullptr;
  int2 *answer_ = nullptr, *got_ = nullptr;
  int32_t *matrix_ = nullptr, *counts_ = nullptr;  // [asker][owner], on the GPU and on the host
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the two hops
//|   }
//| };
// [/solution]
