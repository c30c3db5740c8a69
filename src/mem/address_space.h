#pragma once

// Global memory: allocations (bytes that exist) and address spaces (where a process sees them).
// Every access is checked against windows, so red zones cost addresses, not memory.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "mem/layout.h"

namespace fb::mem {

struct FreeBytes {
  uint64_t mapped = 0;  // bytes, if the kernel gave them; 0: from the heap
  void operator()(std::byte* p) const;
};

// Bytes of one device, or of the host. Owns its storage, which is zeroed and aligned to 4096.
struct Allocation {
  uint32_t id = 0;
  uint32_t device = 0;
  uint64_t size = 0;
  std::string label;  // for reports: "cudaMalloc", "__device__ counter"
  std::unique_ptr<std::byte[], FreeBytes> bytes;
};

std::shared_ptr<Allocation> allocate(uint32_t id, uint32_t device, uint64_t size, std::string label);

// [begin, begin + size) is valid and lies at `host`. Windows never move and outlive their unmapping (size becomes 0),
// so that a cached pointer to one is always safe to test.
struct Window {
  Address begin = 0;
  uint64_t size = 0;
  std::byte* host = nullptr;
  std::shared_ptr<Allocation> allocation;

  bool contains(Address a, uint64_t bytes) const { return a - begin < size && bytes <= size - (a - begin); }
};

class AddressSpace {
 public:
  AddressSpace() = default;
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // Addresses for `size` bytes, never handed out before, with a red zone behind them.
  Address reserve(uint64_t size, uint64_t align);
  // The same among the addresses of constant variables; 0 when there are none left.
  Address reserve_constant(uint64_t size, uint64_t align);

  // The whole allocation at `begin`, which must come from reserve().
  const Window& map(Address begin, std::shared_ptr<Allocation> allocation);
  // False if no window begins there.
  bool unmap(Address begin);

  // The window that contains `a`, or null.
  const Window* find(Address a) const;

  // For fault reports: "7 bytes past the end of cudaMalloc #3 (64 bytes at 0x…)", "inside cudaMalloc #3, which was
  // freed".
  std::string describe(Address a) const;

 private:
  struct Mapped {
    uint64_t size;
    uint32_t id;
    std::string label;
  };

  std::deque<Window> windows_;       // stable storage
  std::vector<Window*> by_address_;  // live and dead, sorted by begin
  std::vector<Mapped> history_;      // of windows_, as they were mapped: reports speak of dead ones too
  Address next_ = kGlobalBegin;
  Address next_constant_ = kConstantBegin;
};

}  // namespace fb::mem
