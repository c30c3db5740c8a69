// problem: all_reduce_one_shot
// expect: budget
// explains: in construct
// mode: quick
// seconds: 15
// about: A graph of fifty thousand empty nodes, launched again and again.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cuda/atomic>

#include "args.h"

// [solution]
__global__ void nothing() {}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args&) : rank_(rank.rank()) {
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    cudaKernelNodeParams node{};
    void* none[1] = {nullptr};
    node.func = reinterpret_cast<void*>(nothing);
    node.gridDim = node.blockDim = dim3(1);
    node.kernelParams = none;
    for (int k = 0; k < 50000; ++k) {
      cudaGraphNode_t added;
      cudaGraphAddKernelNode(&added, graph, nullptr, 0, &node);
    }
    cudaGraphInstantiate(&graph_, graph, 0);
  }
  void run(const Args& args, cudaStream_t stream) {
    for (int k = 0; k < 100; ++k) cudaGraphLaunch(graph_, stream);
  }

 private:
  int rank_;
  cudaGraphExec_t graph_ = nullptr;
};
// [/solution]
