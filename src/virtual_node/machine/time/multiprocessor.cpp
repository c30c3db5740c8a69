#include "virtual_node/machine/time/multiprocessor.h"

namespace fb::machine {

Multiprocessors::Settled Multiprocessors::settle(const simt::Warp& w, fabric::ShareLedger& shares) {
  Multiprocessor& sm = of(w.block());
  auto& scheduler = sm.schedulers[scheduler_of(w)];
  const simt::WarpClock& clock = w.clock;
  Settled s{clock.now, simt::Part::issue};
  for (uint32_t k = 0; k < simt::kParts; ++k) {
    const uint32_t busy = clock.occupied[k];
    if (busy == 0) continue;
    UnitCalendar& unit = k < Multiprocessor::kOfScheduler ? scheduler[k] : sm.load_store;
    const uint64_t end = unit.reserve(clock.settled, busy);
    shares.add(unit.period, {clock.settled, clock.settled + busy, end, busy}, platform::Group::issue);
    if (end > s.end) s = {end, static_cast<simt::Part>(k)};
  }
  return s;
}

}  // namespace fb::machine
