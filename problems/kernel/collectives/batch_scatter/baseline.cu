// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;
constexpr int kBatch = 4;  // loads of a thread before its stores

// packed: the items of rank 0, then those of rank 1, and so on. Grid: (pieces of an item, items).
__global__ void pack(const int4* batch, int4* packed, int64_t quads, int64_t world) {
  const int64_t items = gridDim.y, item = blockIdx.y, owner = item % world;
  const int64_t before = owner * (items / world) + min(owner, items % world);  // items of the ranks before
  const int4* from = batch + item * quads;
  int4* to = packed + (before + item / world) * quads;
  const int64_t first = blockIdx.x * int64_t{kBatch * kThreads} + threadIdx.x;
  int4 value[kBatch];
#pragma unroll
  for (int k = 0; k < kBatch; ++k) {
    if (first + k * kThreads < quads) value[k] = from[first + k * kThreads];
  }
#pragma unroll
  for (int k = 0; k < kBatch; ++k) {
    if (first + k * kThreads < quads) to[first + k * kThreads] = value[k];
  }
}

// NCCL wants to know the root on the host. So the host waits for it; then the root packs what each rank gets into one
// message and sends the messages.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMallocHost(&root_, sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&packed_, static_cast<size_t>(args.items * args.words) * sizeof(uint32_t)));
    // Kernels are loaded when they are first asked for. Each rank is root sooner or later; it shall not load one then.
    cudaFuncAttributes attributes;
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, pack));
  }
  ~Solution() {
    cudaFree(packed_);
    cudaFreeHost(root_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cuda(cudaMemcpyAsync(root_, args.root, sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));
    const auto message = [&](int r) {  // words of a rank's items
      return static_cast<size_t>((args.items - r + world_ - 1) / world_ * args.words);
    };
    if (*root_ == rank_) {
      const int64_t quads = args.words / 4, piece = kBatch * kThreads;
      const dim3 grid(static_cast<unsigned>((quads + piece - 1) / piece), static_cast<unsigned>(args.items));
      pack<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const int4*>(args.batch), reinterpret_cast<int4*>(packed_),
                                          quads, world_);
    }
    fabricbench::check_nccl(ncclGroupStart());
    if (*root_ == rank_) {
      const uint32_t* from = packed_;
      for (int r = 0; r < world_; from += message(r++))
        fabricbench::check_nccl(ncclSend(from, message(r), ncclUint32, r, comm_, stream));
    }
    fabricbench::check_nccl(ncclRecv(args.out, message(rank_), ncclUint32, *root_, comm_, stream));
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int32_t* root_ = nullptr;  // on the host
  uint32_t* packed_ = nullptr;
};
// [/solution]
