// Collectives in the switch, with kernels that follow each other. Every GPU reduces one slice.
//   all_reduce       multimem.ld_reduce of the slice, multimem.st of the sums; the size is that of the vector
//   reduce_scatter   multimem.ld_reduce of the slice into private memory; the size is that of the input
// A barrier of all GPUs before and after. `_between_barriers`: the barriers are kernels of their own, and the host waits for the
// last.
#include "common/peer_barrier.h"
#include "common/multicast.h"

constexpr int kBlocks = 32, kThreads = 512, kBatch = 2;

__device__ float4 load_sum(const float4* address) {
  float4 v;
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(address)
               : "memory");
  return v;
}
__device__ void store_to_all(float4* address, float4 v) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(v.x), "f"(v.y), "f"(v.z),
               "f"(v.w)
               : "memory");
}

template <class Store>
__device__ void reduce_slice(const float4* all, long begin, long end, Store store) {
  const long stride = static_cast<long>(gridDim.x) * kThreads;
  for (long i = begin + static_cast<long>(blockIdx.x) * kThreads + threadIdx.x; i < end; i += kBatch * stride) {
    float4 sums[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (i + k * stride < end) sums[k] = load_sum(all + i + k * stride);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (i + k * stride < end) store(i + k * stride, sums[k]);
    }
  }
}

enum class Kind { all_reduce, reduce_scatter };

__device__ void collective(Kind kind, const PeerBarrier& peer_barrier, float4* all, float4* out, long quads) {
  const long slice = quads / peer_barrier.world, begin = peer_barrier.rank * slice;
  if (kind == Kind::all_reduce) {
    reduce_slice(all, begin, begin + slice, [&](long i, float4 v) { store_to_all(all + i, v); });
  } else {
    reduce_slice(all, begin, begin + slice, [&](long i, float4 v) { out[i - begin] = v; });
  }
}

__global__ void __launch_bounds__(kThreads) fused(Kind kind, PeerBarrier peer_barrier, float4* all, float4* out, long quads,
                                                  unsigned int* epochs) {
  const unsigned int epoch = epochs[blockIdx.x] + 1;
  peer_barrier.sync(2 * epoch - 1);
  collective(kind, peer_barrier, all, out, quads);
  peer_barrier.sync(2 * epoch);
  if (threadIdx.x == 0) epochs[blockIdx.x] = epoch;
}

__global__ void __launch_bounds__(kThreads) alone(Kind kind, PeerBarrier peer_barrier, float4* all, float4* out, long quads) {
  collective(kind, peer_barrier, all, out, quads);
}
__global__ void barrier(PeerBarrier peer_barrier, unsigned int epoch) { peer_barrier.sync(epoch); }

int main(int count, char** values) {
  const Arguments arguments(count, values);
  const Kind kind = arguments.algorithm.starts_with("all_reduce") ? Kind::all_reduce : Kind::reduce_scatter;
  const bool apart = arguments.algorithm.ends_with("_between_barriers");
  measure_all(arguments, [=](const Gpu& gpu, long bytes) {
    const Multicast data(gpu, static_cast<size_t>(bytes));
    const Shared<Words> words(gpu.bootstrap, 1);
    const Shared<float4> out(gpu.bootstrap, bytes / 16);
    const Shared<unsigned int> epochs(gpu.bootstrap, kBlocks);
    const PeerBarrier peer_barrier(words.peers(), gpu.rank, gpu.world);
    auto* const all = data.all<float4>(0);
    if (!apart) {
      return gpu.from_graph(3, [&] {
        fused<<<kBlocks, kThreads, 0, gpu.stream>>>(kind, peer_barrier, all, out.mine(), bytes / 16, epochs.mine());
      });
    }
    unsigned int epoch = 0;
    return gpu.one_by_one(2, [&] {
      barrier<<<1, 32, 0, gpu.stream>>>(peer_barrier, ++epoch);
      alone<<<kBlocks, kThreads, 0, gpu.stream>>>(kind, peer_barrier, all, out.mine(), bytes / 16);
      barrier<<<1, 32, 0, gpu.stream>>>(peer_barrier, ++epoch);
    });
  });
}
