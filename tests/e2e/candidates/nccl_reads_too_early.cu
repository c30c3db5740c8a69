// problem: all_to_all_nccl
// expect: race
// explains: ncclRecv of | copy reads | cudaStreamWaitEvent
// mode: quick
// seconds: 20
// about: The own block is copied beside the messages, by a stream that does not wait for them.
#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()), world_(rank.world()), comm_(rank) {}
  void run(const Args& args, cudaStream_t stream) {
    static cudaStream_t side = nullptr;
    static float* spare = nullptr;
    if (side == nullptr) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    if (spare == nullptr) cudaMalloc(&spare, size_t{1} << 20);
    ncclGroupStart();
    for (int peer = 0; peer < world_; ++peer) {
      ncclSend(args.in + peer * args.n, args.n, ncclFloat, peer, comm_, stream);
      ncclRecv(args.out + peer * args.n, args.n, ncclFloat, peer, comm_, stream);
    }
    ncclGroupEnd();
    cudaMemcpyAsync(spare, args.out, sizeof(float), cudaMemcpyDeviceToDevice, side);
    cudaEvent_t copied;
    cudaEventCreateWithFlags(&copied, cudaEventDisableTiming);
    cudaEventRecord(copied, side);
    cudaStreamWaitEvent(stream, copied, 0);
  }

 private:
  int rank_, world_;
  fabricbench::NcclCommunicator comm_;
};
// [/solution]
