// The other way round: every rank pushes its input into a slot of each peer, and adds up what has come to its own
// slots.
// [solution]
using fabricbench::Peers;

// Two sets of slots, used in turn: a rank that is one call ahead writes the other set. It can't be two ahead, because
// it waits for all ranks' data of the call before.
struct Signals {
  uint32_t arrived[2][fabricbench::kMostRanks];
};

__global__ void push_and_add(Peers<Signals> signals, Peers<float> slots, const float* in, float* out, int64_t n,
                             int rank, int world, uint32_t call) {
  using Signal = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  const int set = call % 2;
  for (int peer = 0; peer < world; ++peer) {
    float* slot = slots.of[peer] + (static_cast<int64_t>(set) * world + rank) * n;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) slot[i] = in[i];
  }
  __syncthreads();
  if (threadIdx.x < world) {
    Signal(signals.of[threadIdx.x]->arrived[set][rank]).store(call, cuda::memory_order_release);
    while (Signal(signals.of[rank]->arrived[set][threadIdx.x]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();
  const float* mine = slots.of[rank] + static_cast<int64_t>(set) * world * n;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    float sum = 0;
    for (int peer = world; peer-- > 0;) sum += mine[peer * n + i];
    out[i] = sum;
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        signals_(rank, sizeof(Signals)),
        slots_(rank, 2 * sizeof(float) * static_cast<size_t>(args.n) * static_cast<size_t>(rank.world())) {}

  void run(const Args& args, cudaStream_t stream) {
    push_and_add<<<1, 1024, 0, stream>>>(signals_.peers<Signals>(), slots_.peers<float>(), args.in, args.out, args.n,
                                         rank_, world_, ++call_);
  }

 private:
  int rank_, world_;
  uint32_t call_ = 0;
  fabricbench::PeerMemory signals_, slots_;
};
// [/solution]
