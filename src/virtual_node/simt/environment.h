#pragma once

// What a warp needs from the machine around it.

#include <cstdint>
#include <string>
#include <string_view>

#include "virtual_node/mem/address_space.h"
#include "virtual_node/simt/watch.h"

namespace fb::simt {

class DeviceRuntime;
class Warp;
struct AsyncCopy;

class Environment {
 public:
  virtual ~Environment() = default;

  virtual mem::AddressSpace& global() = 0;
  virtual Watch& watch() = 0;

  // The warp can run again: it was let go (a barrier, a copy, time), or bytes have changed on which it slept.
  enum class Cause : uint8_t { let_go, memory };
  virtual void make_ready(Warp& warp, Cause cause) = 0;
  // The owner of the memory at `a`, for fault reports.
  virtual std::string describe(mem::Address a) { return global().describe(a); }
  // Guest output (printf).
  virtual void print(std::string_view text) = 0;
  // %clock64 in cycles, %globaltimer in nanoseconds.
  virtual uint64_t cycles() = 0;
  virtual uint64_t nanoseconds() = 0;
  // Takes over a copy that completes later (cp.async, bulk copies).
  virtual void start(AsyncCopy copy) = 0;
  // Device heap (malloc and free in kernels); 0 when it is exhausted. release() is false for foreign pointers.
  virtual mem::Address heap_allocate(uint64_t bytes) = 0;
  virtual bool heap_release(mem::Address a) = 0;
  // What kernels may call of CUDA's runtime; null: nothing.
  virtual DeviceRuntime* device_runtime() { return nullptr; }
};

}  // namespace fb::simt
