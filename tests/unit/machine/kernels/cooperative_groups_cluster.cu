// cluster_group: barriers over a cluster's blocks and access to their shared memory.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// run: cluster_exchange grid=8 block=32 shared=0 cluster=4
// in:  i32[256] = random 91
// out: i32[512]
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_exchange(const int* in, int* out, int n) {
  __shared__ int mine[32];
  const auto cluster = cg::this_cluster();
  const int i = int(blockIdx.x * 32 + threadIdx.x);
  mine[threadIdx.x] = in[i];
  cluster.sync();
  const int next = int((cluster.block_rank() + 1) % cluster.num_blocks());
  const int* theirs = cluster.map_shared_rank(mine, next);
  out[i] = theirs[31 - threadIdx.x];
  out[n + i] = int(cluster.block_rank() * 100 + cluster.num_blocks() * 10 + cluster.query_shared_rank(theirs));
  cluster.sync();
}
extern "C" void expect_cluster_exchange(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    const int block = i / 32, next = block / 4 * 4 + (block + 1) % 4;
    out[i] = in[next * 32 + 31 - i % 32];
    out[n + i] = block % 4 * 100 + 40 + next % 4;
  }
}

// run: cluster_counter grid=4 block=32 shared=0 cluster=2
// in:  i32[4] = const 1
// out: i32[4]
// expect: list 64 0 64 0
extern "C" __global__ void __cluster_dims__(2) cluster_counter(const int* in, int* out, int n) {
  __shared__ int count;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) count = 0;
  cluster.sync();
  atomicAdd(cluster.map_shared_rank(&count, 0), in[blockIdx.x]);
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = count;
}
