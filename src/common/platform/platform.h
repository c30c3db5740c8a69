#pragma once

// The parts of a node and their times, read from a platform file (platforms/*.toml).
//
// Every constant of a file has a source. A file may build on another (base = "h100x8") and name only what differs.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/platform/time.h"

namespace fb::platform {

// The kinds of common/platform/constants.def.
namespace kinds {
using count = uint32_t;
using flag = bool;
using ratio = double;
using cycles = uint32_t;
using bytes = uint64_t;
using duration = Time;
using rate = double;       // bytes per second
using frequency = double;  // per second
}  // namespace kinds

// The source of a constant.
struct Provenance {
  std::string key;  // "memory.bandwidth"
  std::string source;
};

struct Platform {
  std::string name;
  std::string description;
  std::string device_name;

#define SECTION(Type, section, in_use) struct Type {
#define CONSTANT(kind, range, group, key, meaning) kinds::kind key{};
#define END_SECTION(Type, section) \
  }                                \
  section;
#include "common/platform/constants.def"
#undef SECTION
#undef CONSTANT
#undef END_SECTION

  std::vector<Provenance> sources;  // one for each constant, in the order of constants.def

  Time cycle() const { return static_cast<Time>(1e12 / device.clock); }
  Time issue_time() const { return device.issue * cycle(); }
  uint32_t devices() const { return node.nodes * node.devices; }
  uint32_t node_of(uint32_t device_number) const { return device_number / node.devices; }
};

// No message of a host is faster: from the doorbell, with its payload, into memory behind another card.
inline Time least_crossing(const Platform& platform) {
  return platform.nic.inline_start + std::min(platform.nic.wire, platform.nic.loopback) + platform.nic.deliver;
}

// Every constant with its value: platforms with equal texts give equal modelled times.
std::string values_text(const Platform& platform);

// Text of a platform file. Its `base` is found and read by load_platform. `depth`: how many platforms build on this one
// in the chain that is being read; a chain that is too long is a circle.
Result<Platform> parse_platform(std::string_view text, int depth = 0);

// A name ("b300x8") or a file. Names are looked for in $FABRICBENCH_PLATFORMS, else in ../share/fabricbench/platforms
// beside the running program, else in the source tree this program was built from. Messages name the file and line.
Result<Platform> load_platform(std::string_view name_or_file, int depth = 0);

// Names that load_platform finds, sorted.
std::vector<std::string> platform_names();

}  // namespace fb::platform
