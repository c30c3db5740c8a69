#include "virtual_node/machine/time/profile.h"

#include <algorithm>
#include <utility>

#include "common/base/demangle.h"

namespace fb::machine {

void Profiler::begin(simt::Warp& w) {
  Book b;
  b.begun = b.accounted = w.clock.now;
  books_[&w] = std::move(b);
  w.clock.profiled = true;
  Kernel& kernel = kernels_[w.block().grid().kernel->name];
  const auto [grid, fresh] = kernel.grids.try_emplace(w.block().grid().id);
  if (fresh) {
    ++kernel.launches;
    grid->second.begun = w.clock.now;
  }
  grid->second.begun = std::min(grid->second.begun, w.clock.now);
}

Profiler::Book& Profiler::book_of(const simt::Warp& w) { return books_[&w]; }

Profiler::Place Profiler::place_of(const simt::Warp& w, const simt::Inst* inst) {
  if (!inst) return {};
  const simt::Origin origin = w.program().origins[inst->origin];
  return {origin.function, origin.index};
}

void Profiler::add(Book& b, Place at, ProfileCause cause, uint64_t time) {
  if (time != 0) b.times[{uint64_t{at.function} << 32 | at.index, cause}] += time;
}

void Profiler::catch_up(simt::Warp& w) {
  Book& b = book_of(w);
  if (w.clock.now <= b.accounted) return;
  add(b, b.waits_at, b.waits_for, w.clock.now - b.accounted);
  b.accounted = w.clock.now;
}

void Profiler::book(simt::Warp& w, const simt::Inst* inst, ProfileCause cause) {
  Book& b = book_of(w);
  if (w.clock.now > b.accounted) {
    add(b, place_of(w, inst), cause, w.clock.now - b.accounted);
    b.accounted = w.clock.now;
  }
}

void Profiler::waits(simt::Warp& w, const simt::Inst* inst, ProfileCause cause) {
  Book& b = book_of(w);
  if (inst) b.waits_at = place_of(w, inst);
  b.waits_for = cause;
}

void Profiler::span(simt::Warp& w, const simt::Span& s) {
  catch_up(w);
  Book& b = book_of(w);
  const uint64_t rest = s.time - std::min<uint64_t>(s.time, s.issue);
  uint64_t left = rest;
  for (const simt::SpanShare& share : s.shares) {
    const Place at{s.function, share.index};
    add(b, at, ProfileCause::issue, std::min<uint64_t>(share.issue, s.time));
    const uint64_t part = s.issue == 0 ? 0 : rest * share.issue / s.issue;
    add(b, at, ProfileCause::dependence, part);
    left -= std::min(left, part);
  }
  add(b, {s.function, s.waiter}, ProfileCause::dependence, left);
  b.accounted += s.time;
  b.last_span = {s.function, s.waiter};
  b.waits_at = b.last_span;
}

void Profiler::loaded(simt::Warp& w, const simt::Inst& inst, ProfileCause cause) {
  if (inst.slot == simt::kNoSlot) return;
  book_of(w).slots[inst.slot] = {place_of(w, &inst), cause};
}

void Profiler::wait_for_loads(simt::Warp& w, const simt::Span& s, uint64_t until) {
  catch_up(w);
  Book& b = book_of(w);
  for (uint32_t k = 0; k < simt::kLoadSlots; ++k) {
    if ((s.waits >> k & 1) == 0 || w.clock.slots[k] != until) continue;
    add(b, b.slots[k].at, b.slots[k].cause, until - b.accounted);
    break;
  }
  b.accounted = until;
}

void Profiler::units(simt::Warp& w, uint64_t until, simt::Part slowest) {
  static constexpr ProfileCause kCauses[] = {ProfileCause::scheduler, ProfileCause::integer, ProfileCause::multiply,
                                             ProfileCause::f64,       ProfileCause::special, ProfileCause::tensor,
                                             ProfileCause::load_store};
  static_assert(std::size(kCauses) == simt::kParts);
  catch_up(w);
  Book& b = book_of(w);
  const uint64_t conflicts = std::exchange(b.conflicts, 0);
  if (until <= b.accounted) return;
  // The warp waits for a unit that conflicts like its own keep busy.
  if (slowest == simt::Part::load_store && 2 * conflicts > w.clock.occupied[static_cast<size_t>(slowest)]) {
    add(b, b.conflict_at, ProfileCause::bank_conflict, until - b.accounted);
    b.accounted = until;
    return;
  }
  add(b, b.last_span, kCauses[static_cast<size_t>(slowest)], until - b.accounted);
  b.accounted = until;
}

void Profiler::extra(simt::Warp& w, const simt::Inst& inst, ProfileCause cause, uint64_t time) {
  catch_up(w);
  Book& b = book_of(w);
  const Place at = place_of(w, &inst);
  add(b, at, cause, time);
  b.accounted += time;
  if (cause != ProfileCause::bank_conflict) return;
  b.conflicts += time;
  b.conflict_at = at;
}

Profiler::LineTimes Profiler::lines_of(const simt::Program& program, const Book& b) {
  LineTimes lines;
  const ptx::Module& module = *program.module;
  for (const auto& [key, time] : b.times) {
    const ptx::Function& f = module.functions[key.first >> 32];
    const auto index = static_cast<uint32_t>(key.first);
    std::pair<std::string, uint32_t> at;
    if (index < f.body.size() && f.body[index].source.file < module.files.size()) {
      at = {module.files[f.body[index].source.file], f.body[index].source.line};
    }
    lines[{std::move(at), key.second}] += time;
  }
  return lines;
}

void Profiler::end(simt::Warp& w) {
  const auto found = books_.find(&w);
  if (found == books_.end()) return;  // told twice
  catch_up(w);
  const Book b = std::move(found->second);
  books_.erase(found);
  Kernel& kernel = kernels_[w.block().grid().kernel->name];
  ++kernel.warps;
  Grid& grid = kernel.grids[w.block().grid().id];
  LineTimes lines = lines_of(w.program(), b);
  for (const auto& [key, time] : lines) kernel.all[key] += time;
  grid.ended = std::max(grid.ended, w.clock.now);
  const uint64_t taken = w.clock.now - grid.begun;
  if (taken < kernel.longest) return;
  kernel.longest = taken;
  kernel.device = w.block().device;
  kernel.block = static_cast<uint32_t>(w.block().index());
  kernel.warp = w.index();
  kernel.needs = needs_of(w.block().grid(), limits_);
  kernel.blocks_at_once = SmSlots(limits_).capacity(kernel.needs) / std::max(1u, limits_.sms);
  kernel.critical = std::move(lines);
  // The block began when others had ended.
  if (b.begun > grid.begun) kernel.critical[{{}, ProfileCause::start}] += b.begun - grid.begun;
}

record::Profile Profiler::profile() const {
  const auto entries = [](const LineTimes& lines) {
    std::vector<record::ProfileEntry> list;
    for (const auto& [key, time] : lines) {
      list.push_back(
          {key.first.first, key.first.second, std::string(label_of(key.second)), static_cast<double>(time) / 1e3});
    }
    return list;
  };
  record::Profile p;
  for (const auto& [name, k] : kernels_) {
    if (k.warps == 0) continue;
    record::KernelProfile out;
    out.kernel = demangle(name);
    out.launches = k.launches;
    out.warps = k.warps;
    out.longest_ns = static_cast<double>(k.longest) / 1e3;
    out.device = static_cast<int32_t>(k.device);
    out.block = static_cast<int32_t>(k.block);
    out.warp = static_cast<int32_t>(k.warp);
    out.threads = k.needs.threads;
    out.registers = k.needs.registers_of_thread;
    out.blocks_at_once = k.blocks_at_once;
    out.critical = entries(k.critical);
    out.all = entries(k.all);
    p.kernels.push_back(std::move(out));
  }
  std::ranges::sort(p.kernels, [](const auto& a, const auto& b) {
    return std::pair(-a.longest_ns, a.kernel) < std::pair(-b.longest_ns, b.kernel);
  });
  return p;
}

}  // namespace fb::machine
