#pragma once

#include <string>

#include "ranks/shim/nvml/node.h"

namespace fb::shim::nvml {

// nvmlPciInfo_t of the functions whose names have no version or _v2: it ends before the long address.
struct PciInfoBeforeV3 {
  char bus_id[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE];
  unsigned int domain, bus, device, ids, subsystem;
};

void fill(PciInfoBeforeV3& info, const wire::PciAddress& at, unsigned int ids);
void fill(nvmlPciInfo_t& info, const wire::PciAddress& at, unsigned int ids);

}  // namespace fb::shim::nvml
