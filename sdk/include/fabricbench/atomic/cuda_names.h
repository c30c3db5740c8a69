// cuda::memory_order and cuda::thread_scope.
#pragma once
#include "fabricbench/atomic/order_and_scope.h"

namespace cuda {
namespace std {

using memory_order = ::fabricbench::MemoryOrder;
inline constexpr memory_order memory_order_relaxed = memory_order::relaxed;
inline constexpr memory_order memory_order_consume = memory_order::consume;
inline constexpr memory_order memory_order_acquire = memory_order::acquire;
inline constexpr memory_order memory_order_release = memory_order::release;
inline constexpr memory_order memory_order_acq_rel = memory_order::acq_rel;
inline constexpr memory_order memory_order_seq_cst = memory_order::seq_cst;

}  // namespace std

using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

using thread_scope = ::fabricbench::ThreadScope;
using ::fabricbench::thread_scope_block;
using ::fabricbench::thread_scope_device;
using ::fabricbench::thread_scope_system;
using ::fabricbench::thread_scope_thread;

}  // namespace cuda
