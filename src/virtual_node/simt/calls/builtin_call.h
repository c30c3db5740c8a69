#pragma once

// Arguments and results of calls that the machine itself answers; they are in the caller's frame.

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {

template <class T = uint64_t>
T argument(const Warp& w, const CallSite& site, size_t k, uint32_t lane) {
  const LaneBytes& slot = site.args[k];
  T value{};
  std::memcpy(&value, w.base[0] + slot.offset + static_cast<size_t>(lane) * slot.bytes,
              slot.bytes < sizeof value ? slot.bytes : sizeof value);
  return value;
}

inline void set_result(Warp& w, const CallSite& site, uint32_t lane, uint64_t value) {
  if (site.results.empty()) return;
  const LaneBytes& slot = site.results[0];
  std::memcpy(w.base[0] + slot.offset + static_cast<size_t>(lane) * slot.bytes, &value, slot.bytes);
}

// The guest declares what it calls; a wrong declaration is its fault, not a reason to read beside an argument.
void check_signature(Warp& w, const Inst& i, const CallSite& site, std::string_view name,
                     std::span<const uint32_t> params, uint32_t result);

// Stores what a function wrote through its pointer parameter `k` for each lane of `lanes`.
void store_outputs(Warp& w, const Inst& i, const CallSite& site, size_t k, uint32_t bytes, const uint64_t* values,
                   Mask lanes);

}  // namespace fb::simt
