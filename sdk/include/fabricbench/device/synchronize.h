// Barriers, fences, sleeping, stopping. __syncthreads() itself is a clang built-in.
#pragma once
#include "vector_types.h"

FABRICBENCH_DEVICE int __syncthreads_count(int predicate) { return __nvvm_bar0_popc(predicate); }
FABRICBENCH_DEVICE int __syncthreads_and(int predicate) { return __nvvm_bar0_and(predicate); }
FABRICBENCH_DEVICE int __syncthreads_or(int predicate) { return __nvvm_bar0_or(predicate); }
FABRICBENCH_DEVICE void __syncwarp(unsigned int mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }

FABRICBENCH_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
FABRICBENCH_DEVICE void __threadfence() { __nvvm_membar_gl(); }
FABRICBENCH_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }

FABRICBENCH_DEVICE void __threadfence_cluster() { asm volatile("fence.acq_rel.cluster;" ::: "memory"); }
// Named barriers of a block: all its threads, or `threads` of them.
FABRICBENCH_DEVICE void __barrier_sync(unsigned int id) { asm volatile("barrier.sync %0;" ::"r"(id) : "memory"); }
FABRICBENCH_DEVICE void __barrier_sync_count(unsigned int id, unsigned int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

FABRICBENCH_DEVICE void __nanosleep(unsigned int ns) { __nvvm_nanosleep(static_cast<int>(ns)); }
FABRICBENCH_DEVICE void __trap() { asm volatile("trap;"); }
FABRICBENCH_DEVICE void __brkpt() { asm volatile("brkpt;"); }
FABRICBENCH_DEVICE void __exit() { asm volatile("exit;"); }
// A profiler's counter, which is not there.
FABRICBENCH_DEVICE void __prof_trigger(int) {}

// Clocks are volatile reads: two of them are never merged.
FABRICBENCH_DEVICE long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }

// Thread-block clusters, as the compiler built-ins of the same names.
FABRICBENCH_DEVICE void __cluster_barrier_arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
FABRICBENCH_DEVICE void __cluster_barrier_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed;"); }
FABRICBENCH_DEVICE void __cluster_barrier_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
FABRICBENCH_DEVICE unsigned int __clusterRelativeBlockRank() { return __nvvm_read_ptx_sreg_cluster_ctarank(); }
FABRICBENCH_DEVICE unsigned int __clusterSizeInBlocks() { return __nvvm_read_ptx_sreg_cluster_nctarank(); }
FABRICBENCH_DEVICE bool __clusterDimIsSpecified() { return __nvvm_is_explicit_cluster(); }
#define CLUSTER_TRIPLE(name, reg)                                                                                      \
  FABRICBENCH_DEVICE dim3 name() {                                                                                     \
    return dim3(__nvvm_read_ptx_sreg_##reg##_x(), __nvvm_read_ptx_sreg_##reg##_y(), __nvvm_read_ptx_sreg_##reg##_z()); \
  }
CLUSTER_TRIPLE(__clusterDim, cluster_nctaid)
CLUSTER_TRIPLE(__clusterRelativeBlockIdx, cluster_ctaid)
CLUSTER_TRIPLE(__clusterIdx, clusterid)
CLUSTER_TRIPLE(__clusterGridDimInClusters, nclusterid)
#undef CLUSTER_TRIPLE

// Programmatic dependent launch.
FABRICBENCH_DEVICE void cudaTriggerProgrammaticLaunchCompletion() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
FABRICBENCH_DEVICE void cudaGridDependencySynchronize() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
