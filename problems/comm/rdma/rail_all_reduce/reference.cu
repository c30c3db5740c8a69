#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

constexpr int kMostLocal = 8;  // ranks of one node

// Where this rank is: ranks 0 to world / 2 - 1 are on the first node, the others on the second one.
struct Place {
  explicit Place(const fabricbench::Rank& rank)
      : ranks(rank.world() / 2),
        local(rank.rank() % ranks),
        first(rank.rank() - local),
        partner((rank.rank() + ranks) % rank.world()) {}
  int ranks;    // of this node
  int local;    // this one among them
  int first;    // the node's rank with the local number 0
  int partner;  // the rank of the other node that has the same local number
};

// A pointer for each rank of the node, by its local number; small enough to be a kernel's parameter.
template <class T>
struct Neighbours {
  T* of[kMostLocal];
};

// Maps memory of all ranks of this rank's node (CUDA IPC). `memory` is the begin of an allocation, which the caller
// keeps. Collective: all ranks of both nodes make one.
class NodeMemory {
 public:
  NodeMemory(const fabricbench::Rank& rank, const Place& place, const void* memory) : rank_(rank), place_(place) {
    cudaIpcMemHandle_t handle;
    fabricbench::check_cuda(cudaIpcGetMemHandle(&handle, const_cast<void*>(memory)), "cudaIpcGetMemHandle");
    const auto handles = rank.all_gather(handle);
    for (int peer = 0; peer < place.ranks; ++peer) {
      pointers_[peer] = const_cast<void*>(memory);
      if (peer == place.local) continue;
      fabricbench::check_cuda(cudaIpcOpenMemHandle(&pointers_[peer], handles[static_cast<size_t>(place.first + peer)],
                                                   cudaIpcMemLazyEnablePeerAccess),
                              "cudaIpcOpenMemHandle");
    }
  }
  // Behind this the memory may be freed: no rank has it mapped any more.
  ~NodeMemory() {
    for (int peer = 0; peer < place_.ranks; ++peer) {
      if (peer != place_.local) cudaIpcCloseMemHandle(pointers_[peer]);
    }
    if (std::uncaught_exceptions() == 0) rank_.barrier();
  }
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  template <class T>
  Neighbours<T> all() const {
    Neighbours<T> typed{};
    for (int peer = 0; peer < place_.ranks; ++peer) typed.of[peer] = static_cast<T*>(pointers_[peer]);
    return typed;
  }

 private:
  const fabricbench::Rank& rank_;
  Place place_;
  void* pointers_[kMostLocal] = {};
};

// [solution]
constexpr int kBlocks = 24;  // all resident at once: they wait for blocks of other ranks
constexpr int kThreads = 512;
constexpr int kMostChunks = 2;

// One word per block and neighbour, written by that neighbour only.
struct Flags {
  uint32_t from[kBlocks][kMostLocal];
};

struct Team {
  Neighbours<Flags> flags;
  int local, ranks;

  // The neighbours in an order that begins with this rank, so that not all of them go to the same one first.
  __device__ int peer(int step) const { return local + step < ranks ? local + step : local + step - ranks; }
};

// A barrier of the blocks with one number on all ranks of the node. What they did before is visible afterwards.
__device__ void barrier(const Team& team, uint32_t epoch) {
  __syncthreads();
  if (const int peer = static_cast<int>(threadIdx.x); peer < team.ranks) {
    using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
    Flag(team.flags.of[peer]->from[blockIdx.x][team.local]).store(epoch, cuda::memory_order_release);
    const Flag theirs(team.flags.of[team.local]->from[blockIdx.x][peer]);
    while (static_cast<int32_t>(theirs.load(cuda::memory_order_acquire) - epoch) < 0) {
    }
  }
  __syncthreads();
}

// A part of the vectors: elements `begin` to `end`. `base` is where this rank's slice begins: its own buffers have no
// other elements. `begin` and `base` are multiples of 4, and `end` is one where it is not the vectors' end.
struct Chunk {
  int64_t begin, end, base;
};

// Calls work(index, index in the slice, one of T) for the chunk's groups of four floats, and for floats that fill none.
template <class Work>
__device__ void for_each(const Chunk& chunk, Work work) {
  const int64_t thread = blockIdx.x * int64_t{kThreads} + threadIdx.x, threads = gridDim.x * int64_t{kThreads};
  for (int64_t i = chunk.begin / 4 + thread; i < chunk.end / 4; i += threads) work(i, i - chunk.base / 4, float4{});
  for (int64_t i = chunk.end / 4 * 4 + thread; i < chunk.end; i += threads) work(i, i - chunk.base, float{});
}

__device__ float add(float a, float b) { return a + b; }
__device__ float4 add(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }

// Adds up the chunk of all inputs of the node, into `partial`.
__global__ void __launch_bounds__(kThreads)
    reduce(Team team, Neighbours<const float> in, float* partial, Chunk chunk, uint32_t enter) {
  if (enter != 0) barrier(team, enter);  // the neighbours' inputs are there, and their outputs may be written
  for_each(chunk, [&]<class T>(int64_t i, int64_t own, T) {
    T part[kMostLocal];  // all loads first: they are under way at the same time
#pragma unroll
    for (int step = 0; step < kMostLocal; ++step) {
      if (step < team.ranks) part[step] = reinterpret_cast<const T*>(in.of[team.peer(step)])[i];
    }
#pragma unroll
    for (int step = 1; step < kMostLocal; ++step) {
      if (step < team.ranks) part[0] = add(part[0], part[step]);
    }
    reinterpret_cast<T*>(partial)[own] = part[0];
  });
}

// Adds the sums of both nodes, and puts them into all outputs of this node. The other node adds the same two numbers.
__global__ void __launch_bounds__(kThreads)
    spread(Team team, const float* partial, const float* inbox, Neighbours<float> out, Chunk chunk, uint32_t leave) {
  for_each(chunk, [&]<class T>(int64_t i, int64_t own, T) {
    const T sum = add(reinterpret_cast<const T*>(partial)[own], reinterpret_cast<const T*>(inbox)[own]);
    for (int step = 0; step < team.ranks; ++step) reinterpret_cast<T*>(out.of[team.peer(step)])[i] = sum;
  });
  if (leave != 0) barrier(team, leave);  // the neighbours have read my input and written my output
}

// Device memory; declared before what maps or registers it.
struct Buffer {
  explicit Buffer(size_t bytes) {
    fabricbench::check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(memory, 0, bytes), "cudaMemset");
    fabricbench::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~Buffer() { cudaFree(memory); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* memory = nullptr;
};

// What the partner must know: where it may write, and the queue pair.
struct Door {
  uint64_t address;
  uint32_t key;
  fabricbench::Endpoint rail;
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : place_(rank),
        n_(args.n),
        // Slices are whole groups of four floats, so that every access but those to the last floats has 16 bytes. A
        // chunk more costs two launches, so they are not small.
        slice_((n_ / 4 + place_.ranks - 1) / place_.ranks),
        chunks_(std::clamp<int64_t>(slice_ / 2048, 1, kMostChunks)),
        words_(sizeof(Flags)),
        partial_(bytes()),
        inbox_(2 * bytes()),
        flags_(rank, place_, words_.memory),
        inputs_(rank, place_, args.in),
        outputs_(rank, place_, args.out),
        card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 64, nullptr, nullptr, 0), "ibv_create_cq")),
        source_(card_.reg(partial_.memory, bytes())),
        target_(card_.reg(inbox_.memory, 2 * bytes())),
        rail_(card_.make_rc(queue_.get())) {
    const auto psn = static_cast<uint32_t>(rank.rank());
    const Door mine = {reinterpret_cast<uint64_t>(inbox_.memory), target_->rkey, card_.endpoint_of(*rail_, psn)};
    partner_ = rank.all_gather(mine)[static_cast<size_t>(place_.partner)];
    // The partner is ahead by one call at most, because each call needs our data: so many messages may come early.
    for (int64_t i = 0; i < 2 * chunks_; ++i) post_receive();
    fabricbench::connect_rc(*rail_, psn, partner_.rail);
    for (cudaEvent_t& event : reduced_)
      fabricbench::check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  }
  ~Solution() {
    for (cudaEvent_t event : reduced_) cudaEventDestroy(event);
  }

  void run(const Args&, cudaStream_t stream) {
    ++call_;
    // Two meetings in a call, with growing numbers that may wrap around, and are never 0.
    const auto enter = static_cast<uint32_t>(4 * call_ + 1), leave = enter + 2;
    const Team team = {flags_.all<Flags>(), place_.local, place_.ranks};
    // The same on all ranks: block b waits for block b.
    const auto blocks = static_cast<int>(std::clamp<int64_t>(slice_ / chunks_ / kThreads, 1, kBlocks));
    auto* const partial = static_cast<float*>(partial_.memory);
    // Two inboxes take turns. We have had the partner's data of the last call, so it has left the call before that:
    // its inbox of that call is free, and needs no message that says so.
    const uint64_t turn = static_cast<uint64_t>(call_ % 2) * bytes();
    for (int64_t c = 0; c < chunks_; ++c) {
      reduce<<<blocks, kThreads, 0, stream>>>(team, inputs_.all<const float>(), partial, chunk(c), c == 0 ? enter : 0);
      fabricbench::check_cuda(cudaEventRecord(reduced_[c], stream), "cudaEventRecord");
    }
    for (int64_t c = 0; c < chunks_; ++c) {
      // A card knows nothing of streams. Behind this wait the sums are in memory, and our stream has ended the call
      // before, so that our own inbox of that call is free as well.
      fabricbench::check_cuda(cudaEventSynchronize(reduced_[c]), "cudaEventSynchronize");
      send(chunk(c), turn, c + 1 == chunks_);
    }
    // The chunks come in the order in which they were sent: it is one queue pair.
    for (int64_t c = 0; c < chunks_; ++c) {
      await(arrived_, (call_ - 1) * chunks_ + c + 1);
      const auto* const inbox = reinterpret_cast<const float*>(static_cast<char*>(inbox_.memory) + turn);
      spread<<<blocks, kThreads, 0, stream>>>(team, partial, inbox, outputs_.all<float>(), chunk(c),
                                              c + 1 == chunks_ ? leave : 0);
    }
    await(sent_, call_);  // the card has read all sums: the next call may overwrite them
  }

 private:
  // Room of a slice, and of the last floats, on every rank.
  size_t bytes() const { return sizeof(float) * static_cast<size_t>(4 * slice_ + 4); }

  // Where a chunk of this rank's slice begins. The floats that fill no group of four are in the last chunk of all.
  int64_t begin_of(int64_t c) const {
    if (place_.local == place_.ranks - 1 && c == chunks_) return n_;
    return 4 * std::min(place_.local * slice_ + c * slice_ / chunks_, n_ / 4);
  }
  Chunk chunk(int64_t c) const { return {begin_of(c), begin_of(c + 1), begin_of(0)}; }

  void post_receive() {
    ibv_recv_wr work = {}, *bad = nullptr;  // no memory: a write goes where the writer says
    fabricbench::check_verbs(ibv_post_recv(rail_.get(), &work, &bad), "ibv_post_recv");
  }

  // Writes into the partner's inbox; the immediate value makes a completion there. A chunk may be empty. Only the last
  // one is signalled: its completion says that those before are complete, and frees their places in the queue.
  void send(const Chunk& part, uint64_t turn, bool last) {
    const uint64_t offset = sizeof(float) * static_cast<uint64_t>(part.begin - part.base);
    ibv_sge piece = {reinterpret_cast<uint64_t>(partial_.memory) + offset,
                     static_cast<uint32_t>(sizeof(float) * (part.end - part.begin)), source_->lkey};
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.send_flags = last ? IBV_SEND_SIGNALED : 0;
    work.wr.rdma = {partner_.address + turn + offset, partner_.key};
    fabricbench::check_verbs(ibv_post_send(rail_.get(), &work, &bad), "ibv_post_send");
  }

  // Until a counter has come so far. A receive is posted again at once: the next call's message may be on its way.
  void await(int64_t& counter, int64_t until) {
    while (counter < until) {
      const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
      if ((done.opcode & IBV_WC_RECV) != 0) {
        ++arrived_;
        post_receive();
      } else {
        ++sent_;
      }
    }
  }

  Place place_;
  int64_t n_, slice_, chunks_;  // a slice is counted in groups of four floats
  Buffer words_, partial_, inbox_;
  NodeMemory flags_, inputs_, outputs_;
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion source_, target_;
  fabricbench::QueuePair rail_;
  Door partner_ = {};
  cudaEvent_t reduced_[kMostChunks] = {};
  int64_t call_ = 0, arrived_ = 0, sent_ = 0;  // sent_: calls whose last chunk is complete
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: map memory of the neighbours, connect with the partner
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: add up inside the node, over the rail, and spread
//|   }
//| };
// [/solution]
