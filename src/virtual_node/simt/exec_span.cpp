#include "virtual_node/simt/exec_span.h"

#include <algorithm>
#include <bit>

#include "virtual_node/simt/listener.h"
#include "virtual_node/simt/timing.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {
namespace {

// Settling with the other warps of the scheduler is put off for so long: 100 cycles or so.
constexpr uint64_t kUnsettled = 60'000;

}  // namespace

// The instruction behind it is run at once, so that spans do not count as instructions.
const Inst* exec_span(Warp& w, const Inst& i) {
  const Span& s = *i.span;
  WarpClock& c = w.clock;
  if (s.waits != 0) {
    uint64_t latest = c.now;
    for (uint32_t m = s.waits; m != 0; m &= m - 1) latest = std::max(latest, c.slots[std::countr_zero(m)]);
    if (latest > c.now) {
      if (c.profiled || c.tracked) w.listener()->on_wait_for_loads(w, s, latest);
      c.now = latest;
    }
  }
  if (c.profiled) w.listener()->on_span(w, s);
  c.now += s.time;
  for (size_t k = 0; k < s.occupied.size(); ++k) c.occupied[k] += s.occupied[k];
  if (c.now - c.settled > kUnsettled && w.listener()) w.listener()->on_units(w);

  const Inst* next = &i + 1;
  w.exec = w.active;
  if (next->guard != kAbsent) {
    w.exec &= *w.src<Mask>(next->guard) ^ next->guard_flip;
    if (w.exec == 0) return next + 1;
  }
  return next->run(w, *next);
}

const Inst* exec_release(Warp& w, const Inst& i) {
  if (w.listener()) w.listener()->on_release(w, *(&i + 1));
  return &i + 1;
}

}  // namespace fb::simt
