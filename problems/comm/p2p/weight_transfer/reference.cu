#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
constexpr int kThreads = 256;

// Block s of `packed`, of shape [m][k], is columns s * k to (s + 1) * k - 1 of `rows`. Grid: (rows, h). With 16 bytes
// at a time where all rows of all blocks begin at multiples of that.
__global__ void pack(const __nv_bfloat16* rows, __nv_bfloat16* packed, int64_t m, int64_t k) {
  const int64_t s = blockIdx.y, h = gridDim.y;
  for (int64_t i = blockIdx.x; i < m; i += gridDim.x) {
    const __nv_bfloat16* from = rows + (i * h + s) * k;
    __nv_bfloat16* to = packed + (s * m + i) * k;
    if (k % 8 == 0) {
      for (int64_t j = threadIdx.x; j < k / 8; j += kThreads)
        reinterpret_cast<int4*>(to)[j] = reinterpret_cast<const int4*>(from)[j];
    } else {
      for (int64_t j = threadIdx.x; j < k; j += kThreads) to[j] = from[j];
    }
  }
}

// The trainer rearranges, once, so that everything that crosses a link is one contiguous block for each server; and a
// server's blocks are contiguous as they are: block t is rows t * m to (t + 1) * m - 1 of `columns`.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args) : rank_(rank.rank()), half_(rank.world() / 2), comm_(rank) {
    if (rank_ < half_)
      fabricbench::check_cuda(
          cudaMalloc(&packed_, static_cast<size_t>(half_ * args.m * args.k) * sizeof(__nv_bfloat16)));
  }
  ~Solution() { cudaFree(packed_); }

  // All messages of a rank in one group, so that a server receives from all trainers at the same time, and so does
  // what goes the other way. Each trainer begins with another server.
  void run(const Args& args, cudaStream_t stream) {
    const auto block = static_cast<size_t>(args.m * args.k);
    if (rank_ < half_) {
      const dim3 grid(static_cast<unsigned>(args.m < 128 ? args.m : 128), static_cast<unsigned>(half_));
      pack<<<grid, kThreads, 0, stream>>>(args.rows, packed_, args.m, args.k);
    }
    fabricbench::check_nccl(ncclGroupStart());
    for (int i = 0; i < half_; ++i) {
      if (rank_ < half_) {
        const int server = (rank_ + i) % half_;
        fabricbench::check_nccl(ncclSend(packed_ + server * block, block, ncclBfloat16, half_ + server, comm_, stream));
      } else {
        const int trainer = (rank_ - half_ + half_ - i) % half_;
        fabricbench::check_nccl(ncclRecv(args.columns + trainer * block, block, ncclBfloat16, trainer, comm_, stream));
      }
    }
    if (rank_ < half_) {
      fabricbench::check_nccl(ncclRecv(args.columns, 1, ncclBfloat16, half_ + rank_, comm_, stream));
    } else {
      fabricbench::check_nccl(ncclSend(args.rows, 1, ncclBfloat16, rank_ - half_, comm_, stream));
    }
    fabricbench::check_nccl(ncclGroupEnd());
  }

 private:
  int rank_, half_;
  fabricbench::NcclCommunicator comm_;
  __nv_bfloat16* packed_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: communicators, buffers
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the work on the stream
//|   }
//| };
// [/solution]
