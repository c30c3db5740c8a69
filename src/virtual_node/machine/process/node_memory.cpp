#include "virtual_node/machine/process/node_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace fb::machine {

using wire::MemoryKind;

Context& NodeMemory::context(Process& process, uint32_t device) {
  auto& slot = process.contexts[device];
  if (slot) return *slot;
  Context::Services services;
  services.engine = &engine_;
  services.print = [this, &process](std::string_view text) {
    constexpr uint64_t kPrintCost = 200;  // in instructions
    engine_.charge(kPrintCost);
    // Far more than the buffer of a real device holds.
    constexpr size_t kMostOutput = 16 << 20;
    constexpr std::string_view kLost = "\n[kernels printed more than is kept]\n";
    if (process.output.size() + text.size() <= kMostOutput) {
      process.output += text;
    } else if (!process.output.ends_with(kLost)) {
      process.output += kLost;
    }
  };
  services.allocate = [this, &process, device](uint64_t bytes) -> mem::Address {
    Region region;
    region.bytes = bytes;
    region.kind = MemoryKind::unknown;  // the host can't free it
    region.allocation = take_memory(process, device, bytes, "malloc");
    if (!region.allocation) return 0;
    const Region* added = add_region(process, std::move(region));
    return added ? added->begin : 0;
  };
  services.release = [this, &process](mem::Address a) { return release_region(process, a); };
  services.describe = [this, &process, device](mem::Address a) { return describe_for(process, device, a); };
  slot = std::make_unique<Context>(device, std::move(services));
  slot->heap_limit = limits_.heap;
  for (const auto& [begin, region] : process.regions) {
    if (may_touch(process, device, region)) slot->space.map(region.begin, region.allocation);
  }
  return *slot;
}

bool NodeMemory::may_touch(const Process& process, uint32_t device, const Region& region) const {
  const uint32_t owner = region.allocation->device;
  if (owner == mem::kHostMemory || owner == global_device(process, device)) return true;
  if (region.pool) return region.pool->others.contains(device);
  if (region.kind == MemoryKind::imported && region.opened_on == device) return true;
  return process.peers.contains({device, owner - process.first_device});
}

std::shared_ptr<mem::Allocation> NodeMemory::take_memory(Process& process, uint32_t device, uint64_t bytes,
                                                         std::string label, Contents contents) {
  const uint32_t d = global_device(process, device);
  if (!fits(d, bytes)) {
    exports_.prune();
    if (!fits(d, bytes)) return nullptr;
  }
  try {
    const bool fresh = contents == Contents::fresh;
    auto allocation =
        mem::allocate(process.next_allocation++, d, bytes, std::move(label), fresh ? fresh_bytes() : nullptr);
    allocation->fresh = fresh;
    return budget_.count(std::move(allocation));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::shared_ptr<mem::Allocation> NodeMemory::take_shared(Process& process, uint64_t bytes, std::string label,
                                                         int descriptor, std::optional<Contents> contents) {
  if (!budget_.fits_host(bytes)) return nullptr;
  auto allocation = mem::adopt_shared(process.next_allocation++, bytes, std::move(label), descriptor);
  // Here pages are touched, and so only the first ones.
  constexpr uint64_t kMostFilled = 16 << 20;
  if (allocation && contents == Contents::fresh)
    fresh_.fill({allocation->bytes.get(), std::min(bytes, kMostFilled)}, allocation->id);
  return allocation ? budget_.count(std::move(allocation)) : nullptr;
}

Region* NodeMemory::add_region(Process& process, Region region) {
  if (region.begin == 0) {
    // Memory that a host process also maps takes whole pages; large memory is aligned to large pages.
    constexpr uint64_t kPage = 4096, kLargePage = 1 << 21, kLarge = 1 << 20;
    const uint64_t pages = (region.bytes + kPage - 1) / kPage * kPage;
    region.begin = region.allocation->shared
                       ? process.all.reserve(pages, kPage)
                       : process.all.reserve(region.bytes, region.bytes >= kLarge ? kLargePage : 512);
    if (region.begin == 0) return nullptr;
  }
  const mem::Address begin = region.begin;
  process.all.map(begin, region.allocation);
  Region& stored = process.regions[begin] = std::move(region);
  for (auto& [device, context] : process.contexts) {
    if (may_touch(process, device, stored)) context->space.map(stored.begin, stored.allocation);
  }
  return &stored;
}

void NodeMemory::forget_everywhere(Process& process) {
  for (auto& [device, context] : process.contexts) context->forget();
}

void NodeMemory::unmap_everywhere(Process& process, mem::Address begin) {
  for (auto& [device, context] : process.contexts) context->space.unmap(begin);
  process.all.unmap(begin);
}

bool NodeMemory::release_region(Process& process, mem::Address begin) {
  if (!process.regions.contains(begin)) return false;
  release_regions(process, {&begin, 1});
  return true;
}

void NodeMemory::note_free(const Process& process, mem::Address begin) {
  const auto found = process.regions.find(begin);
  if (!checking_ || found == process.regions.end() || found->second.token == 0) return;
  checking_->freed(process.number, process.rank, found->second.token);
}

void NodeMemory::release_regions(Process& process, std::span<const mem::Address> begins) {
  forget_everywhere(process);
  for (const mem::Address begin : begins) {
    const auto found = process.regions.find(begin);
    if (found == process.regions.end()) continue;
    unmap_everywhere(process, begin);
    const Region& region = found->second;
    if (region.kind == MemoryKind::imported) {
      process.imported.erase({region.token, region.opened_on});
      if (checking_) checking_->closed(process.number, region.token);
    } else if (region.token != 0) {
      tokens_.remove(region.token);
    }
    process.regions.erase(found);
  }
}

std::string NodeMemory::describe_for(const Process& process, uint32_t device, mem::Address a) const {
  const mem::Window* w = process.all.find(a);
  if (!w) return process.all.describe(a);
  std::string what = process.all.describe(a);
  if (w->multicast)
    return what + fmt::format(", a multicast object that device {} was given no access to (cuMemSetAccess)", device);
  const uint32_t owner = w->allocation->device;
  if (owner == mem::kHostMemory) return what;
  const auto region = process.regions.find(w->begin);
  const char* const missing = region == process.regions.end() ? "cuMemSetAccess"
                              : region->second.pool           ? "cudaMemPoolSetAccess"
                                                              : "cudaDeviceEnablePeerAccess";
  return what + fmt::format(" of device {}, to which device {} has no access ({} was not called)",
                            owner - process.first_device, device, missing);
}

void NodeMemory::set_access(Process& process, Pool& pool, uint32_t device, bool accessible) {
  if (pool.others.contains(device) == accessible) return;
  if (accessible) {
    pool.others.insert(device);
  } else {
    pool.others.erase(device);
  }
  // Memory that is allocated already changes with its pool.
  Context& accessing = context(process, device);
  if (!accessible) accessing.forget();
  for (const auto& [begin, region] : process.regions) {
    if (region.pool.get() != &pool) continue;
    const bool mapped = accessing.space.find(begin) != nullptr;
    if (accessible && !mapped) accessing.space.map(begin, region.allocation);
    if (!accessible && mapped) accessing.space.unmap(begin);
  }
}

bool NodeMemory::is_direct(Process& process, uint32_t copying, const Ends& ends) {
  const auto reaches = [&](uint32_t device, mem::Address a) {
    return context(process, device).space.find(a) != nullptr;
  };
  return reaches(ends.owner_of_to - process.first_device, ends.from) ||
         reaches(ends.owner_of_from - process.first_device, ends.to) ||
         (reaches(copying, ends.from) && reaches(copying, ends.to));
}

Bytes NodeMemory::find_bytes(Process& process, mem::Address a, uint64_t size) const {
  const mem::Window* w = process.all.find(a);
  if (!w || !w->host || !w->contains(a, size)) return {};
  return {w->host + (a - w->begin), w->allocation};
}

}  // namespace fb::machine
