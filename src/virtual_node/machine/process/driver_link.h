#pragma once

// Kernels of a judge's driver, linked with the device functions of a candidate. Both texts come from the judge, not
// from a rank: a rank that loads one of them, byte for byte, gets the linked code, and whatever else it loads has
// nothing to do with the driver.

#include <memory>
#include <string>
#include <string_view>

#include "common/ptx/module.h"

namespace fb::machine {

struct DriverLink {
  std::string candidate = {}, driver = {};  // PTX; empty: there is no driver
  std::shared_ptr<const ptx::Module> module = {};

  bool is_candidate(std::string_view text) const { return module && text == candidate; }
  bool is_driver(std::string_view text) const { return module && text == driver; }
};

// Reads candidate.ptx and driver.ptx of a folder; an empty name gives an empty link. `join_loads`: those of shared
// memory (simt/lower/join_loads.h). Throws std::runtime_error.
DriverLink read_driver_link(const std::string& folder, bool join_loads);

}  // namespace fb::machine
