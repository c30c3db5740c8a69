#include <cuda_runtime.h>
#include <fabricbench/nccl.h>
#include <fabricbench/rank.h>
#include <nccl.h>

#include "args.h"

// [solution]
constexpr int kThreads = 256;

// x = from / 2 + mean / 2
__global__ void step(const float* from, const float* mean, float* x, int64_t n) {
  for (int64_t i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads)
    x[i] = 0.5f * from[i] + 0.5f * mean[i];
}

class Solution {
 public:
  // The whole call is one graph, made here: what a call costs the host is then one launch, however many rounds there
  // are. A capture only records. The communicator must be ready before, because making it is no work of a stream.
  Solution(const fabricbench::Rank& rank, const Args& args) : comm_(rank) {
    fabricbench::check_cuda(cudaMalloc(&mean_, static_cast<size_t>(args.n) * sizeof(float)));
    cudaStream_t stream;
    fabricbench::check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    fabricbench::check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const float* x = args.in;
    const int64_t needed = (args.n + kThreads - 1) / kThreads;
    const auto blocks = static_cast<unsigned>(needed < 128 ? needed : 128);
    for (int64_t k = 0; k < args.steps; ++k) {
      fabricbench::check_nccl(ncclAllReduce(x, mean_, static_cast<size_t>(args.n), ncclFloat, ncclAvg, comm_, stream));
      step<<<blocks, kThreads, 0, stream>>>(x, mean_, args.out, args.n);
      x = args.out;
    }
    cudaGraph_t graph;
    fabricbench::check_cuda(cudaStreamEndCapture(stream, &graph));
    fabricbench::check_cuda(cudaGraphInstantiate(&rounds_, graph, 0));
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
  }
  // The graph before the communicator that its nodes use.
  ~Solution() {
    cudaGraphExecDestroy(rounds_);
    cudaFree(mean_);
  }

  void run(const Args& args, cudaStream_t stream) {
    (void)args;  // the graph has its pointers
    fabricbench::check_cuda(cudaGraphLaunch(rounds_, stream));
  }

 private:
  fabricbench::NcclCommunicator comm_;
  float* mean_ = nullptr;
  cudaGraphExec_t rounds_ = nullptr;
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
