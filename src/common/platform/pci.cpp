#include "common/platform/pci.h"

#include <fmt/format.h>

#include <algorithm>

namespace fb::platform {
namespace {

constexpr uint32_t kFirstBus = 0x10, kBuses = 0xE0;  // of a domain

uint32_t devices_of_group(const Platform& p) { return std::max(1u, p.pci.devices_per_switch); }

uint32_t groups_of_node(const Platform& p) {
  const uint32_t each = devices_of_group(p);
  return (p.node.devices + each - 1) / each;
}

// A host bridge with what is behind it takes a block of buses: its own, and with a switch those of the switch's ports.
struct Block {
  uint32_t domain, bus;
};
Block block(uint32_t number, uint32_t buses) {
  const uint32_t in_domain = kBuses / buses;
  return {number / in_domain, kFirstBus + number % in_domain * buses};
}

}  // namespace

std::string to_string(const PciAddress& at) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", at.domain, at.bus, at.device);
}

PciPlace place_of_gpu(const Platform& p, uint32_t device) {
  const uint32_t node = p.node_of(device), in_node = device % p.node.devices, each = devices_of_group(p);
  const uint32_t groups = groups_of_node(p), group = in_node / each, slot = in_node % each;
  PciPlace place;
  place.behind_switch = p.pci.devices_per_switch != 0;
  const auto [domain, bus] = block(node * groups + group, place.behind_switch ? 3 + each : 2);
  place.root_port = {domain, bus, 1};
  if (place.behind_switch) {
    place.upstream = {domain, bus + 1, 0};
    place.downstream = {domain, bus + 2, slot};
    place.device = {domain, bus + 3 + slot, 0};
    place.pci_switch = group + 1;
  } else {
    place.device = {domain, bus + 1, 0};
  }
  place.numa_node = static_cast<uint32_t>(uint64_t{group} * p.host.numa_nodes / groups);
  return place;
}

// In the domains behind those of the GPUs.
PciPlace place_of_nvswitch(const Platform& p, uint32_t node, uint32_t number) {
  const uint32_t first = place_of_gpu(p, p.devices() - 1).device.domain + 1;
  PciPlace place;
  const auto [domain, bus] = block(node * p.nvlink.switches + number, 2);
  place.root_port = {first + domain, bus, 1};
  place.device = {first + domain, bus + 1, 0};
  place.numa_node = static_cast<uint32_t>(uint64_t{number} * p.host.numa_nodes / std::max(1u, p.nvlink.switches));
  return place;
}

Processors processors_of(const Platform& p, uint32_t numa_node) {
  const auto begin = [&](uint32_t n) { return static_cast<uint32_t>(uint64_t{n} * p.host.cpus / p.host.numa_nodes); };
  return {begin(numa_node), begin(numa_node + 1) - begin(numa_node)};
}

PciAddress remote_end(const Platform& p, uint32_t device, uint32_t link) {
  const uint32_t node = p.node_of(device);
  if (p.nvlink.switches != 0)
    return place_of_nvswitch(p, node, static_cast<uint32_t>(uint64_t{link} * p.nvlink.switches / p.nvlink.links))
        .device;
  if (p.node.devices < 2) return {};
  const uint32_t others = p.node.devices - 1;
  return place_of_gpu(p, node * p.node.devices + (device % p.node.devices + 1 + link % others) % p.node.devices).device;
}

}  // namespace fb::platform
