#include "mem/address_space.h"

#include <fmt/format.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/check.h"

namespace fb::mem {
namespace {

constexpr uint64_t kRedZone = 512;
constexpr uint64_t kHostAlign = 4096;
constexpr uint64_t kMapFrom = 1 << 20;

uint64_t round_up(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

Address take(Address& next, uint64_t size, uint64_t align) {
  const Address begin = round_up(next, std::max<uint64_t>(align, 256));
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

std::shared_ptr<Allocation> allocate(uint32_t id, uint32_t device, uint64_t size, std::string label) {
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
    return a;
  }
  auto* p = static_cast<std::byte*>(std::aligned_alloc(kHostAlign, padded));
  if (p == nullptr) throw std::bad_alloc();
  std::fill_n(p, padded, std::byte{0});
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
  const uint64_t padded = std::max(round_up(size, kHostAlign), kHostAlign);
  struct stat file {};
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(descriptor, &file) != 0 || file.st_size < 0 ||
      static_cast<uint64_t>(file.st_size) < padded)
    return nullptr;
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

Address AddressSpace::reserve(uint64_t size, uint64_t align) { return take(next_, size, align); }

Address AddressSpace::reserve_constant(uint64_t size, uint64_t align) {
  const uint64_t room = kGlobalBegin - next_constant_;
  if (align > room / 4 || size > room / 2 || size + align + 2 * kRedZone > room) return 0;
  return take(next_constant_, size, align);
}

const Window& AddressSpace::map(Address begin, std::shared_ptr<Allocation> allocation) {
  FB_CHECK(allocation != nullptr);
  const uint64_t size = allocation->size;
  return map(begin, std::move(allocation), 0, size);
}

const Window& AddressSpace::map(Address begin, std::shared_ptr<Allocation> allocation, uint64_t offset,
                                uint64_t size) {
  FB_CHECK(allocation != nullptr && offset <= allocation->size && size <= allocation->size - offset);
  Window w;
  w.begin = begin;
  w.size = size;
  w.offset = offset;
  w.host = allocation->bytes.get() + offset;
  w.allocation = std::move(allocation);
  const uint32_t id = w.allocation->id;
  std::string label = w.allocation->label;
  return add(std::move(w), id, std::move(label));
}

const Window& AddressSpace::map(Address begin, std::shared_ptr<const Multicast> multicast, uint64_t offset,
                                uint64_t size) {
  FB_CHECK(multicast != nullptr && offset <= multicast->size && size <= multicast->size - offset);
  Window w;
  w.begin = begin;
  w.size = size;
  w.offset = offset;
  w.multicast = std::move(multicast);
  const uint32_t id = w.multicast->id;
  return add(std::move(w), id, "multicast object");
}

const Window& AddressSpace::add(Window window, uint32_t id, std::string label) {
  window.live = true;
  history_.push_back({window.size, id, std::move(label)});
  Window& stored = windows_.emplace_back(std::move(window));
  const auto at = std::ranges::upper_bound(by_address_, stored.begin, {}, &Window::begin);
  by_address_.insert(at, &stored);
  return stored;
}

bool AddressSpace::unmap(Address begin) {
  // Several dead windows may begin here (the same address mapped again); at most one is alive.
  const auto [first, last] = std::ranges::equal_range(by_address_, begin, {}, &Window::begin);
  for (auto it = first; it != last; ++it) {
    if (!(*it)->live) continue;
    (*it)->size = 0;
    (*it)->host = nullptr;
    (*it)->allocation.reset();
    (*it)->multicast.reset();
    (*it)->live = false;
    return true;
  }
  return false;
}

const Window* AddressSpace::find(Address a) const {
  auto it = std::ranges::upper_bound(by_address_, a, {}, &Window::begin);
  while (it != by_address_.begin()) {
    const Window* w = *--it;
    if (w->contains(a, 1)) return w;
    if (w->live) return nullptr;
  }
  return nullptr;
}

std::string AddressSpace::describe(Address a) const {
  if (a < 4096) return "a null pointer";
  const Window* best = nullptr;
  uint64_t best_distance = ~0ull;
  std::string text = "no allocation";
  for (size_t k = 0; k < windows_.size(); ++k) {
    const Window& w = windows_[k];
    const auto& [size, id, label] = history_[k];
    const bool inside = a - w.begin < size;
    const uint64_t distance = inside ? 0 : a < w.begin ? w.begin - a : a - (w.begin + size) + 1;
    // A live allocation explains an address better than a dead one at the same distance.
    if (distance > best_distance || (distance == best_distance && best && best->live)) continue;
    best = &w;
    best_distance = distance;
    const std::string where = inside        ? fmt::format("byte {} of", a - w.begin)
                              : a < w.begin ? fmt::format("{} bytes before", distance)
                                            : fmt::format("{} bytes past the end of", distance - 1);
    text = fmt::format("{} {} #{} ({} bytes at {:#x}){}", where, label, id, size, w.begin,
                       w.live ? "" : ", which was freed");
  }
  return text;
}

}  // namespace fb::mem
