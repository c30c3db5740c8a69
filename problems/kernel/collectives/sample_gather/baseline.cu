// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;
constexpr int kBatch = 4;  // loads of a thread before its stores

// packed: the items of rank 0, then those of rank 1, and so on. Grid: (pieces of an item, items).
__global__ void unpack(const int4* packed, int4* all, int64_t quads, int64_t world) {
  const int64_t items = gridDim.y, item = blockIdx.y, owner = item % world;
  const int64_t before = owner * (items / world) + min(owner, items % world);  // items of the ranks before
  const int4* from = packed + (before + item / world) * quads;
  int4* to = all + item * quads;
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

// NCCL wants to know the root on the host, so the host waits for it. The root then receives a message of each rank and
// puts the items in their order; the others send one and clear their output.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(cudaMallocHost(&root_, sizeof(int32_t)));
    fabricbench::check_cuda(cudaMalloc(&packed_, static_cast<size_t>(args.items * args.width) * sizeof(__nv_bfloat16)));
    // Kernels are loaded when they are first asked for. Each rank is root sooner or later; it shall not load one then.
    cudaFuncAttributes attributes;
    fabricbench::check_cuda(cudaFuncGetAttributes(&attributes, unpack));
  }
  ~Solution() {
    cudaFree(packed_);
    cudaFreeHost(root_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cuda(cudaMemcpyAsync(root_, args.root, sizeof(int32_t), cudaMemcpyDeviceToHost, stream));
    fabricbench::check_cuda(cudaStreamSynchronize(stream));
    const bool collects = *root_ == rank_;
    const auto message = [&](int r) {  // elements of a rank's items
      return static_cast<size_t>((args.items - r + world_ - 1) / world_ * args.width);
    };
    fabricbench::check_nccl(ncclGroupStart());
    fabricbench::check_nccl(ncclSend(args.part, message(rank_), ncclBfloat16, *root_, comm_, stream));
    if (collects) {
      __nv_bfloat16* to = packed_;
      for (int r = 0; r < world_; to += message(r++))
        fabricbench::check_nccl(ncclRecv(to, message(r), ncclBfloat16, r, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
    if (collects) {
      const int64_t quads = args.width / 8, piece = kBatch * kThreads;
      const dim3 grid(static_cast<unsigned>((quads + piece - 1) / piece), static_cast<unsigned>(args.items));
      unpack<<<grid, kThreads, 0, stream>>>(reinterpret_cast<const int4*>(packed_), reinterpret_cast<int4*>(args.all),
                                            quads, world_);
    } else {
      fabricbench::check_cuda(
          cudaMemsetAsync(args.all, 0, static_cast<size_t>(args.items * args.width) * sizeof(__nv_bfloat16), stream));
    }
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  int32_t* root_ = nullptr;  // on the host
  __nv_bfloat16* packed_ = nullptr;
};
// [/solution]
