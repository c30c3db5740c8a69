#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;

constexpr int kBlocks = 24;  // all resident at once: they wait for each other
constexpr int kThreads = 512;
constexpr int kMostWorld = 8;

// One word per block and peer, written by that peer only.
struct Flags {
  uint32_t from[kBlocks][kMostWorld];
};

struct Team {
  Peers<Flags> flags;
  int rank, world;

  // The ranks in an order that begins with this one, so that not all of them go to rank 0 first.
  __device__ int peer(int step) const { return rank + step < world ? rank + step : rank + step - world; }
};

// A barrier of the blocks with one number on all ranks. Everything a block did before, in whatever memory, is visible
// to the others after it: the barrier of the block orders its threads' accesses before the fence, at system scope,
// and the flags come behind it.
__device__ void barrier(const Team& team, uint32_t epoch) {
  __syncthreads();
  if (const int peer = threadIdx.x; peer < team.world) {
    using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    Flag(team.flags.of[peer]->from[blockIdx.x][team.rank]).store(epoch, cuda::memory_order_relaxed);
    const Flag theirs(team.flags.of[team.rank]->from[blockIdx.x][peer]);
    // The difference is signed, so that epochs may wrap around.
    while (static_cast<int32_t>(theirs.load(cuda::memory_order_acquire) - epoch) < 0) {
    }
  }
  __syncthreads();
}

// Reduces the elements at `index` of all inputs (T: one float or four) and puts the sum into all outputs. The owner of
// an element adds it up for all ranks, so all ranks get the same bits.
template <class T, class Add>
__device__ void reduce_and_spread(const Team& team, const Peers<const float>& in, const Peers<float>& out,
                                  int64_t index, Add add) {
  // All loads first: they are under way at the same time.
  T part[kMostWorld];
#pragma unroll
  for (int step = 0; step < kMostWorld; ++step) {
    if (step < team.world) part[step] = reinterpret_cast<const T*>(in.of[team.peer(step)])[index];
  }
#pragma unroll
  for (int step = 1; step < kMostWorld; ++step) {
    if (step < team.world) part[0] = add(part[0], part[step]);
  }
  for (int step = 0; step < team.world; ++step) reinterpret_cast<T*>(out.of[team.peer(step)])[index] = part[0];
}

__global__ void __launch_bounds__(kThreads)
    two_shot(Team team, Peers<const float> in, Peers<float> out, int64_t n, uint32_t epoch) {
  // Every rank has come to this call: its input is there, and its output may be written.
  barrier(team, 2 * epoch - 1);

  // Slices are whole groups of four floats, so that every access but those to the last floats has 16 bytes.
  const int64_t quads = n / 4;
  const int64_t begin = quads * team.rank / team.world, end = quads * (team.rank + 1) / team.world;
  const int64_t thread = blockIdx.x * int64_t{kThreads} + threadIdx.x, threads = gridDim.x * int64_t{kThreads};
  for (int64_t i = begin + thread; i < end; i += threads) {
    reduce_and_spread<float4>(
        team, in, out, i, [](float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); });
  }
  // Up to three floats are left: dealt out to the ranks one by one.
  for (int64_t i = 4 * quads + team.rank + thread * team.world; i < n; i += threads * team.world) {
    reduce_and_spread<float>(team, in, out, i, [](float a, float b) { return a + b; });
  }

  // Every rank has read my input and written my output.
  barrier(team, 2 * epoch);
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(Flags)),
        inputs_(rank, args.in),
        outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    // The same on all ranks: block b waits for block b.
    const int64_t slice = args.n / 4 / world_ + 1;
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (slice + kThreads - 1) / kThreads));
    two_shot<<<blocks, kThreads, 0, stream>>>(Team{flags_.peers<Flags>(), rank_, world_}, inputs_.peers<const float>(),
                                              outputs_.peers<float>(), args.n, ++epoch_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  fabricbench::PeerMemory flags_, inputs_, outputs_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the all-reduce
//|   }
//| };
// [/solution]
