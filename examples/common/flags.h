// Flags between GPUs: words that one GPU writes and another waits for.
//
// A flag carries an epoch, a number that grows with each use, and is never reset: so a flag of the last round can't be
// taken for one of this round, and no rank has to clear it while others poll it.
//
// post_flag is a release and wait_flag an acquire at system scope: writes before post_flag, to any memory, are
// visible after wait_flag. Within a block, __syncthreads() before post_flag adds the writes of all its threads.
#pragma once
#include <cuda/atomic>

using SystemFlag = cuda::atomic_ref<unsigned int, cuda::thread_scope_system>;

__device__ inline void post_flag(unsigned int* flag, unsigned int epoch) {
  SystemFlag(*flag).store(epoch, cuda::memory_order_release);
}

// The difference is signed, so that epochs may wrap around.
__device__ inline void wait_flag(unsigned int* flag, unsigned int epoch) {
  while (static_cast<int>(SystemFlag(*flag).load(cuda::memory_order_acquire) - epoch) < 0) continue;
}
