// Memory of devices and of the host, pointers, peers, and memory of other processes.

#include <algorithm>
#include <cstring>
#include <iterator>

#include "virtual_node/machine/requests/handlers.h"

namespace fb::machine {
namespace {

using wire::MemoryKind;
using wire::Status;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kTokenMagic = 0x4D454D2D43495046;  // "FPIC-MEM"
constexpr uint64_t kMostRefusals = 1000;

bool is_host(MemoryKind kind) { return kind == MemoryKind::host || kind == MemoryKind::managed; }

Region* region_around(Process& process, mem::Address a) {
  auto it = process.regions.upper_bound(a);
  if (it == process.regions.begin()) return nullptr;
  Region& r = (--it)->second;
  return a - r.begin < std::max<uint64_t>(r.bytes, 1) ? &r : nullptr;
}

}  // namespace

Status on_allocate(NodeServices& node, Call& call, const wire::Allocate& m, wire::Address& reply, Answer& answer) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  if (const Status s = sticky_error(process, m.device); s != Status::ok) return s;
  if (m.bytes == 0) return Status::invalid_value;
  if (!process.may_make_more()) return Status::out_of_memory;
  call.thread->spend(node.platform.calls.allocate);
  Region region;
  region.kind = m.kind;
  region.bytes = m.bytes;
  if (m.kind == MemoryKind::device) {
    region.allocation = node.memory.take_memory(process, m.device, m.bytes, "cudaMalloc");
  } else if (is_host(m.kind)) {
    UniqueFd fd(m.bytes > node.budget.room() ? -1 : mem::create_shared(m.bytes));
    if (fd) {
      region.allocation = node.memory.take_shared(process, m.bytes,
                                                  m.kind == MemoryKind::host ? "pinned host memory" : "managed memory",
                                                  fd.get(), NodeMemory::Contents::fresh);
    }
    answer.owned = std::move(fd);
  } else {
    return Status::invalid_value;
  }
  if (!region.allocation) {
    answer.owned.reset();
    if (++process.refused == kMostRefusals) {
      node.report(make_incident(record::IncidentReason::allocations_refused, process.rank,
                                name_of(process) + " keeps requesting memory of a device that has none left, " +
                                    std::to_string(kMostRefusals) + " times without freeing any."));
    }
    return Status::out_of_memory;
  }
  process.refused = 0;
  const Region* added = node.memory.add_region(process, std::move(region));
  if (!added) {
    answer.owned.reset();
    return Status::out_of_memory;
  }
  if (is_host(m.kind)) process.has_shared_memory = true;
  reply = {added->begin, added->bytes};
  return Status::ok;
}

Status on_free(NodeServices& node, Call& call, const wire::Free& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.regions.find(m.address);
  if (found == process.regions.end()) return Status::invalid_value;
  const Region& r = found->second;
  if (r.of_judge) return Status::invalid_value;
  const bool wants_host = is_host(m.kind);
  if (wants_host ? r.kind != MemoryKind::host : r.kind != MemoryKind::device && r.kind != MemoryKind::managed)
    return Status::invalid_value;
  const uint32_t owner = r.allocation->device;
  // Freeing waits for everything that may still use the memory, as CUDA does.
  std::vector<OperationPtr> operations;
  for (uint32_t d = 0; d < node.platform.node.devices; ++d) {
    if (owner == mem::kHostMemory || global_device(process, d) == owner)
      std::ranges::copy(node.streams.operations_of_device(process, d), std::back_inserter(operations));
  }
  call.thread->spend(node.platform.calls.allocate);
  const uint32_t device = owner == mem::kHostMemory ? 0 : owner - process.first_device;
  node.threads.wait_for(*call.thread, std::move(operations), device, [&node, &process, a = m.address](Answer&) {
    process.refused = 0;
    // Processes that are not judged may tell each other in unseen ways that they have closed it.
    if (node.judge) node.memory.note_free(process, a);
    node.memory.release_region(process, a);
  });
  return kLater;
}

Status on_register_host(NodeServices& node, Call& call, const wire::RegisterHost& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  if (m.bytes == 0 || m.address % kPage != 0 || m.bytes % kPage != 0 || !call.descriptor) return Status::invalid_value;
  // Addresses that the machine hands out can't be registered.
  if (m.address < mem::kGlobalEnd || m.address + m.bytes < m.address) return Status::invalid_value;
  if (!process.may_make_more()) return Status::out_of_memory;
  const auto next = process.regions.lower_bound(m.address);
  const bool next_overlaps = next != process.regions.end() && next->first < m.address + m.bytes;
  const bool last_overlaps =
      next != process.regions.begin() && std::prev(next)->first + std::prev(next)->second.bytes > m.address;
  if (next_overlaps || last_overlaps) return Status::host_memory_already_registered;
  if (m.bytes > node.budget.room()) return Status::out_of_memory;
  Region region;
  region.begin = m.address;
  region.bytes = m.bytes;
  region.kind = MemoryKind::registered;
  region.allocation = node.memory.take_shared(process, m.bytes, "registered host memory", call.descriptor.get());
  if (!region.allocation) return Status::invalid_value;
  process.has_shared_memory = true;
  call.thread->spend(node.platform.calls.allocate);
  node.memory.add_region(process, std::move(region));
  return Status::ok;
}

Status on_unregister_host(NodeServices& node, Call& call, const wire::Free& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.regions.find(m.address);
  if (found == process.regions.end() || found->second.kind != MemoryKind::registered)
    return Status::host_memory_not_registered;
  node.memory.release_region(process, m.address);
  return Status::ok;
}

Status on_describe_pointer(NodeServices&, Call& call, const wire::DescribePointer& m, wire::PointerFacts& reply,
                           Answer&) {
  Process& process = *call.thread->process;
  const auto local = [&](const mem::Allocation& a) {
    return a.device == mem::kHostMemory ? -1 : static_cast<int32_t>(a.device - process.first_device);
  };
  if (const Region* r = region_around(process, m.address)) {
    reply = {r->kind, local(*r->allocation), r->begin, r->bytes, r->allocation->id};
    return Status::ok;
  }
  auto it = process.mappings.upper_bound(m.address);
  if (it == process.mappings.begin()) return Status::ok;
  const auto& [begin, mapping] = *--it;
  if (m.address - begin >= mapping.bytes) return Status::ok;
  const Physical& p = *mapping.physical;
  reply = {p.multicast ? MemoryKind::multicast : MemoryKind::physical, p.multicast ? -1 : local(*p.allocation), begin,
           mapping.bytes, p.multicast ? p.multicast->id : p.allocation->id};
  return Status::ok;
}

Status on_memory_info(NodeServices& node, Call& call, const wire::OfDevice& m, wire::MemoryInfo& reply, Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  node.exports.prune();
  reply.total = node.limits.memory;
  reply.free = node.limits.memory - node.budget.used(global_device(process, m.device));
  return Status::ok;
}

// Peers

Status on_enable_peer(NodeServices& node, Call& call, const wire::Peer& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device) || !node.memory.valid_device(m.peer) || m.device == m.peer)
    return Status::invalid_device;
  if (!node.platform.peer.access) return Status::peer_access_unsupported;
  if (!process.peers.insert({m.device, m.peer}).second) return Status::peer_access_already_enabled;
  call.thread->spend(node.platform.calls.allocate);
  Context& context = node.memory.context(process, m.device);
  for (const auto& [begin, region] : process.regions) {
    if (region.allocation->device == global_device(process, m.peer) && !context.space.find(begin))
      context.space.map(region.begin, region.allocation);
  }
  return Status::ok;
}

Status on_disable_peer(NodeServices& node, Call& call, const wire::Peer& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device) || !node.memory.valid_device(m.peer)) return Status::invalid_device;
  if (process.peers.erase({m.device, m.peer}) == 0) return Status::peer_access_not_enabled;
  Context& context = node.memory.context(process, m.device);
  context.forget();
  for (const auto& [begin, region] : process.regions) {
    if (!node.memory.may_touch(process, m.device, region)) context.space.unmap(begin);
  }
  return Status::ok;
}

// Memory of other processes

Status on_ipc_export(NodeServices& node, Call& call, const wire::DescribePointer& m, wire::IpcToken& reply, Answer&) {
  Process& process = *call.thread->process;
  Region* r = region_around(process, m.address);
  // Memory of pools goes to other processes with its pool.
  if (!r || r->kind != MemoryKind::device || r->pool) return Status::invalid_value;
  // The same memory gives the same token, so that importers can count.
  if (r->token == 0) {
    r->token = node.tokens.add(process, r->allocation);
  }
  reply = node.tokens.handle_of(kTokenMagic, r->token);
  return Status::ok;
}

Status on_ipc_import(NodeServices& node, Call& call, const wire::IpcImport& m, wire::Address& reply, Answer&) {
  Process& process = *call.thread->process;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  const uint64_t number = node.tokens.token_of(kTokenMagic, m.token);
  const SharedObject* shared = node.tokens.find(number);
  if (!shared || !shared->allocation) return Status::invalid_value;
  if (shared->owner == &process) return Status::invalid_context;
  const auto& allocation = shared->allocation;
  const uint32_t own = global_device(process, m.device);
  if (node.platform.node_of(allocation->device) != node.platform.node_of(own)) return Status::map_failed;
  if (allocation->device != own && !node.platform.peer.access) return Status::peer_access_unsupported;
  if (const auto known = process.imported.find({number, m.device}); known != process.imported.end()) {
    Region& region = process.regions.at(known->second);
    ++region.opened;
    reply = {region.begin, region.bytes};
    return Status::ok;
  }
  if (!process.may_make_more()) return Status::out_of_memory;
  call.thread->spend(node.platform.calls.allocate);
  Region region;
  region.kind = MemoryKind::imported;
  region.bytes = allocation->size;
  region.allocation = allocation;
  region.opened_on = m.device;
  region.opened = 1;
  region.token = number;
  const Region* added = node.memory.add_region(process, std::move(region));
  if (!added) return Status::out_of_memory;
  process.imported[{number, m.device}] = added->begin;
  if (node.checking) node.checking->opened(process.number, number);
  reply = {added->begin, added->bytes};
  return Status::ok;
}

Status on_ipc_close(NodeServices& node, Call& call, const wire::Free& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.regions.find(m.address);
  if (found == process.regions.end() || found->second.kind != MemoryKind::imported) return Status::invalid_value;
  if (--found->second.opened == 0) node.memory.release_region(process, m.address);
  return Status::ok;
}

}  // namespace fb::machine
