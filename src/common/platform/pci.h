#pragma once

// Where the devices of a platform are in their hosts: on the PCI bus, behind which PCI switch, near which processors.
// Bus numbers are unique over all nodes, so that a GPU is known by its address.

#include <cstdint>
#include <string>

#include "common/platform/platform.h"

namespace fb::platform {

struct PciAddress {
  uint32_t domain = 0, bus = 0, device = 0;
  bool operator==(const PciAddress&) const = default;
};
std::string to_string(const PciAddress& at);  // "0000:13:00.0"

struct Processors {
  uint32_t first = 0, count = 0;
};

struct PciPlace {
  PciAddress root_port;
  bool behind_switch = false;
  PciAddress upstream, downstream;  // ports of the switch
  PciAddress device;
  uint32_t pci_switch = 0;  // a number, from 1; 0: none
  uint32_t numa_node = 0;   // of its node
};

PciPlace place_of_gpu(const Platform& platform, uint32_t device);
PciPlace place_of_nvswitch(const Platform& platform, uint32_t node, uint32_t number);
Processors processors_of(const Platform& platform, uint32_t numa_node);
// The other end of a link of a GPU: a switch of NVLink, or a GPU where there is none.
PciAddress remote_end(const Platform& platform, uint32_t device, uint32_t link);

}  // namespace fb::platform
