#include "virtual_node/mem/address_space.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>

#include "common/base/check.h"

namespace fb::mem {
namespace {

constexpr uint64_t kRedZone = 512;
constexpr uint64_t kHostAlign = 4096;
constexpr uint64_t kMapFrom = 1 << 20;
constexpr size_t kMostDead = 1024;

uint64_t round_up(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

// Addresses below `end`; 0: there are none left.
Address take(Address& next, Address end, uint64_t size, uint64_t align) {
  const uint64_t room = end - next;
  align = std::max<uint64_t>(align, 256);
  if (align > room || size > room || size + align + 2 * kRedZone > room) return 0;
  const Address begin = round_up(next, align);
  next = round_up(begin + size + kRedZone, 256);
  return begin;
}

}  // namespace

void FreeBytes::operator()(std::byte* p) const {
  if (mapped != 0) {
    munmap(p, mapped);
  } else {
    std::free(p);
  }
}

std::shared_ptr<Allocation> allocate(uint32_t id, uint32_t device, uint64_t size, std::string label,
                                     const FreshBytes* contents) {
  auto a = std::make_shared<Allocation>();
  a->id = id;
  a->device = device;
  a->size = size;
  a->label = std::move(label);
  const uint64_t padded = std::max(round_up(size, kHostAlign), kHostAlign);
  // Large ones come zeroed and untouched from the kernel: pages that no guest touches cost nothing.
  if (padded >= kMapFrom) {
    void* p = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    a->bytes = {static_cast<std::byte*>(p), FreeBytes{padded}};
    if (contents != nullptr && !contents->map(a->bytes.get(), padded, id)) throw std::bad_alloc();
    return a;
  }
  auto* p = static_cast<std::byte*>(std::aligned_alloc(kHostAlign, padded));
  if (p == nullptr) throw std::bad_alloc();
  std::fill_n(p, padded, std::byte{0});
  if (contents != nullptr) contents->fill({p, padded}, id);
  a->bytes.reset(p);
  return a;
}

int create_shared(uint64_t size) {
  const int fd = memfd_create("fabricbench-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  const uint64_t padded = std::max(round_up(size, kHostAlign), kHostAlign);
  if (ftruncate(fd, static_cast<off_t>(padded)) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
    return fd;
  close(fd);
  return -1;
}

std::shared_ptr<Allocation> adopt_shared(uint32_t id, uint64_t size, std::string label, int descriptor) {
  if (size > uint64_t{1} << 62) return nullptr;
  const uint64_t padded = std::max(round_up(size, kHostAlign), kHostAlign);
  struct stat file{};
  struct statfs system{};
  // Asked first: of a file that is no memory nothing else may be asked, as the answer could be long in coming.
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(descriptor, &file) != 0 || file.st_size < 0 ||
      static_cast<uint64_t>(file.st_size) < padded)
    return nullptr;
  // Huge pages can run out when they are touched, which would end the machine.
  if (fstatfs(descriptor, &system) != 0 || system.f_type != TMPFS_MAGIC) return nullptr;
  void* p = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (p == MAP_FAILED) return nullptr;
  auto a = std::make_shared<Allocation>();
  a->id = id;
  a->device = kHostMemory;
  a->size = size;
  a->shared = true;
  a->label = std::move(label);
  a->bytes = {static_cast<std::byte*>(p), FreeBytes{padded}};
  return a;
}

Address AddressSpace::reserve(uint64_t size, uint64_t align) { return take(next_, kGlobalEnd, size, align); }

Address AddressSpace::reserve_constant(uint64_t size, uint64_t align) {
  return take(next_constant_, kGlobalBegin, size, align);
}

const Window& AddressSpace::map(Address begin, std::shared_ptr<Allocation> allocation) {
  FB_CHECK(allocation != nullptr);
  const uint64_t size = allocation->size;
  return map(begin, std::move(allocation), 0, size);
}

const Window& AddressSpace::map(Address begin, std::shared_ptr<Allocation> allocation, uint64_t offset, uint64_t size) {
  FB_CHECK(allocation != nullptr && offset <= allocation->size && size <= allocation->size - offset);
  Window w;
  w.begin = begin;
  w.size = size;
  w.offset = offset;
  w.host = allocation->bytes.get() + offset;
  w.allocation = std::move(allocation);
  return add(std::move(w));
}

const Window& AddressSpace::map(Address begin, std::shared_ptr<const Multicast> multicast, uint64_t offset,
                                uint64_t size) {
  FB_CHECK(multicast != nullptr && offset <= multicast->size && size <= multicast->size - offset);
  Window w;
  w.begin = begin;
  w.size = size;
  w.offset = offset;
  w.multicast = std::move(multicast);
  return add(std::move(w));
}

const Window& AddressSpace::add(Window window) {
  window.live = true;
  auto& free = window.multicast ? free_multicast_windows_ : free_memory_windows_;
  Window* slot = nullptr;
  if (free.empty()) {
    slot = &windows_.emplace_back(std::move(window));
  } else {
    slot = free.back();
    free.pop_back();
    *slot = std::move(window);
  }
  const bool fresh = live_.emplace(slot->begin, slot).second;
  FB_CHECK(fresh);
  return *slot;
}

namespace {

uint32_t id_of(const Window& w) { return w.multicast ? w.multicast->id : w.allocation->id; }
std::string label_of(const Window& w) { return w.multicast ? "multicast object" : w.allocation->label; }

}  // namespace

bool AddressSpace::unmap(Address begin) {
  const auto found = live_.find(begin);
  if (found == live_.end()) return false;
  Window& w = *found->second;
  live_.erase(found);
  if (dead_.size() == kMostDead) dead_.pop_front();
  dead_.push_back({begin, w.size, id_of(w), label_of(w)});
  (w.multicast ? free_multicast_windows_ : free_memory_windows_).push_back(&w);
  w.size = 0;
  w.host = nullptr;
  w.allocation.reset();
  w.multicast.reset();
  w.live = false;
  return true;
}

void AddressSpace::clear() {
  live_.clear();
  free_memory_windows_.clear();
  free_multicast_windows_.clear();
  windows_.clear();
  dead_.clear();
}

const Window* AddressSpace::find(Address a) const {
  const auto after = live_.upper_bound(a);
  if (after == live_.begin()) return nullptr;
  const Window* w = std::prev(after)->second;
  return w->contains(a, 1) ? w : nullptr;
}

std::string AddressSpace::describe(Address a) const {
  if (a < 4096) return "a null pointer";
  uint64_t best = ~0ull;
  std::string text = "no allocation";
  const auto consider = [&](Address begin, uint64_t size, uint32_t id, const std::string& label, const char* state) {
    const bool inside = a - begin < size;
    const uint64_t distance = inside ? 0 : a < begin ? begin - a : a - (begin + size) + 1;
    if (distance > best) return;
    best = distance;
    const std::string where = inside      ? fmt::format("byte {} of", a - begin)
                              : a < begin ? fmt::format("{} bytes before", distance)
                                          : fmt::format("{} bytes past the end of", distance - 1);
    text = fmt::format("{} {} #{} ({} bytes at {:#x}){}", where, label, id, size, begin, state);
  };
  // At the same distance the one that died last explains an address best, and a live one better still.
  for (const Dead& d : dead_) consider(d.begin, d.size, d.id, d.label, ", which was freed");
  const auto after = live_.upper_bound(a);
  if (after != live_.end())
    consider(after->first, after->second->size, id_of(*after->second), label_of(*after->second), "");
  if (after != live_.begin()) {
    const Window& w = *std::prev(after)->second;
    consider(w.begin, w.size, id_of(w), label_of(w), "");
  }
  return text;
}

}  // namespace fb::mem
