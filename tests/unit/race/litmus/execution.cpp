#include "litmus/execution.h"

namespace fb::litmus {
namespace {

// Builds the relations of docs/reference/memory_model.md one upon the other, in the order of that page.
class Judge {
 public:
  Judge(const Events& events, const Execution& execution) : e_(events), x_(execution), n_(events.count()) {}

  Judgement run() {
    observe();
    order_causally();
    if (base_.cyclic(n_)) return {.broken = "Fence-SC", .coherence = {}, .race = {}, .mixed_size = false};
    preserve_across_proxies();
    for (int a = 0; a < n_; ++a) {
      if (cause_.has(a, a)) return {.broken = "Causality", .coherence = {}, .race = {}, .mixed_size = false};
    }
    complete_coherence();
    if (coherence_.cyclic(n_)) return {.broken = "Coherence", .coherence = {}, .race = {}, .mixed_size = false};
    Judgement result{.broken = broken_axiom(), .coherence = coherence_, .race = {}, .mixed_size = false};
    if (!result.broken) find_races(result);
    return result;
  }

 private:
  bool present(int a) const { return (x_.present >> a & 1) != 0; }
  int source(int read) const { return x_.source[static_cast<size_t>(read)]; }
  template <class F>
  void for_present(F&& f) const {
    for_each(x_.present, f);
  }

  // Observation order. Chains go through operations that read and write: the atomic ones.
  void observe() {
    for_present([&](int r) {
      if (e_[r].read && e_.morally_strong(source(r), r)) observation_.add(source(r), r);
    });
    observation_.close(n_);
  }

  // The acquire patterns whose read is `read`: calls f with the last operation of each.
  template <class F>
  void for_acquire_patterns(int read, F&& f) const {
    // The read of a red is part of no pattern.
    if (!e_[read].returns || !e_.strong(read)) return;
    if (e_.acquires(read)) f(read);
    for_each(e_.program_order[read] & x_.present, [&](int last) {
      if (e_.acquires(last) && (e_[last].kind == EventKind::fence || e_.overlap_completely(read, last))) f(last);
    });
  }

  void synchronize(int first, int write) {
    for_each(observation_[write], [&](int read) {
      for_acquire_patterns(read, [&](int last) {
        if (e_.morally_strong(first, last)) base_.add(first, last);
      });
    });
  }

  void order_causally() {
    for_present([&](int a) { base_[a] = e_.order[a] & x_.present; });
    base_ |= x_.fence_order;
    for_present([&](int first) {
      if (!e_.releases(first)) return;
      if (e_[first].write) synchronize(first, first);
      for_each(e_.program_order[first] & x_.present, [&](int write) {
        if (!e_[write].write || !e_.strong(write)) return;
        if (e_[first].kind == EventKind::fence || e_.overlap_completely(first, write)) synchronize(first, write);
      });
    });
    for_present([&](int a) {
      if (e_[a].kind != EventKind::arrive) return;
      for_present([&](int b) {
        if (e_[b].kind == EventKind::wait && e_[b].barrier == e_[a].barrier && same_block(a, b)) base_.add(a, b);
      });
    });
    base_.close(n_);
  }

  bool same_block(int a, int b) const {
    const auto& threads = e_.program.threads;
    return threads[static_cast<size_t>(e_[a].thread)].place.same_block(
        threads[static_cast<size_t>(e_[b].thread)].place);
  }

  // X before Y in base causality: does that hold across their proxies too?
  bool preserved(int x, int y) const {
    if (e_[x].kind == EventKind::initial || e_[x].proxy == e_[y].proxy) return true;
    // A copy that overwrites bytes which were read needs no proxy fence after the read.
    if (e_[y].asynchronous && !e_[x].write) return true;
    bool found = false;
    for_each(base_[x] & x_.present, [&](int f) {
      if (!base_.has(f, y)) return;
      const bool crosses = e_[f].proxy == e_[x].proxy || e_[f].proxy == e_[y].proxy;
      if (e_[f].kind == EventKind::proxy_fence && e_[f].proxy != EventProxy::generic && crosses) found = true;
      // The completion of a copy crosses between the proxies for that copy.
      if (e_[f].kind == EventKind::finish && e_[x].asynchronous && e_.order.has(x, f)) found = true;
    });
    return found;
  }

  void preserve_across_proxies() {
    Relation kept;
    for_present([&](int x) {
      for_each(base_[x] & x_.present, [&](int y) {
        if (e_.same_location(x, y) && preserved(x, y)) kept.add(x, y);
      });
    });
    cause_ = kept;
    for_present([&](int x) { for_each(observation_[x], [&](int z) { cause_[x] |= kept[z]; }); });
  }

  void complete_coherence() {
    coherence_ = x_.coherence;
    for_present([&](int a) {
      if (!e_[a].write) return;
      for_present([&](int b) {
        if (a != b && e_[b].write && e_.same_location(a, b) && cause_.has(a, b)) coherence_.add(a, b);
      });
    });
    coherence_.close(n_);
  }

  // R reads from a write before W.
  bool from_read(int r, int w) const { return e_[r].read && r != w && coherence_.has(source(r), w); }

  const char* broken_axiom() const {
    const char* broken = nullptr;
    Relation per_location;
    for_present([&](int a) {
      for_present([&](int b) {
        if (a == b || !e_.same_location(a, b)) return;
        const bool read_from = e_[b].read && source(b) == a;
        if (e_.program_order.has(a, b)) per_location.add(a, b);
        if (e_.morally_strong(a, b) && (read_from || coherence_.has(a, b) || from_read(a, b))) per_location.add(a, b);
        // Causality, both halves.
        if (e_[a].read && e_[b].write && cause_.has(a, b) && source(a) == b) broken = "Causality";
        if (e_[a].write && e_[b].read && cause_.has(a, b) && coherence_.has(source(b), a)) broken = "Causality";
        if (e_[a].atomic() && e_[b].write && e_.morally_strong(a, b) && coherence_.has(source(a), b) &&
            coherence_.has(b, a)) {
          broken = "Atomicity";
        }
      });
    });
    if (broken) return broken;
    per_location.close(n_);
    return per_location.cyclic(n_) ? "SC-per-Location" : nullptr;
  }

  void find_races(Judgement& result) const {
    for (int a = 0; a < n_; ++a) {
      if (!present(a) || e_[a].kind == EventKind::initial) continue;
      for (int b = a + 1; b < n_; ++b) {
        if (!present(b) || !e_.conflict(a, b)) continue;
        if (e_.morally_strong(a, b) || cause_.has(a, b) || cause_.has(b, a)) continue;
        if (!result.race) result.race = std::pair{a, b};
        result.mixed_size |= !e_.overlap_completely(a, b) && !e_[a].asynchronous && !e_[b].asynchronous;
      }
    }
  }

  const Events& e_;
  const Execution& x_;
  const int n_;
  Relation observation_, base_, cause_, coherence_;
};

}  // namespace

Judgement judge(const Events& events, const Execution& execution) { return Judge(events, execution).run(); }

std::optional<Values> values(const Events& events, const Execution& execution) {
  const int n = events.count();
  Relation depends;
  for_each(execution.present, [&](int e) {
    if (events[e].read) depends.add(execution.source[static_cast<size_t>(e)], e);
    depends[e] |= events.control[e] & execution.present;
  });
  depends.close(n);
  if (depends.cyclic(n)) return {};
  Values v;
  // As many rounds as the longest chain has links.
  for (int round = 0; round < n; ++round) {
    for_each(execution.present, [&](int e) {
      const Event& event = events[e];
      const auto k = static_cast<size_t>(e);
      if (event.read) {
        const int from = execution.source[k];
        v.read[k] = v.written[static_cast<size_t>(from)];
      }
      if (event.write) {
        v.written[k] = event.value + (event.value_of == kNone ? 0 : v.read[static_cast<size_t>(event.value_of)]);
      }
    });
  }
  return v;
}

}  // namespace fb::litmus
