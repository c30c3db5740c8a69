#include <cuda_runtime.h>
#include <fabricbench/rank.h>

#include <stdexcept>
#include <string>

#include "args.h"

constexpr int kFrom = 0;  // the GPU that has `in`
constexpr int kTo = 1;    // the GPU that has `out`

// [solution]
inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

// Lets `device` reach the memory of `peer`. Peer access belongs to the process and not to a Solution, so it may be
// there already; that answer must not stay behind as the last error.
inline void enable_peer_access(int device, int peer) {
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, device, peer), "cudaDeviceCanAccessPeer");
  if (!possible) return;  // the copy works nonetheless, through host memory
  check(cudaSetDevice(device), "cudaSetDevice");
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
  } else {
    check(status, "cudaDeviceEnablePeerAccess");
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args&) {
    enable_peer_access(kTo, kFrom);  // access has a direction: the engine of either GPU may do the copy
    enable_peer_access(kFrom, kTo);
    check(cudaSetDevice(kFrom), "cudaSetDevice");
  }

  // In the order of `stream` the copy is all there is to do: no other rank touches the two buffers.
  void run(const Args& args, cudaStream_t stream) {
    check(cudaMemcpyPeerAsync(args.out, kTo, args.in + args.first, kFrom,
                              static_cast<size_t>(args.n) * sizeof *args.out, stream),
          "cudaMemcpyPeerAsync");
  }
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: let the two GPUs reach each other
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the copy
//|   }
//| };
// [/solution]
