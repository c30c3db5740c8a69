#include "virtual_node/simt/calls/builtin_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/listener.h"
#include "virtual_node/simt/mask.h"

namespace fb::simt {

void check_signature(Warp& w, const Inst& i, const CallSite& site, std::string_view name,
                     std::span<const uint32_t> params, uint32_t result) {
  const auto same = [](const LaneBytes& slot, uint32_t bytes) { return slot.bytes == bytes; };
  const bool params_fit = std::ranges::equal(site.args, params, same);
  const bool result_fits = site.results.empty() || (site.results.size() == 1 && site.results[0].bytes == result);
  if (!params_fit || !result_fits) {
    w.trap(TrapKind::bad_call, i, first_of(w.exec),
           fmt::format("{} is declared with other parameters than it has", name));
  }
}

void store_outputs(Warp& w, const Inst& i, const CallSite& site, size_t k, uint32_t bytes, const uint64_t* values,
                   Mask lanes) {
  if (lanes == 0) return;
  std::array<mem::Address, kLanes> addresses{};
  each_lane(lanes, [&](uint32_t lane) { addresses[lane] = argument(w, site, k, lane); });
  if (w.listener()) {
    w.listener()->on_access(w, {.kind = AccessKind::store,
                                .bytes = static_cast<uint8_t>(bytes),
                                .lanes = lanes,
                                .addresses = addresses.data(),
                                .inst = &i});
  }
  w.note_effect();
  each_lane(lanes, [&](uint32_t lane) {
    std::byte* host = w.resolve(i, ptx::Space::generic, lane, addresses[lane], bytes);
    std::memcpy(host, &values[lane], bytes);
    w.environment().watch().written(host, bytes);
  });
}

}  // namespace fb::simt
