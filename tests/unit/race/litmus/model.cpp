#include "litmus/model.h"

#include <fmt/format.h>

#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "litmus/execution.h"

namespace fb::litmus {
namespace {

// How far each thread comes: the number of its operations that are reached. A guard that fails is the last one.
using Path = std::vector<size_t>;

void for_paths(const Program& program, Path& path, const auto& f) {
  const size_t t = path.size();
  if (t == program.threads.size()) {
    f(path);
    return;
  }
  const auto& ops = program.threads[t].ops;
  for (size_t k = 0; k <= ops.size(); ++k) {
    if (k < ops.size() && ops[k].kind != OpKind::guard) continue;
    path.push_back(k);
    for_paths(program, path, f);
    path.pop_back();
  }
}

EventSet events_on(const Events& events, const Path& path) {
  EventSet present = 0;
  for (int e = 0; e < events.count(); ++e) {
    const Event& event = events[e];
    if (event.thread == kNone || static_cast<size_t>(event.op) < path[static_cast<size_t>(event.thread)])
      present |= bit(e);
  }
  return present;
}

// The register as the thread has it before operation `op`; kUnset if nothing was loaded.
uint32_t register_at(const Events& events, const Values& v, size_t thread, size_t op, int reg) {
  uint32_t value = kUnset;
  for (size_t k = 0; k < op; ++k) {
    for (const int e : events.of[thread][k]) {
      if (events[e].returns && events[e].reg == reg) value = v.read[static_cast<size_t>(e)];
    }
  }
  return value;
}

bool guards_hold(const Events& events, const Values& v, const Path& path) {
  for (size_t t = 0; t < path.size(); ++t) {
    const auto& ops = events.program.threads[t].ops;
    for (size_t k = 0; k < ops.size() && k <= path[t]; ++k) {
      if (ops[k].kind != OpKind::guard) continue;
      const bool passes = register_at(events, v, t, k, ops[k].reg) == ops[k].value;
      if (passes != (k < path[t])) return false;
    }
  }
  return true;
}

Outcome registers(const Events& events, const Values& v, const Path& path) {
  Outcome outcome;
  for (size_t t = 0; t < path.size(); ++t) {
    for (uint32_t r = 0; r < events.program.registers(t); ++r) {
      outcome.push_back(register_at(events, v, t, path[t], static_cast<int>(r)));
    }
  }
  return outcome;
}

std::string describe_race(const Events& events, std::pair<int, int> race) {
  return fmt::format("{} and {} conflict, are not morally strong, and are not related in causality order",
                     events.text(race.first), events.text(race.second));
}

// Everything that reads could read from and that could come before something else.
class Enumerator {
 public:
  Enumerator(const Events& events, Expectation& expectation)
      : e_(events), result_(expectation), observed_(observed_locations(events.program)) {}

  void run() {
    Path path;
    for_paths(e_.program, path, [&](const Path& p) {
      path_ = p;
      execution_ = {};
      execution_.present = events_on(e_, p);
      reads_.clear();
      for_each(execution_.present, [&](int e) {
        if (e_[e].read) reads_.push_back(e);
      });
      choose_source(0);
    });
  }

 private:
  void choose_source(size_t k) {
    if (k == reads_.size()) {
      const auto v = values(e_, execution_);
      if (v && guards_hold(e_, *v, path_)) choose_orders(*v);
      return;
    }
    const int read = reads_[k];
    for_each(execution_.present, [&](int write) {
      if (!e_[write].write || write == read || !e_.same_location(write, read)) return;
      execution_.source[static_cast<size_t>(read)] = static_cast<int16_t>(write);
      choose_source(k + 1);
    });
  }

  void choose_orders(const Values& v) {
    struct Pair {
      int a = 0, b = 0;
      bool fences = false;
    };
    std::vector<Pair> open;
    Execution base = execution_;
    for_each(base.present, [&](int a) {
      for_each(base.present, [&](int b) {
        if (a >= b || !e_.morally_strong(a, b)) return;
        const bool writes = e_[a].write && e_[b].write;
        const bool fences = e_[a].kind == EventKind::fence && e_[b].kind == EventKind::fence &&
                            e_[a].order == MemoryOrder::sc && e_[b].order == MemoryOrder::sc;
        if (!writes && !fences) return;
        if (e_[a].thread != e_[b].thread) {
          open.push_back({a, b, fences});
        } else {
          (fences ? base.fence_order : base.coherence).add(a, b);
        }
      });
    });
    for (uint32_t choice = 0; choice < 1u << open.size(); ++choice) {
      Execution x = base;
      for (size_t k = 0; k < open.size(); ++k) {
        const auto [a, b, fences] = open[k];
        const bool swapped = (choice >> k & 1) != 0;
        (fences ? x.fence_order : x.coherence).add(swapped ? b : a, swapped ? a : b);
      }
      ++result_.candidates;
      const Judgement judgement = judge(e_, x);
      if (judgement.broken) continue;
      ++result_.executions;
      result_.mixed_size |= judgement.mixed_size;
      if (judgement.race && !result_.racy) {
        result_.racy = true;
        result_.race = describe_race(e_, *judgement.race);
      }
      add_finals(registers(e_, v, path_), v, judgement, 0);
    }
  }

  // The host reads after everything: any write that no other one follows.
  void add_finals(Outcome outcome, const Values& v, const Judgement& judgement, size_t k) {
    if (k == observed_.size()) {
      result_.allowed.insert(std::move(outcome));
      return;
    }
    for_each(execution_.present, [&](int w) {
      if (!e_[w].write || e_[w].location != observed_[k]) return;
      if ((judgement.coherence[w] & execution_.present) != 0) return;
      Outcome longer = outcome;
      longer.push_back(v.written[static_cast<size_t>(w)]);
      add_finals(std::move(longer), v, judgement, k + 1);
    });
  }

  const Events& e_;
  Expectation& result_;
  const std::vector<int16_t> observed_;
  Path path_;
  Execution execution_;
  std::vector<int> reads_;
};

// All interleavings of the threads' operations on one memory; bulk copies happen at any time between their issue and
// the operation that waits for them.
class Interleaver {
 public:
  Interleaver(const Events& events, Expectation& expectation)
      : e_(events), result_(expectation), observed_(observed_locations(events.program)) {}

  void run() {
    State s;
    s.next.resize(e_.program.threads.size());
    s.part.resize(s.next.size());
    s.reached.resize(s.next.size());
    for (int e = 0; e < e_.count(); ++e) {
      if (e_[e].kind == EventKind::initial) {
        s.memory.push_back(e);
        s.execution.present |= bit(e);
      }
    }
    explore(std::move(s));
  }

 private:
  struct State {
    std::vector<size_t> next;     // operation of each thread
    std::vector<size_t> part;     // of that operation: events done
    std::vector<size_t> reached;  // Path
    std::vector<int> memory;      // of each location: the last write
    std::vector<int> sequence;    // writes and fences as they came
    EventSet in_flight = 0;       // issued copies
    Execution execution;
  };

  bool ended(const State& s, size_t t) const { return s.next[t] >= e_.program.threads[t].ops.size(); }

  // Performs the thread's next operation if no other thread can observe when it happens.
  bool settle(State& s, size_t t) const {
    if (ended(s, t)) return false;
    const Op& op = e_.program.threads[t].ops[s.next[t]];
    const auto& here = e_.of[t][s.next[t]];
    const auto pass = [&] {
      for (const int e : here) s.execution.present |= bit(e);
      ++s.next[t];
      s.part[t] = 0;
      s.reached[t] = s.next[t];
      return true;
    };
    switch (op.kind) {
      case OpKind::guard: {
        const auto v = values(e_, s.execution);
        if (register_at(e_, *v, t, s.next[t], op.reg) == op.value) return pass();
        s.next[t] = e_.program.threads[t].ops.size();
        return true;
      }
      case OpKind::fence:
        return op.order != MemoryOrder::sc && pass();
      case OpKind::fence_async:
      case OpKind::fence_alias:
        return pass();
      case OpKind::bulk_store:
      case OpKind::bulk_load:
        for (const int e : here) s.in_flight |= bit(e);
        ++s.next[t];
        s.reached[t] = s.next[t];
        return true;
      case OpKind::wait_bulk_read:
      case OpKind::wait_bulk:
      case OpKind::wait_load: {
        bool complete = true;
        for_each(s.in_flight, [&](int c) { complete = complete && !e_.order.has(c, here[0]); });
        return complete && pass();
      }
      case OpKind::barrier: {
        if (s.part[t] == 0) {
          s.execution.present |= bit(here[0]);
          s.part[t] = 1;
          return true;
        }
        bool complete = true;
        for (int e = 0; e < e_.count(); ++e) {
          const Event& other = e_[e];
          if (other.kind != EventKind::arrive || other.barrier != e_[here[0]].barrier) continue;
          const auto u = static_cast<size_t>(other.thread);
          if (!e_.program.threads[u].place.same_block(e_.program.threads[t].place)) continue;
          if ((s.execution.present & bit(e)) == 0 && !ended(s, u)) complete = false;
        }
        return complete && pass();
      }
      default:
        return false;
    }
  }

  void perform(State& s, int e) const {
    const Event& event = e_[e];
    s.execution.present |= bit(e);
    if (event.read)
      s.execution.source[static_cast<size_t>(e)] = static_cast<int16_t>(s.memory[static_cast<size_t>(event.location)]);
    if (event.write) s.memory[static_cast<size_t>(event.location)] = e;
    if (event.write || event.kind == EventKind::fence) s.sequence.push_back(e);
  }

  void explore(State s) {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t t = 0; t < s.next.size(); ++t) {
        while (settle(s, t)) moved = true;
      }
    }
    bool any = false;
    for_each(s.in_flight, [&](int c) {
      // The bytes are written after they have been read.
      bool ready = true;
      for_each(s.in_flight, [&](int before) { ready = ready && !e_.order.has(before, c); });
      if (!ready) return;
      any = true;
      State after = s;
      after.in_flight &= ~bit(c);
      perform(after, c);
      explore(std::move(after));
    });
    for (size_t t = 0; t < s.next.size(); ++t) {
      if (ended(s, t) || !takes_place(e_.program.threads[t].ops[s.next[t]].kind)) continue;
      any = true;
      State after = s;
      perform(after, e_.of[t][s.next[t]][0]);
      ++after.next[t];
      after.reached[t] = after.next[t];
      explore(std::move(after));
    }
    if (any) return;
    for (size_t t = 0; t < s.next.size(); ++t) {
      if (!ended(s, t)) throw std::logic_error("litmus: waits forever: " + text_of(e_.program));
    }
    finish(s);
  }

  // At one moment, seen by others. All else is settled.
  static bool takes_place(OpKind kind) {
    return kind == OpKind::fence || reads(kind) ||
           (writes(kind) && kind != OpKind::bulk_store && kind != OpKind::bulk_load);
  }

  void finish(State& s) {
    for (size_t k = 0; k < s.sequence.size(); ++k) {
      for (size_t m = k + 1; m < s.sequence.size(); ++m) {
        const int a = s.sequence[k], b = s.sequence[m];
        if (!e_.morally_strong(a, b)) continue;
        if (e_[a].write && e_[b].write) s.execution.coherence.add(a, b);
        if (e_[a].kind == EventKind::fence && e_[b].kind == EventKind::fence) s.execution.fence_order.add(a, b);
      }
    }
    const auto v = values(e_, s.execution);
    Outcome outcome = registers(e_, *v, s.reached);
    for (const int16_t l : observed_) {
      outcome.push_back(v->written[static_cast<size_t>(s.memory[static_cast<size_t>(l)])]);
    }
    if (!seen_.insert(signature(s.execution)).second && result_.sequential.contains(outcome)) return;
    const Judgement judgement = judge(e_, s.execution);
    if (judgement.broken) {
      throw std::logic_error(fmt::format("litmus: an interleaving breaks {}:\n{}{}", judgement.broken,
                                         text_of(e_.program), text_of(e_.program, outcome)));
    }
    if (!result_.allowed.contains(outcome)) {
      throw std::logic_error(fmt::format("litmus: an interleaving that was not enumerated:\n{}{}", text_of(e_.program),
                                         text_of(e_.program, outcome)));
    }
    if (judgement.race && !result_.racy_sequential) {
      result_.racy_sequential = true;
      result_.race = describe_race(e_, *judgement.race);
    }
    result_.sequential.insert(std::move(outcome));
  }

  uint64_t signature(const Execution& x) const {
    uint64_t h = x.present;
    const auto mix = [&](uint64_t word) { h = (h ^ word) * 0x9E3779B97F4A7C15ull, h ^= h >> 29; };
    for (int e = 0; e < e_.count(); ++e) {
      mix(static_cast<uint64_t>(x.source[static_cast<size_t>(e)] + 1));
      mix(x.coherence[e]);
      mix(x.fence_order[e]);
    }
    return h;
  }

  const Events& e_;
  Expectation& result_;
  const std::vector<int16_t> observed_;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace

Expectation evaluate(const Program& program, const ModelOptions& options) {
  const Events events(program, options.multimem_is_a_proxy);
  Expectation result;
  Enumerator(events, result).run();
  Interleaver(events, result).run();
  return result;
}

}  // namespace fb::litmus
