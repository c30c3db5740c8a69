// Physical memory, reserved addresses, mappings, access, and multicast objects.

#include <algorithm>
#include <iterator>
#include <utility>

#include "virtual_node/machine/requests/handlers.h"

namespace fb::machine {
namespace {

using wire::Access;
using wire::Id;
using wire::kGranularity;
using wire::Status;

std::shared_ptr<Physical> find_physical(Process& process, Id handle) {
  const auto found = process.physical.find(handle);
  return found == process.physical.end() ? nullptr : found->second;
}

constexpr uint64_t kFabricMagic = 0x4241462D43495046;  // "FPIC-FAB"
constexpr size_t kMostPieces = 1 << 16;                // of a member of a multicast object

Id add_physical(Process& process, std::shared_ptr<Physical> physical) {
  const Id id = process.next_id++;
  process.physical[id] = std::move(physical);
  process.physical_references[id] = 1;
  return id;
}

// Mappings that make up [address, address + bytes) exactly; empty: they do not.
std::vector<mem::Address> mappings_of(const Process& process, uint64_t address, uint64_t bytes) {
  std::vector<mem::Address> found;
  uint64_t at = address;
  if (address + bytes < address) return {};
  while (at < address + bytes) {
    const auto it = process.mappings.find(at);
    if (it == process.mappings.end()) return {};
    found.push_back(at);
    at += it->second.bytes;
  }
  return at == address + bytes ? found : std::vector<mem::Address>{};
}

void map_window(mem::AddressSpace& space, mem::Address begin, const Mapping& m) {
  if (m.physical->multicast) {
    space.map(begin, std::shared_ptr<const mem::Multicast>(m.physical->multicast), m.offset, m.bytes);
  } else {
    space.map(begin, m.physical->allocation, m.offset, m.bytes);
  }
}

}  // namespace

Status on_physical_create(NodeServices& node, Call& call, const wire::PhysicalCreate& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  if (m.device < 0 || !node.memory.valid_device(static_cast<uint32_t>(m.device))) return Status::invalid_device;
  if (m.bytes == 0 || m.bytes % kGranularity != 0) return Status::invalid_value;
  if (!process.may_make_more()) return Status::out_of_memory;
  call.thread->spend(node.platform.calls.allocate);
  auto physical = std::make_shared<Physical>();
  physical->bytes = m.bytes;
  physical->device = m.device + static_cast<int32_t>(process.first_device);
  physical->shareable = m.shareable;
  physical->allocation = node.memory.take_memory(process, static_cast<uint32_t>(m.device), m.bytes, "cuMemCreate");
  if (!physical->allocation) return Status::out_of_memory;
  reply.handle = add_physical(process, std::move(physical));
  return Status::ok;
}

Status on_physical_release(NodeServices&, Call& call, const wire::OfHandle& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  if (!find_physical(process, m.handle)) return Status::invalid_value;
  // Mappings and multicast objects keep the memory.
  if (--process.physical_references[m.handle] == 0) {
    process.physical_references.erase(m.handle);
    process.physical.erase(m.handle);
  }
  return Status::ok;
}

Status on_physical_retain(NodeServices&, Call& call, const wire::DescribePointer& m, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  auto it = process.mappings.upper_bound(m.address);
  if (it == process.mappings.begin()) return Status::invalid_value;
  const auto& [begin, mapping] = *--it;
  if (m.address - begin >= mapping.bytes) return Status::invalid_value;
  for (auto& [id, physical] : process.physical) {
    if (physical != mapping.physical) continue;
    ++process.physical_references[id];
    reply.handle = id;
    return Status::ok;
  }
  if (!process.may_make_more()) return Status::out_of_memory;
  reply.handle = add_physical(process, mapping.physical);
  return Status::ok;
}

Status on_physical_facts(NodeServices&, Call& call, const wire::OfHandle& m, wire::PhysicalFacts& reply, Answer&) {
  Process& process = *call.thread->process;
  const auto physical = find_physical(process, m.handle);
  if (!physical) return Status::invalid_value;
  reply = {physical->bytes, physical->multicast ? -1 : physical->device - static_cast<int32_t>(process.first_device),
           physical->shareable, physical->multicast ? 1u : 0u, 0};
  return Status::ok;
}

Status on_physical_export(NodeServices& node, Call& call, const wire::OfHandle& m, wire::Empty&, Answer& answer) {
  const auto physical = find_physical(*call.thread->process, m.handle);
  if (!physical || (physical->shareable & wire::kAsDescriptor) == 0) return Status::invalid_value;
  answer.owned = node.exports.write(physical);
  return answer.owned ? Status::ok : Status::out_of_memory;
}

Status on_physical_import(NodeServices& node, Call& call, const wire::Empty&, wire::Handle& reply, Answer&) {
  Process& process = *call.thread->process;
  if (!call.descriptor) return Status::invalid_value;
  auto physical = node.exports.find(call.descriptor.get());
  if (!physical) return Status::invalid_value;
  if (!process.may_make_more()) return Status::out_of_memory;
  reply.handle = add_physical(process, std::move(physical));
  return Status::ok;
}

// Within a node, whose processes alone can reach the memory.
Status on_physical_export_fabric(NodeServices& node, Call& call, const wire::OfHandle& m, wire::IpcToken& reply,
                                 Answer&) {
  Process& process = *call.thread->process;
  const auto physical = find_physical(process, m.handle);
  if (!physical || (physical->shareable & wire::kAsFabricHandle) == 0) return Status::invalid_value;
  if (node.platform.nvlink.switches == 0) return Status::not_supported;
  if (!node.tokens.find(physical->fabric_token))
    physical->fabric_token = node.tokens.add(process, std::weak_ptr(physical));
  reply = node.tokens.handle_of(kFabricMagic, physical->fabric_token);
  return Status::ok;
}

Status on_physical_import_fabric(NodeServices& node, Call& call, const wire::IpcToken& m, wire::Handle& reply,
                                 Answer&) {
  Process& process = *call.thread->process;
  const SharedObject* shared = node.tokens.find(node.tokens.token_of(kFabricMagic, m));
  auto physical = shared ? shared->physical.lock() : nullptr;
  if (!physical || shared->owner->first_device != process.first_device) return Status::invalid_value;
  if (!process.may_make_more()) return Status::out_of_memory;
  reply.handle = add_physical(process, std::move(physical));
  return Status::ok;
}

// Addresses

Status on_range_reserve(NodeServices&, Call& call, const wire::RangeReserve& m, wire::Address& reply, Answer&) {
  Process& process = *call.thread->process;
  constexpr uint64_t kLargest = uint64_t{1} << 43;
  if (m.bytes == 0 || m.bytes % kGranularity != 0 || m.bytes > kLargest) return Status::invalid_value;
  if (m.align != 0 && ((m.align & (m.align - 1)) != 0 || m.align > kLargest)) return Status::invalid_value;
  if (!process.may_make_more()) return Status::out_of_memory;
  const mem::Address begin = process.all.reserve(m.bytes, std::max(m.align, kGranularity));
  if (begin == 0) return Status::out_of_memory;
  process.reserved[begin] = m.bytes;
  reply = {begin, m.bytes};
  return Status::ok;
}

Status on_range_free(NodeServices&, Call& call, const wire::Range& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = process.reserved.find(m.address);
  if (found == process.reserved.end() || found->second != m.bytes) return Status::invalid_value;
  const auto first = process.mappings.lower_bound(m.address);
  if (first != process.mappings.end() && first->first < m.address + m.bytes) return Status::invalid_value;
  process.reserved.erase(found);
  return Status::ok;
}

Status on_range_map(NodeServices& node, Call& call, const wire::RangeMap& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto physical = find_physical(process, m.physical);
  if (!physical) return Status::invalid_value;
  if (m.bytes == 0 || m.bytes % kGranularity != 0 || m.address % kGranularity != 0 || m.offset % kGranularity != 0 ||
      m.offset > physical->bytes || m.bytes > physical->bytes - m.offset)
    return Status::invalid_value;
  auto range = process.reserved.upper_bound(m.address);
  if (range == process.reserved.begin()) return Status::invalid_value;
  --range;
  if (m.address - range->first >= range->second || m.bytes > range->second - (m.address - range->first))
    return Status::invalid_value;
  auto next = process.mappings.lower_bound(m.address);
  const bool next_overlaps = next != process.mappings.end() && next->first < m.address + m.bytes;
  const bool last_overlaps =
      next != process.mappings.begin() && std::prev(next)->first + std::prev(next)->second.bytes > m.address;
  if (next_overlaps || last_overlaps) return Status::invalid_value;
  if (!process.may_make_more()) return Status::out_of_memory;
  call.thread->spend(node.platform.calls.allocate);
  Mapping& mapping = process.mappings[m.address] = {m.bytes, m.offset, physical, {}};
  map_window(process.all, m.address, mapping);
  return Status::ok;
}

Status on_range_unmap(NodeServices& node, Call& call, const wire::Range& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto found = mappings_of(process, m.address, m.bytes);
  if (found.empty()) return Status::invalid_value;
  node.memory.forget_everywhere(process);
  for (const mem::Address begin : found) {
    node.memory.unmap_everywhere(process, begin);
    process.mappings.erase(begin);
  }
  return Status::ok;
}

Status on_range_set_access(NodeServices& node, Call& call, const wire::RangeAccess& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  if (m.access != Access::none && m.access != Access::read && m.access != Access::read_write)
    return Status::invalid_value;
  if (m.device < 0) return Status::not_supported;  // device memory is not the host's to read here
  if (!node.memory.valid_device(static_cast<uint32_t>(m.device))) return Status::invalid_device;
  const auto found = mappings_of(process, m.address, m.bytes);
  if (found.empty()) return Status::invalid_value;
  const uint32_t own = global_device(process, static_cast<uint32_t>(m.device));
  for (const mem::Address begin : found) {
    const Physical& p = *process.mappings[begin].physical;
    if (p.multicast) continue;
    if (p.allocation->device == own) continue;
    if (!node.platform.peer.access || node.platform.node_of(p.allocation->device) != node.platform.node_of(own))
      return Status::invalid_value;
  }
  Context& context = node.memory.context(process, static_cast<uint32_t>(m.device));
  if (m.access == Access::none) context.forget();
  for (const mem::Address begin : found) {
    Mapping& mapping = process.mappings[begin];
    Access& access = mapping.access[m.device];
    if (access == Access::none && m.access != Access::none) map_window(context.space, begin, mapping);
    if (access != Access::none && m.access == Access::none) context.space.unmap(begin);
    access = m.access;
  }
  return Status::ok;
}

Status on_range_get_access(NodeServices& node, Call& call, const wire::RangeAccess& m, wire::RangeAccess& reply,
                           Answer&) {
  Process& process = *call.thread->process;
  if (m.device >= 0 && !node.memory.valid_device(static_cast<uint32_t>(m.device))) return Status::invalid_device;
  auto it = process.mappings.upper_bound(m.address);
  if (it == process.mappings.begin()) return Status::invalid_value;
  const auto& [begin, mapping] = *--it;
  if (m.address - begin >= mapping.bytes) return Status::invalid_value;
  reply = m;
  const auto found = mapping.access.find(m.device);
  reply.access = found == mapping.access.end() ? Access::none : found->second;
  return Status::ok;
}

// Multicast

Status on_multicast_create(NodeServices& node, Call& call, const wire::MulticastCreate& m, wire::Handle& reply,
                           Answer&) {
  Process& process = *call.thread->process;
  if (!node.platform.multicast.supported) return Status::not_supported;
  if (m.bytes == 0 || m.bytes % kGranularity != 0 || m.devices == 0 || m.devices > node.platform.node.devices)
    return Status::invalid_value;
  if (!process.may_make_more()) return Status::out_of_memory;
  auto physical = std::make_shared<Physical>();
  physical->bytes = m.bytes;
  physical->shareable = m.shareable;
  physical->multicast = std::make_shared<mem::Multicast>();
  physical->multicast->id = process.next_allocation++;
  physical->multicast->size = m.bytes;
  physical->multicast_devices = m.devices;
  reply.handle = add_physical(process, std::move(physical));
  return Status::ok;
}

namespace {

bool is_complete(const Physical& p) { return p.multicast->members.size() >= p.multicast_devices; }

// Memory can be bound once all devices were added; until then the call waits, as it does in CUDA.
bool waits_for_devices(Physical& multicast, Call& call) {
  if (is_complete(multicast)) return false;
  HostThreads::hold(call, multicast.binds);
  return true;
}

}  // namespace

Status on_multicast_add_device(NodeServices& node, Call& call, const wire::MulticastDevice& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto physical = find_physical(process, m.multicast);
  if (!physical || !physical->multicast) return Status::invalid_value;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  const uint32_t device = global_device(process, m.device);
  auto& members = physical->multicast->members;
  if (members.size() == physical->multicast_devices) return Status::invalid_value;
  if (!members.empty() && node.platform.node_of(members[0].device) != node.platform.node_of(device))
    return Status::invalid_device;
  if (std::ranges::any_of(members, [&](const auto& member) { return member.device == device; }))
    return Status::invalid_value;
  // Sorted by device: processes add theirs in no particular order, and a run must not depend on it.
  const auto at = std::ranges::lower_bound(members, device, {}, &mem::Multicast::Member::device);
  members.insert(at, mem::Multicast::Member{device, {}});
  if (is_complete(*physical)) node.threads.resume(std::exchange(physical->binds, {}));
  return Status::ok;
}

namespace {

Status bind_memory(const std::shared_ptr<Physical>& physical, const std::shared_ptr<mem::Allocation>& allocation,
                   uint64_t offset, uint64_t memory_offset, uint64_t bytes) {
  if (bytes == 0 || bytes % kGranularity != 0 || offset % kGranularity != 0 || memory_offset % kGranularity != 0 ||
      offset > physical->bytes || bytes > physical->bytes - offset || memory_offset > allocation->size ||
      bytes > allocation->size - memory_offset)
    return Status::invalid_value;
  auto& members = physical->multicast->members;
  const auto member = std::ranges::find(members, allocation->device, &mem::Multicast::Member::device);
  if (member == members.end()) return Status::invalid_device;
  auto& pieces = member->pieces;
  if (pieces.size() >= kMostPieces) return Status::out_of_memory;
  const auto next = std::ranges::lower_bound(pieces, offset, {}, &mem::Multicast::Piece::offset);
  const bool next_overlaps = next != pieces.end() && next->offset < offset + bytes;
  const bool last_overlaps = next != pieces.begin() && std::prev(next)->offset + std::prev(next)->size > offset;
  if (next_overlaps || last_overlaps) return Status::invalid_value;
  pieces.insert(next, {offset, bytes, allocation->bytes.get() + memory_offset, allocation});
  return Status::ok;
}

}  // namespace

Status on_multicast_bind_memory(NodeServices&, Call& call, const wire::MulticastBind& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto physical = find_physical(process, m.multicast);
  const auto memory = find_physical(process, m.memory);
  if (!physical || !physical->multicast || !memory || !memory->allocation) return Status::invalid_value;
  if (waits_for_devices(*physical, call)) return kLater;
  return bind_memory(physical, memory->allocation, m.multicast_offset, m.memory_offset, m.bytes);
}

Status on_multicast_bind_address(NodeServices&, Call& call, const wire::MulticastBind& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto physical = find_physical(process, m.multicast);
  const mem::Window* w = process.all.find(m.memory);
  if (!physical || !physical->multicast || !w || !w->allocation) return Status::invalid_value;
  if (waits_for_devices(*physical, call)) return kLater;
  return bind_memory(physical, w->allocation, m.multicast_offset, m.memory - w->begin + w->offset, m.bytes);
}

Status on_multicast_unbind(NodeServices& node, Call& call, const wire::MulticastBind& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  const auto physical = find_physical(process, m.multicast);
  if (!physical || !physical->multicast) return Status::invalid_value;
  if (!node.memory.valid_device(m.device)) return Status::invalid_device;
  auto& members = physical->multicast->members;
  const auto member = std::ranges::find(members, global_device(process, m.device), &mem::Multicast::Member::device);
  if (member == members.end()) return Status::invalid_device;
  for (const auto& p : node.processes) {
    for (auto& [device, context] : p->contexts) context->forget();
  }
  std::erase_if(member->pieces, [&](const auto& piece) {
    return piece.offset >= m.multicast_offset && piece.offset - m.multicast_offset <= m.bytes &&
           piece.size <= m.bytes - (piece.offset - m.multicast_offset);
  });
  return Status::ok;
}

}  // namespace fb::machine
