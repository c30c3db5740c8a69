#pragma once

// Flags in memory of all ranks, and barriers of all ranks that are made of them.
//
//   fabricbench::post(flag, epoch);   // device functions: a release store at system scope,
//   fabricbench::wait(flag, epoch);   // and a loop of acquire loads until the flag has this number, or a larger one
//
//   struct Flags {                    // in PeerMemory; word [b][r] is written by block b of rank r only
//     uint32_t from[kBlocks][fabricbench::kMostRanks];
//   };
//   fabricbench::rank_barrier(flags, rank, world, epoch);   // device function: block b with block b of all other ranks
//
//   fabricbench::rank_barrier_kernel<<<1, 32, 0, stream>>>(words, rank, world, epoch);   // between kernels of a stream
//
// A flag is the number of the last epoch that its writer has reached. Fresh PeerMemory is 0, so epochs begin with 1;
// they only grow, and every rank counts the same ones.

#include <fabricbench/peer_memory.h>

#include <cstdint>
#include <cuda/atomic>

namespace fabricbench {

using SystemFlag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// What the thread did before, and what it has acquired (also by a barrier of its block), comes before the flag.
__device__ inline void post(uint32_t& flag, uint32_t epoch) {
  SystemFlag(flag).store(epoch, cuda::memory_order_release);
}
// What the writer did before it posted is visible to the thread afterwards.
__device__ inline void wait(uint32_t& flag, uint32_t epoch) {
  while (SystemFlag(flag).load(cuda::memory_order_acquire) < epoch) {
  }
}

// All threads of a block call it, at least `world` of them; so do the blocks with its number on all other ranks, which
// must be resident. What any of these threads did before is visible to all of them afterwards: __syncthreads() orders
// the block's accesses before the fence, and the fence, at system scope, orders them before the flags of all peers.
template <class Flags>
__device__ void rank_barrier(const Peers<Flags>& flags, int rank, int world, uint32_t epoch) {
  __syncthreads();
  if (const auto peer = static_cast<int>(threadIdx.x); peer < world) {
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    SystemFlag(flags.of[peer]->from[blockIdx.x][rank]).store(epoch, cuda::memory_order_relaxed);
    wait(flags.of[rank]->from[blockIdx.x][peer], epoch);
  }
  __syncthreads();
}

// The same for a kernel of one block. Word [r] of `flags` is written by rank r only.
__device__ inline void rank_barrier(const Peers<uint32_t>& flags, int rank, int world, uint32_t epoch) {
  __syncthreads();
  if (const auto peer = static_cast<int>(threadIdx.x); peer < world) {
    post(flags.of[peer][rank], epoch);
    wait(flags.of[rank][peer], epoch);
  }
  __syncthreads();
}

// A kernel of one block with at least `world` threads, as a barrier of all ranks: what was before it in the streams of
// all ranks is visible to what comes after it. Word [r] of `flags` is written by rank r only.
template <class Word>
__global__ void rank_barrier_kernel(Peers<Word> flags, int rank, int world, uint32_t epoch) {
  const auto peer = static_cast<int>(threadIdx.x);
  if (peer >= world) return;
  post(flags.of[peer][rank], epoch);
  wait(flags.of[rank][peer], epoch);
}
// The same with exactly as many threads as there are ranks.
template <class Word>
__global__ void rank_barrier_kernel(Peers<Word> flags, int rank, uint32_t epoch) {
  const auto peer = static_cast<int>(threadIdx.x);
  post(flags.of[peer][rank], epoch);
  wait(flags.of[rank][peer], epoch);
}

}  // namespace fabricbench
