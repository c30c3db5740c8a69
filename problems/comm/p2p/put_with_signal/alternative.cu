// [solution]
// No slots: a rank announces to all that its outputs may be written, and chunks and tags are put there. The signals are
// one counter of arrived chunks. Three kernels, in the order of the stream.
using fabricbench::Peers;
using Counter = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

// counters.of[r]: element 0 counts chunks that arrived at r; element 1 + p is the call for which p is ready.
__global__ void announce(Peers<uint64_t> counters, int rank, uint64_t call) {
  Counter(counters.of[threadIdx.x][1 + rank]).store(call, cuda::memory_order_release);
}

__global__ void put(Peers<uint64_t> counters, Peers<uint32_t> out, Peers<uint32_t> seen, Args args, int rank,
                    uint64_t call) {
  const int receiver = *args.to;
  if (threadIdx.x == 0) {
    while (Counter(counters.of[rank][1 + receiver]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();
  const int64_t begin = blockIdx.x * args.chunk, end = min(begin + args.chunk, args.n);
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) out.of[receiver][i] = args.in[i];
  if (threadIdx.x == 0) seen.of[receiver][blockIdx.x] = args.tags[blockIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) Counter(counters.of[receiver][0]).fetch_add(1, cuda::memory_order_release);
}

__global__ void wait(uint64_t* arrived, uint64_t all) {
  while (Counter(*arrived).load(cuda::memory_order_acquire) < all) {
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        counters_(rank, (1 + static_cast<size_t>(world_)) * sizeof(uint64_t)),
        out_(rank, args.out),
        seen_(rank, args.seen) {}

  void run(const Args& args, cudaStream_t stream) {
    ++call_;
    const auto chunks = static_cast<uint64_t>((args.n + args.chunk - 1) / args.chunk);
    const auto counters = counters_.peers<uint64_t>();
    announce<<<1, world_, 0, stream>>>(counters, rank_, call_);
    put<<<static_cast<unsigned>(chunks), 128, 0, stream>>>(counters, out_.peers<uint32_t>(), seen_.peers<uint32_t>(),
                                                           args, rank_, call_);
    wait<<<1, 1, 0, stream>>>(counters_.mine<uint64_t>(), call_ * chunks);
  }

 private:
  int rank_, world_;
  uint64_t call_ = 0;
  fabricbench::PeerMemory counters_, out_, seen_;
};
// [/solution]
