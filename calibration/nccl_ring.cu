// A ring as NCCL's protocol "Simple" runs it, for two GPUs: a block for each channel, slices through a buffer at the
// receiver, a tail that says how many slices are there and a head that says how many have been taken. bf16. The host waits
// for each kernel.
//   all_reduce       the size is that of the vector
//   reduce_scatter   the size is that of the input
#include <cuda_bf16.h>

#include "../examples/common/flags.h"
#include "common/harness.h"

constexpr int kChannels = 32, kThreads = 512, kSlots = 4, kBatch = 4;
constexpr long kSliceQuads = (1 << 20) / 16;

// A GPU's end of a channel.
struct Channel {
  uint4 slots[kSlots][kSliceQuads];  // what the peer sends
  unsigned int tail;                 // how many slices it has sent
  unsigned int head;                 // how many of those sent to the peer it has taken
};

__device__ uint4 sum(uint4 a, uint4 b) {
  uint4 result;
  const auto *x = reinterpret_cast<const __nv_bfloat162*>(&a), *y = reinterpret_cast<const __nv_bfloat162*>(&b);
  auto* z = reinterpret_cast<__nv_bfloat162*>(&result);
  for (int k = 0; k < 4; ++k) z[k] = __hadd2(x[k], y[k]);
  return result;
}

// What a block does with slices: each moves min(quads, a slice) and returns how many.
struct Ring {
  Channel *mine, *peers;
  unsigned int sent, taken;  // slices, since ever

  __device__ void begin_send() const {
    if (threadIdx.x == 0) wait_flag(&mine->head, sent - kSlots + 1);
    __syncthreads();
  }
  __device__ void end_send() {
    __syncthreads();
    ++sent;
    if (threadIdx.x == 0) {
      __threadfence_system();
      SystemFlag(peers->tail).store(sent, cuda::memory_order_relaxed);
    }
  }
  __device__ void begin_receive() const {
    if (threadIdx.x == 0) wait_flag(&mine->tail, taken + 1);
    __syncthreads();
  }
  __device__ void end_receive() {
    __syncthreads();
    ++taken;
    if (threadIdx.x == 0) SystemFlag(peers->head).store(taken, cuda::memory_order_release);
  }
  __device__ uint4* out_slot() const { return peers->slots[sent % kSlots]; }
  __device__ const uint4* in_slot() const { return mine->slots[taken % kSlots]; }
};

// f(quad) for all, several at once.
template <class Load, class Store>
__device__ void each(long quads, Load load, Store store) {
  for (long i = threadIdx.x; i < quads; i += kBatch * kThreads) {
    uint4 v[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (i + k * kThreads < quads) v[k] = load(i + k * kThreads);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (i + k * kThreads < quads) store(i + k * kThreads, v[k]);
    }
  }
}

__global__ void __launch_bounds__(kThreads) ring(const uint4* in, uint4* out, long quads, int rank, bool gathers,
                                                 Channel* mine, Channel* peers, unsigned int* counts) {
  // Half of the vector is this GPU's, and of each half a part this block's.
  const long half = quads / 2, part = (half + kChannels - 1) / kChannels;
  const long begin = min(blockIdx.x * part, half), end = min(begin + part, half);
  Ring r{mine + blockIdx.x, peers + blockIdx.x, counts[blockIdx.x], counts[blockIdx.x]};
  const uint4 *ours = in + rank * half, *theirs = in + (1 - rank) * half;
  for (long at = begin; at < end; at += kSliceQuads) {
    const long n = min(kSliceQuads, end - at);
    r.begin_send();
    uint4* slot = r.out_slot();
    each(n, [&](long i) { return theirs[at + i]; }, [&](long i, uint4 v) { slot[i] = v; });
    r.end_send();

    r.begin_receive();
    const uint4* from = r.in_slot();
    if (!gathers) {
      each(n, [&](long i) { return sum(from[i], ours[at + i]); }, [&](long i, uint4 v) { out[at + i] = v; });
      r.end_receive();
      continue;
    }
    r.begin_send();
    slot = r.out_slot();
    each(n, [&](long i) { return sum(from[i], ours[at + i]); },
         [&](long i, uint4 v) {
           out[rank * half + at + i] = v;
           slot[i] = v;
         });
    r.end_send();
    r.end_receive();

    r.begin_receive();
    from = r.in_slot();
    each(n, [&](long i) { return from[i]; }, [&](long i, uint4 v) { out[(1 - rank) * half + at + i] = v; });
    r.end_receive();
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = r.sent;
}

int main(int count, char** values) {
  const Arguments arguments(count, values);
  const bool gathers = arguments.algorithm == "all_reduce";
  measure_all(arguments, [gathers](const Gpu& gpu, long bytes) {
    const Shared<Channel> channels(gpu.bootstrap, kChannels);
    const Shared<uint4> in(gpu.bootstrap, bytes / 16), out(gpu.bootstrap, bytes / 16);
    const Shared<unsigned int> counts(gpu.bootstrap, kChannels);
    Channel* const peers = channels.peers().of[1 - gpu.rank];
    return gpu.one_by_one(2, [&] {
      ring<<<kChannels, kThreads, 0, gpu.stream>>>(in.mine(), out.mine(), bytes / 16, gpu.rank, gathers, channels.mine(),
                                                   peers, counts.mine());
    });
  });
}
