#include "virtual_node/machine/time/unit_times.h"

namespace fb::machine {

simt::UnitTimes unit_times(const platform::Platform& p) {
  using ptx::Unit;
  simt::UnitTimes t;
  const auto cycle = static_cast<uint32_t>(p.cycle());
  t.cycle = cycle;
  const auto set = [&](Unit unit, uint32_t latency, uint32_t lanes, uint32_t schedulers) {
    t.unit[static_cast<size_t>(unit)] = {latency * cycle, simt::kLanes * schedulers * cycle / lanes};
  };
  const uint32_t schedulers = p.device.schedulers_per_sm;
  set(Unit::fma, p.units.fma_latency, p.units.fma, schedulers);
  set(Unit::half, p.units.half_latency, p.units.half, schedulers);
  set(Unit::f64, p.units.f64_latency, p.units.f64, schedulers);
  set(Unit::integer, p.units.integer_latency, p.units.integer, schedulers);
  set(Unit::multiply, p.units.multiply_latency, p.units.multiply, schedulers);
  set(Unit::special, p.units.special_latency, p.units.special, schedulers);
  set(Unit::exponential, p.units.special_latency, p.units.exponential, schedulers);
  set(Unit::vote, p.units.vote_latency, p.units.special, schedulers);
  // The load/store unit is one for all schedulers.
  set(Unit::exchange, p.units.exchange_latency, p.units.exchange, 1);
  set(Unit::load_store, 1, simt::kLanes, 1);
  set(Unit::tensor, p.tensor.mma_latency, simt::kLanes, 1);
  t.shared_latency = p.shared.latency * cycle;
  t.local_latency = p.cache.l1_latency * cycle;
  t.branch = p.units.branch * cycle;
  t.reduce_add = p.units.sum_latency * cycle;
  t.warp_barrier = p.fence.warp_barrier * cycle;
  t.products_per_cycle = p.tensor.products * p.tensor.mma_share / schedulers;
  return t;
}

}  // namespace fb::machine
