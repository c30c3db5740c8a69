#pragma once

// Global memory: allocations (bytes that exist) and address spaces (where a process sees them).
// Every access is checked against windows, so red zones cost addresses, not memory.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "virtual_node/mem/fresh_bytes.h"
#include "virtual_node/mem/layout.h"
#include "virtual_node/mem/multicast.h"

namespace fb::mem {

struct FreeBytes {
  uint64_t mapped = 0;  // bytes, if the kernel gave them; 0: from the heap
  void operator()(std::byte* p) const;
};

// Allocation::device of memory that belongs to no device.
inline constexpr uint32_t kHostMemory = ~uint32_t{0};

// Bytes of one device, or of the host. Owns its storage, which is aligned to 4096.
struct Allocation {
  uint32_t id = 0;
  uint32_t device = 0;
  uint64_t size = 0;
  bool fresh = false;   // began with bytes that mean nothing: a program must write them before it reads them
  bool shared = false;  // a process of the host maps the same pages: they change without the machine's doing
  std::string label;    // for reports: "cudaMalloc", "__device__ counter"
  std::shared_ptr<void> attachment = nullptr;  // whatever an observer keeps about it
  std::unique_ptr<std::byte[], FreeBytes> bytes;
};

// Zeroed, or with the bytes that `contents` says.
std::shared_ptr<Allocation> allocate(uint32_t id, uint32_t device, uint64_t size, std::string label,
                                     const FreshBytes* contents = nullptr);

// Memory of the host in pages that others can map too: `descriptor` (memfd) must hold `size` bytes and be sealed
// against shrinking, or a foreign process could make the machine fault. Null where it is not so. The descriptor stays
// open and the caller's.
std::shared_ptr<Allocation> adopt_shared(uint32_t id, uint64_t size, std::string label, int descriptor);
// A new descriptor for that: `size` zeroed bytes rounded up to pages, sealed. -1 when the system has no more.
int create_shared(uint64_t size);

// [begin, begin + size) is valid and mapped at `host`. Windows never move and outlive their unmapping (size becomes 0),
// so that a cached pointer to one is always safe to test. A later window may reuse the object of a dead one: code that
// tests finds that one's addresses then. A window of memory never becomes one of a multicast object.
struct Window {
  Address begin = 0;
  uint64_t size = 0;
  std::byte* host = nullptr;
  std::shared_ptr<Allocation> allocation;
  // Where several devices answer: `host` is null, and only multimem instructions reach the bytes.
  std::shared_ptr<const Multicast> multicast;
  uint64_t offset = 0;  // of `begin` in the allocation or multicast object
  bool live = false;

  bool contains(Address a, uint64_t bytes) const { return a - begin < size && bytes <= size - (a - begin); }
};

class AddressSpace {
 public:
  AddressSpace() = default;
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // Addresses for `size` bytes, never handed out before, with a red zone behind them; 0 when there are none left.
  Address reserve(uint64_t size, uint64_t align);
  // The same among the addresses of constant variables; 0 when there are none left.
  Address reserve_constant(uint64_t size, uint64_t align);

  // The whole allocation at `begin`, which must be free: from reserve(), or a host process's own.
  const Window& map(Address begin, std::shared_ptr<Allocation> allocation);
  // A part of it.
  const Window& map(Address begin, std::shared_ptr<Allocation> allocation, uint64_t offset, uint64_t size);
  const Window& map(Address begin, std::shared_ptr<const Multicast> multicast, uint64_t offset, uint64_t size);
  // False if no window begins there.
  bool unmap(Address begin);
  // Everything, and no pointer to a window is safe any more. Addresses that were handed out stay so.
  void clear();

  // The window that contains `a`, or null.
  const Window* find(Address a) const;

  // For fault reports: "7 bytes past the end of cudaMalloc #3 (64 bytes at 0x…)", "inside cudaMalloc #3, which was
  // freed".
  std::string describe(Address a) const;

 private:
  const Window& add(Window window);

  struct Dead {
    Address begin = 0;
    uint64_t size = 0;
    uint32_t id = 0;
    std::string label;
  };

  std::deque<Window> windows_;                                         // stable storage
  std::vector<Window*> free_memory_windows_, free_multicast_windows_;  // dead ones, to be used again
  std::map<Address, Window*> live_;
  std::deque<Dead> dead_;  // the last few: reports speak of them
  Address next_ = kGlobalBegin;
  Address next_constant_ = kConstantBegin;
};

}  // namespace fb::mem
