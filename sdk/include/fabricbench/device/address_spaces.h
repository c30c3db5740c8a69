// Generic addresses to addresses of one state space and back, and questions about where a pointer points. The casts go
// through clang's address spaces, so that the compiler can fold them where it knows the space.
#pragma once
#include "fabricbench/language.h"

#define ADDRESS_SPACE(space, number, query, builtin)                                   \
  FABRICBENCH_DEVICE __SIZE_TYPE__ __cvta_generic_to_##space(const void* pointer) {    \
    return (__SIZE_TYPE__)(const __attribute__((address_space(number))) void*)pointer; \
  }                                                                                    \
  FABRICBENCH_DEVICE void* __cvta_##space##_to_generic(__SIZE_TYPE__ address) {        \
    return (void*)(__attribute__((address_space(number))) void*)address;               \
  }                                                                                    \
  FABRICBENCH_DEVICE unsigned int query(const void* pointer) { return builtin(pointer); }
ADDRESS_SPACE(global, 1, __isGlobal, __nvvm_isspacep_global)
ADDRESS_SPACE(shared, 3, __isShared, __nvvm_isspacep_shared)
ADDRESS_SPACE(constant, 4, __isConstant, __nvvm_isspacep_const)
ADDRESS_SPACE(local, 5, __isLocal, __nvvm_isspacep_local)
#undef ADDRESS_SPACE

FABRICBENCH_DEVICE unsigned int __isGridConstant(const void* pointer) {
  unsigned int is_param;
  asm("{ .reg .pred p; isspacep.param p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(is_param) : "l"(pointer));
  return is_param;
}
FABRICBENCH_DEVICE __SIZE_TYPE__ __cvta_generic_to_grid_constant(const void* pointer) {
  __SIZE_TYPE__ address;
  asm("cvta.to.param.u64 %0, %1;" : "=l"(address) : "l"(pointer));
  return address;
}
FABRICBENCH_DEVICE void* __cvta_grid_constant_to_generic(__SIZE_TYPE__ address) {
  void* pointer;
  asm("cvta.param.u64 %0, %1;" : "=l"(pointer) : "l"(address));
  return pointer;
}

FABRICBENCH_DEVICE unsigned int __isClusterShared(const void* pointer) {
  return __nvvm_isspacep_shared_cluster(pointer);
}
FABRICBENCH_DEVICE unsigned int __isCtaShared(const void* pointer) { return __nvvm_isspacep_shared(pointer); }
FABRICBENCH_DEVICE void* __cluster_map_shared_rank(const void* pointer, unsigned int rank) {
  void* mapped;
  asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(pointer), "r"(rank));
  return mapped;
}
FABRICBENCH_DEVICE unsigned int __cluster_query_shared_rank(const void* pointer) {
  unsigned int rank;
  asm("getctarank.u64 %0, %1;" : "=r"(rank) : "l"(pointer));
  return rank;
}
