// The functions that clang calls before memory accesses with -fsanitize=thread (toolchain/compile/compile.cpp). The
// program is not linked with ThreadSanitizer's own: these only look for accesses to registered memory.

#include <cstring>

#include "ranks/shim/verbs/call.h"
#include "ranks/shim/verbs/observe.h"

using namespace fb::shim::verbs;
using LookKind = fb::wire::VerbsLook::Kind;

#define CALLER __builtin_return_address(0)

// The names are the compiler's.
// NOLINTBEGIN(bugprone-reserved-identifier)

FB_VERBS void __tsan_init() { note_instrumented(); }
FB_VERBS void __tsan_func_entry(void*) {}
FB_VERBS void __tsan_func_exit() {}
FB_VERBS void __tsan_vptr_update(void**, void*) {}
FB_VERBS void __tsan_vptr_read(void**) {}

FB_VERBS void __tsan_read_range(void* at, size_t bytes) { note_access(at, bytes, false, CALLER); }
FB_VERBS void __tsan_write_range(void* at, size_t bytes) { note_access(at, bytes, true, CALLER); }

// A volatile access is taken as it is meant: a word that others write or read at any time, in program order.
#define PLAIN(bytes)                                                                                                  \
  FB_VERBS void __tsan_read##bytes(void* at) { note_access(at, bytes, false, CALLER); }                               \
  FB_VERBS void __tsan_write##bytes(void* at) { note_access(at, bytes, true, CALLER); }                               \
  FB_VERBS void __tsan_unaligned_read##bytes(void* at) { note_access(at, bytes, false, CALLER); }                     \
  FB_VERBS void __tsan_unaligned_write##bytes(void* at) { note_access(at, bytes, true, CALLER); }                     \
  FB_VERBS void __tsan_read_write##bytes(void* at) { note_access(at, bytes, true, CALLER); }                          \
  FB_VERBS void __tsan_unaligned_read_write##bytes(void* at) { note_access(at, bytes, true, CALLER); }                \
  FB_VERBS void __tsan_volatile_read##bytes(void* at) { look_volatile(at, bytes, LookKind::load, CALLER); }           \
  FB_VERBS void __tsan_volatile_write##bytes(void* at) { look_volatile(at, bytes, LookKind::store, CALLER); }         \
  FB_VERBS void __tsan_unaligned_volatile_read##bytes(void* at) { look_volatile(at, bytes, LookKind::load, CALLER); } \
  FB_VERBS void __tsan_unaligned_volatile_write##bytes(void* at) { look_volatile(at, bytes, LookKind::store, CALLER); }

namespace {

bool acquires(int order) { return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE; }
bool releases(int order) { return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST; }

// The load comes behind the call: that it will find what is there now is as good as known.
void look_volatile(const void* at, uint32_t bytes, LookKind kind, const void* caller) {
  if (!bounds.touches(at, bytes) || bytes > sizeof(uint64_t)) return;
  look({.at = at, .bytes = bytes, .kind = kind, .acquires = true, .releases = true}, caller);
  if (kind != LookKind::load) return;
  uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  note_seen(at, value);
}

// Around an atomic access. In registered memory the machine knows what synchronises with what; elsewhere the word may
// be in memory that processes share: a store may tell others something, and a load hear of them.
class AtomicAccess {
 public:
  template <class T>
  AtomicAccess(const volatile T* at, LookKind kind, int order, const void* caller) : kind_(kind) {
    const auto* const address = const_cast<const T*>(at);
    is_registered_ = bounds.touches(address, sizeof(T)) && look({.at = address,
                                                                 .bytes = sizeof(T),
                                                                 .kind = kind,
                                                                 .acquires = kind != LookKind::store && acquires(order),
                                                                 .releases = kind != LookKind::load && releases(order)},
                                                                caller);
    if (!is_registered_ && kind != LookKind::load) note_talk();
  }
  ~AtomicAccess() {
    if (!is_registered_ && kind_ != LookKind::store) note_hear();
  }
  AtomicAccess(const AtomicAccess&) = delete;
  AtomicAccess& operator=(const AtomicAccess&) = delete;

 private:
  LookKind kind_;
  bool is_registered_ = false;
};

}  // namespace

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define ATOMIC(bits, T)                                                                                        \
  FB_VERBS T __tsan_atomic##bits##_load(const volatile T* at, int order) {                                     \
    const AtomicAccess around(at, LookKind::load, order, CALLER);                                              \
    const T value = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                     \
    note_seen(const_cast<const T*>(at), static_cast<uint64_t>(value));                                         \
    return value;                                                                                              \
  }                                                                                                            \
  FB_VERBS void __tsan_atomic##bits##_store(volatile T* at, T value, int order) {                              \
    const AtomicAccess around(at, LookKind::store, order, CALLER);                                             \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                             \
  }                                                                                                            \
  FB_VERBS T __tsan_atomic##bits##_exchange(volatile T* at, T value, int order) {                              \
    const AtomicAccess around(at, LookKind::update, order, CALLER);                                            \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                            \
  FB_VERBS T __tsan_atomic##bits##_fetch_add(volatile T* at, T value, int order) {                             \
    const AtomicAccess around(at, LookKind::update, order, CALLER);                                            \
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                            \
  FB_VERBS T __tsan_atomic##bits##_fetch_sub(volatile T* at, T value, int order) {                             \
    const AtomicAccess around(at, LookKind::update, order, CALLER);                                            \
    return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                            \
  FB_VERBS T __tsan_atomic##bits##_fetch_and(volatile T* at, T value, int order) {                             \
    const AtomicAccess around(at, LookKind::update, order, CALLER);                                            \
    return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                            \
  FB_VERBS T __tsan_atomic##bits##_fetch_or(volatile T* at, T value, int order) {                              \
    const AtomicAccess around(at, LookKind::update, order, CALLER);                                            \
    return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);                                                     \
  }                                                                                                            \
  FB_VERBS T __tsan_atomic##bits##_fetch_xor(volatile T* at, T value, int order) {                             \
    const AtomicAccess around(at, LookKind::update, order, CALLER);                                            \
    return __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                            \
  FB_VERBS T __tsan_atomic##bits##_fetch_nand(volatile T* at, T value, int order) {                            \
    const AtomicAccess around(at, LookKind::update, order, CALLER);                                            \
    return __atomic_fetch_nand(at, value, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                            \
  FB_VERBS T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected, T value, int order, int) { \
    const AtomicAccess around(at, LookKind::update, order, CALLER);                                            \
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);              \
    return expected;                                                                                           \
  }

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

FB_VERBS void __tsan_atomic_thread_fence(int order) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  fence(acquires(order), releases(order));
}
FB_VERBS void __tsan_atomic_signal_fence(int) {}

FB_VERBS void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  note_access(from, bytes, false, CALLER);
  note_access(to, bytes, true, CALLER);
  return std::memcpy(to, from, bytes);
}
FB_VERBS void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  note_access(from, bytes, false, CALLER);
  note_access(to, bytes, true, CALLER);
  return std::memmove(to, from, bytes);
}
FB_VERBS void* __tsan_memset(void* to, int value, size_t bytes) {
  note_access(to, bytes, true, CALLER);
  return std::memset(to, value, bytes);
}

// For libfabricbench_contact.
FB_VERBS void fabricbench_note_talk() { note_talk(); }
FB_VERBS void fabricbench_note_hear() { note_hear(); }

// NOLINTEND(bugprone-reserved-identifier)
