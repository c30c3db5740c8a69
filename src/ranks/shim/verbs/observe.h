#pragma once

// Accesses of the program's own code to registered memory. Its compiler has been told to call a function before each
// (instrumented.cpp); plain ones go into a ring that the machine reads (wire::VerbsAccess), atomic and volatile ones
// are requests of their own: there a thread learns what others have done, and may have to wait for it.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/wire/messages.h"

namespace fb::shim::verbs {

// The program has been built so that its accesses are reported.
void note_instrumented();
// Memory becomes registered, or is not any more.
void observe(const void* begin, size_t bytes);
void forget(const void* begin, size_t bytes);

// All registered memory lies between these.
struct Bounds {
  std::atomic<uintptr_t> low{~uintptr_t{0}}, high{0};
  bool touches(const void* at, size_t bytes) const {
    const auto begin = reinterpret_cast<uintptr_t>(at);
    return begin < high.load(std::memory_order_relaxed) && begin + bytes > low.load(std::memory_order_relaxed);
  }
};
extern Bounds bounds;

// A plain access; what is not registered is left out.
void note_access(const void* at, size_t bytes, bool writes, const void* return_address);
// The program may have told other processes something, or have heard something of them.
void note_talk();
void note_hear();

// Before an atomic or volatile access to a word.
struct Look {
  const void* at = nullptr;
  uint32_t bytes = 0;
  wire::VerbsLook::Kind kind{};
  bool acquires = false, releases = false;
};
// False: it is not registered.
bool look(const Look& look, const void* return_address);
// Behind a load: what it has returned.
void note_seen(const void* at, uint64_t value);
void fence(bool acquires, bool releases);

}  // namespace fb::shim::verbs
