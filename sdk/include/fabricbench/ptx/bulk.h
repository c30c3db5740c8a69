// Bulk copies and reductions, of bytes and of boxes of tensors; asynchronous stores and reductions. Into shared memory
// they complete on a barrier, into global memory as part of a group.
#pragma once
#include "fabricbench/ptx/tags.h"

namespace cuda {
namespace ptx {

FABRICBENCH_DEVICE void cp_async_bulk(space_cluster_t, space_global_t, void* to, const void* from,
                                      const uint32_t& bytes, uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   fabricbench::shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(fabricbench::shared_address(barrier))
               : "memory");
}
FABRICBENCH_DEVICE void cp_async_bulk(space_cluster_t, space_global_t, void* to, const void* from,
                                      const uint32_t& bytes, uint64_t* barrier, const uint16_t& ctas) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
      "%4;" ::"r"(fabricbench::shared_address(to)),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(fabricbench::shared_address(barrier)), "h"(ctas)
      : "memory");
}
FABRICBENCH_DEVICE void cp_async_bulk(space_cluster_t, space_shared_t, void* to, const void* from,
                                      const uint32_t& bytes, uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   fabricbench::shared_address(to)),
               "r"(fabricbench::shared_address(from)), "r"(bytes), "r"(fabricbench::shared_address(barrier))
               : "memory");
}
FABRICBENCH_DEVICE void cp_async_bulk(space_global_t, space_shared_t, void* to, const void* from,
                                      const uint32_t& bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
               "r"(fabricbench::shared_address(from)), "r"(bytes)
               : "memory");
}
FABRICBENCH_DEVICE void cp_async_bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int kPending>
FABRICBENCH_DEVICE void cp_async_bulk_wait_group(n32_t<kPending>) {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}
template <int kPending>
FABRICBENCH_DEVICE void cp_async_bulk_wait_group_read(n32_t<kPending>) {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
FABRICBENCH_DEVICE void cp_async_mbarrier_arrive(uint64_t* barrier) {
  asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(fabricbench::shared_address(barrier)) : "memory");
}
FABRICBENCH_DEVICE void cp_async_mbarrier_arrive_noinc(uint64_t* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(fabricbench::shared_address(barrier))
               : "memory");
}

// Boxes of tensors with one to five coordinates. LIST(n) are the operands of the coordinates in PTX.
#define TENSOR(dimensions, list_in, list_out, ...)                                                                     \
  FABRICBENCH_DEVICE void cp_async_bulk_tensor(space_cluster_t, space_global_t, void* to, const void* map,             \
                                               const int32_t(&at)[dimensions], uint64_t* barrier) {                    \
    asm volatile("cp.async.bulk.tensor." #dimensions                                                                   \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" list_in                     \
                 "}], [%2];" ::"r"(fabricbench::shared_address(to)),                                                   \
                 "l"(map), "r"(fabricbench::shared_address(barrier)), __VA_ARGS__                                      \
                 : "memory");                                                                                          \
  }                                                                                                                    \
  FABRICBENCH_DEVICE void cp_async_bulk_tensor(space_cluster_t, space_global_t, void* to, const void* map,             \
                                               const int32_t(&at)[dimensions], uint64_t* barrier,                      \
                                               const uint16_t& ctas) {                                                 \
    asm volatile("{ .reg .b16 m; cvt.u16.u32 m, %2; cp.async.bulk.tensor." #dimensions                                 \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {" list_out \
                 "}], [%3], m; }" ::"r"(fabricbench::shared_address(to)),                                              \
                 "l"(map), "r"(static_cast<uint32_t>(ctas)), "r"(fabricbench::shared_address(barrier)), __VA_ARGS__    \
                 : "memory");                                                                                          \
  }                                                                                                                    \
  FABRICBENCH_DEVICE void cp_async_bulk_tensor(space_global_t, space_shared_t, const void* map,                        \
                                               const int32_t(&at)[dimensions], const void* from) {                     \
    asm volatile("cp.async.bulk.tensor." #dimensions "d.global.shared::cta.tile.bulk_group [%0, {" list_in             \
                 "}], [%1]; // %2" ::"l"(map),                                                                         \
                 "r"(fabricbench::shared_address(from)), "r"(0), __VA_ARGS__                                           \
                 : "memory");                                                                                          \
  }
TENSOR(1, "%3", "%4", "r"(at[0]))
TENSOR(2, "%3, %4", "%4, %5", "r"(at[0]), "r"(at[1]))
TENSOR(3, "%3, %4, %5", "%4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]))
TENSOR(4, "%3, %4, %5, %6", "%4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]))
TENSOR(5, "%3, %4, %5, %6, %7", "%4, %5, %6, %7, %8", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]))
#undef TENSOR

// Reductions by operation and type.
#define REDUCE_SHARED(op, name, type, ptx)                                                                     \
  FABRICBENCH_DEVICE void cp_reduce_async_bulk(space_cluster_t, space_shared_t, op_##op##_t, type* to,         \
                                               const type* from, uint32_t bytes, uint64_t* barrier) {          \
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." name "." ptx \
                 " [%0], [%1], %2, [%3];" ::"r"(fabricbench::shared_address(to)),                              \
                 "r"(fabricbench::shared_address(from)), "r"(bytes), "r"(fabricbench::shared_address(barrier)) \
                 : "memory");                                                                                  \
  }                                                                                                            \
  FABRICBENCH_DEVICE void red_async(sem_relaxed_t, scope_cluster_t, space_cluster_t, op_##op##_t, type* to,    \
                                    const type& value, uint64_t* barrier) {                                    \
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." name "." ptx        \
                 " [%0], %1, [%2];" ::"r"(fabricbench::shared_address(to)),                                    \
                 "r"(value), "r"(fabricbench::shared_address(barrier))                                         \
                 : "memory");                                                                                  \
  }                                                                                                            \
  FABRICBENCH_DEVICE void red_async(op_##op##_t tag, type* to, const type& value, uint64_t* barrier) {         \
    red_async(sem_relaxed, scope_cluster, space_cluster, tag, to, value, barrier);                             \
  }
#define REDUCE_GLOBAL(op, name, type, ptx)                                                            \
  FABRICBENCH_DEVICE void cp_reduce_async_bulk(space_global_t, space_shared_t, op_##op##_t, type* to, \
                                               const type* from, uint32_t bytes) {                    \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." name "." ptx                   \
                 " [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),                              \
                 "r"(fabricbench::shared_address(from)), "r"(bytes)                                   \
                 : "memory");                                                                         \
  }
#define REDUCE_BOTH(...)     \
  REDUCE_SHARED(__VA_ARGS__) \
  REDUCE_GLOBAL(__VA_ARGS__)
#define INTEGER_REDUCTIONS(type, ptx) \
  REDUCE_BOTH(add, "add", type, ptx)  \
  REDUCE_BOTH(min, "min", type, ptx)  \
  REDUCE_BOTH(max, "max", type, ptx)
INTEGER_REDUCTIONS(uint32_t, "u32")
INTEGER_REDUCTIONS(int32_t, "s32")
REDUCE_BOTH(inc, "inc", uint32_t, "u32")
REDUCE_BOTH(dec, "dec", uint32_t, "u32")
REDUCE_BOTH(and_op, "and", uint32_t, "b32")
REDUCE_BOTH(or_op, "or", uint32_t, "b32")
REDUCE_BOTH(xor_op, "xor", uint32_t, "b32")
REDUCE_GLOBAL(add, "add", uint64_t, "u64")
REDUCE_GLOBAL(min, "min", uint64_t, "u64")
REDUCE_GLOBAL(max, "max", uint64_t, "u64")
REDUCE_GLOBAL(min, "min", int64_t, "s64")
REDUCE_GLOBAL(max, "max", int64_t, "s64")
REDUCE_GLOBAL(add, "add", float, "f32")
REDUCE_GLOBAL(add, "add", double, "f64")
#undef INTEGER_REDUCTIONS
#undef REDUCE_BOTH
#undef REDUCE_GLOBAL
#undef REDUCE_SHARED

// Into the shared memory of another block.
template <class T>
FABRICBENCH_DEVICE void st_async(T* to, const T& value, uint64_t* barrier) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "32 or 64 bits");
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
                     fabricbench::shared_address(to)),
                 "r"(__builtin_bit_cast(uint32_t, value)), "r"(fabricbench::shared_address(barrier))
                 : "memory");
  } else {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(
                     fabricbench::shared_address(to)),
                 "l"(__builtin_bit_cast(uint64_t, value)), "r"(fabricbench::shared_address(barrier))
                 : "memory");
  }
}
template <class T>
FABRICBENCH_DEVICE void st_async(T* to, const T (&v)[2], uint64_t* barrier) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "32 or 64 bits");
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(
                     fabricbench::shared_address(to)),
                 "r"(__builtin_bit_cast(uint32_t, v[0])), "r"(__builtin_bit_cast(uint32_t, v[1])),
                 "r"(fabricbench::shared_address(barrier))
                 : "memory");
  } else {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%0], {%1, %2}, [%3];" ::"r"(
                     fabricbench::shared_address(to)),
                 "l"(__builtin_bit_cast(uint64_t, v[0])), "l"(__builtin_bit_cast(uint64_t, v[1])),
                 "r"(fabricbench::shared_address(barrier))
                 : "memory");
  }
}
template <class T>
FABRICBENCH_DEVICE void st_async(T* to, const T (&v)[4], uint64_t* barrier) {
  static_assert(sizeof(T) == 4, "32 bits");
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                   fabricbench::shared_address(to)),
               "r"(__builtin_bit_cast(uint32_t, v[0])), "r"(__builtin_bit_cast(uint32_t, v[1])),
               "r"(__builtin_bit_cast(uint32_t, v[2])), "r"(__builtin_bit_cast(uint32_t, v[3])),
               "r"(fabricbench::shared_address(barrier))
               : "memory");
}

}  // namespace ptx
}  // namespace cuda
