// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

constexpr int kThreads = 256;

// packed[i] = feature[id[i]], rows of `quads` times 16 bytes.
__global__ void gather(const int32_t* id, const int4* feature, int4* packed, int64_t count, uint32_t quads) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count * quads) packed[i] = feature[int64_t{id[i / quads]} * quads + i % quads];
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {
    fabricbench::check_cuda(
        cudaMalloc(&packed_, static_cast<size_t>(world_ * args.chunk * args.width) * sizeof(__nv_bfloat16)));
  }
  ~Solution() { cudaFree(packed_); }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t count = world_ * args.chunk, quads = args.width / 8;
    const auto blocks = static_cast<unsigned>((count * quads + kThreads - 1) / kThreads);
    gather<<<blocks, kThreads, 0, stream>>>(args.id, reinterpret_cast<const int4*>(args.feature),
                                            reinterpret_cast<int4*>(packed_), count, static_cast<uint32_t>(quads));
    const int64_t message = args.chunk * args.width;
    const auto elements = static_cast<size_t>(message);
    fabricbench::check_nccl(ncclGroupStart());
    for (int k = 0; k < world_; ++k) {
      const int peer = (rank_ + k) % world_;
      fabricbench::check_nccl(ncclSend(packed_ + k * message, elements, ncclBfloat16, peer, comm_, stream));
      fabricbench::check_nccl(ncclRecv(args.out + k * message, elements, ncclBfloat16, peer, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16* packed_ = nullptr;
};
// [/solution]
