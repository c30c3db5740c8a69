#pragma once

// The part of Linux's /sys that describes the PCI devices and the NUMA nodes of one node of a platform.

#include <cstdint>
#include <string>
#include <vector>

#include "common/platform/platform.h"

namespace fb::platform {

struct SysfsEntry {
  std::string path;  // below /sys
  std::string text;  // of a file, or where a symbolic link leads to
  bool link = false;
};

// `host_memory` in bytes: NUMA nodes have equal parts of it.
std::vector<SysfsEntry> sysfs_of(const Platform& platform, uint32_t node, uint64_t host_memory);

}  // namespace fb::platform
