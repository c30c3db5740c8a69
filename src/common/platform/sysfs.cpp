#include "common/platform/sysfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "common/platform/pci.h"

namespace fb::platform {
namespace {

// Of PCI functions. Bridges are those that virtual computers have (the PCI ID repository: QEMU, Texas Instruments).
struct Identity {
  uint32_t pci_class, vendor, device;
};
constexpr uint32_t kNvidia = 0x10de;
constexpr Identity kRootPort = {0x060400, 0x1b36, 0x000c}, kUpstream = {0x060400, 0x104c, 0x8232},
                   kDownstream = {0x060400, 0x104c, 0x8233}, kNvSwitch = {0x068000, kNvidia, 0x22a3};
constexpr uint32_t kComputeController = 0x030200;

std::string_view transfers(uint32_t generation) {
  constexpr std::array<std::string_view, 7> kSpeeds = {"Unknown",       "2.5 GT/s PCIe",  "5.0 GT/s PCIe",
                                                       "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe",
                                                       "64.0 GT/s PCIe"};
  return kSpeeds[std::min<size_t>(generation, kSpeeds.size() - 1)];
}

// As the kernel prints sets of processors: words of 32 bits, the highest first.
std::string mask(const Processors& set, uint32_t all) {
  std::string text;
  for (uint32_t word = (std::max(1u, all) + 31) / 32; word-- > 0;) {
    uint32_t bits = 0;
    for (uint32_t k = 0; k < 32; ++k) {
      const uint32_t cpu = word * 32 + k;
      if (cpu >= set.first && cpu - set.first < set.count) bits |= 1u << k;
    }
    text += fmt::format("{}{:08x}", text.empty() ? "" : ",", bits);
  }
  return text;
}

std::string range(uint32_t first, uint32_t count) {
  if (count == 0) return "";
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
}

class Tree {
 public:
  Tree(const Platform& platform, uint64_t host_memory) : p_(platform), host_memory_(host_memory) {}

  void add(const PciPlace& place, const Identity& identity) {
    const std::string bus = bus_name(place.root_port);
    std::string at = "devices/pci" + bus;
    add_bus(at, bus);
    at = function(at, place.root_port, kRootPort, place.numa_node);
    if (place.behind_switch) {
      at = behind_bridge(at, place.upstream, kUpstream, place.numa_node);
      at = behind_bridge(at, place.downstream, kDownstream, place.numa_node);
    }
    behind_bridge(at, place.device, identity, place.numa_node);
  }

  void add_numa_nodes() {
    const std::string all = "devices/system/node";
    const uint32_t nodes = std::max(1u, p_.host.numa_nodes);
    for (const char* name : {"online", "possible", "has_cpu", "has_memory", "has_normal_memory"})
      file(all, name, range(0, nodes));
    for (uint32_t n = 0; n < nodes; ++n) {
      const std::string at = fmt::format("{}/node{}", all, n);
      const Processors near = processors_of(p_, n);
      file(at, "cpumap", mask(near, p_.host.cpus));
      file(at, "cpulist", range(near.first, near.count));
      std::string distances;
      for (uint32_t other = 0; other < nodes; ++other)
        distances += fmt::format("{}{}", other == 0 ? "" : " ", other == n ? 10 : 21);  // as firmware usually has them
      file(at, "distance", distances);
      const uint64_t kib = host_memory_ / nodes / 1024;
      file(at, "meminfo", fmt::format("Node {0} MemTotal: {1:>14} kB\nNode {0} MemFree:  {1:>14} kB", n, kib));
    }
  }

  std::vector<SysfsEntry> entries() && { return std::move(entries_); }

 private:
  static std::string bus_name(const PciAddress& at) { return fmt::format("{:04x}:{:02x}", at.domain, at.bus); }

  void file(const std::string& folder, std::string_view name, std::string_view text) {
    entries_.push_back({fmt::format("{}/{}", folder, name), fmt::format("{}\n", text)});
  }

  // A bus belongs to the bridge before it.
  void add_bus(const std::string& bridge, const std::string& name) {
    if (!known_.insert(bridge + "/pci_bus/" + name).second) return;
    file(fmt::format("{}/pci_bus/{}", bridge, name), "cpulistaffinity", range(0, p_.host.cpus));
    entries_.push_back({"class/pci_bus/" + name, fmt::format("../../{}/pci_bus/{}", bridge, name), true});
  }

  std::string behind_bridge(const std::string& bridge, const PciAddress& address, const Identity& identity,
                            uint32_t numa_node) {
    add_bus(bridge, bus_name(address));
    return function(bridge, address, identity, numa_node);
  }

  std::string function(const std::string& parent, const PciAddress& address, const Identity& identity,
                       uint32_t numa_node) {
    const std::string name = to_string(address), at = fmt::format("{}/{}", parent, name);
    if (!known_.insert(at).second) return at;
    const Processors near = processors_of(p_, numa_node);
    file(at, "class", fmt::format("{:#08x}", identity.pci_class));
    file(at, "vendor", fmt::format("{:#06x}", identity.vendor));
    file(at, "device", fmt::format("{:#06x}", identity.device));
    file(at, "subsystem_vendor", fmt::format("{:#06x}", identity.vendor));
    file(at, "subsystem_device", "0x0000");
    file(at, "revision", "0x00");
    file(at, "irq", "0");
    // Address ranges, which libpci wants to see: none.
    constexpr std::string_view kNone = "0x0000000000000000 0x0000000000000000 0x0000000000000000";
    constexpr int kRanges = 7;
    std::string ranges(kNone);
    for (int k = 1; k < kRanges; ++k) (ranges += '\n') += kNone;
    file(at, "resource", ranges);
    file(at, "numa_node", fmt::format("{}", numa_node));
    file(at, "local_cpus", mask(near, p_.host.cpus));
    file(at, "local_cpulist", range(near.first, near.count));
    for (const char* which : {"max", "current"}) {
      file(at, fmt::format("{}_link_speed", which), transfers(p_.pci.generation));
      file(at, fmt::format("{}_link_width", which), fmt::format("{}", p_.pci.lanes));
    }
    entries_.push_back({"bus/pci/devices/" + name, "../../../" + at, true});
    return at;
  }

  const Platform& p_;
  uint64_t host_memory_;
  std::vector<SysfsEntry> entries_;
  std::set<std::string> known_;  // folders that are complete
};

}  // namespace

std::vector<SysfsEntry> sysfs_of(const Platform& p, uint32_t node, uint64_t host_memory) {
  Tree tree(p, host_memory);
  for (uint32_t k = 0; k < p.node.devices; ++k)
    tree.add(place_of_gpu(p, node * p.node.devices + k), {kComputeController, kNvidia, p.pci.device_id});
  for (uint32_t k = 0; k < p.nvlink.switches; ++k) tree.add(place_of_nvswitch(p, node, k), kNvSwitch);
  tree.add_numa_nodes();
  return std::move(tree).entries();
}

}  // namespace fb::platform
