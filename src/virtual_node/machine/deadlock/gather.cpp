#include "virtual_node/machine/deadlock/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/text_limits.h"

namespace fb::machine {
namespace {

using wire::Kind;

constexpr size_t kMostNamedWaits = 4;
constexpr size_t kMostOps = 256;
constexpr size_t kMostFollowed = 4096;  // operations behind one

// The operation and all that transitively depend on it.
std::set<const Operation*> with_followers(const Operation* op) {
  std::set<const Operation*> all;
  std::vector<const Operation*> todo{op};
  while (!todo.empty() && all.size() < kMostFollowed) {
    const Operation* at = todo.back();
    todo.pop_back();
    if (!all.insert(at).second) continue;
    for (const OperationPtr& next : at->after) todo.push_back(next.get());
  }
  return all;
}

Need need_of(const OperationFacts& facts) {
  Need need;
  need.bytes = static_cast<uint32_t>(facts.end - facts.begin);
  need.bits = need.bytes * 8;
  need.value = facts.value;
  switch (facts.compare) {
    case wire::Compare::greater_equal:
      // The difference is compared with 0, so that numbers may wrap.
      need.relation = Relation::at_least;
      need.is_signed = true;
      need.add = ~facts.value + 1;
      need.value = 0;
      break;
    case wire::Compare::equal:
      need.relation = Relation::equal;
      break;
    case wire::Compare::bit_and:
      need.relation = Relation::not_equal;
      need.mask = facts.value;
      need.value = 0;
      break;
    case wire::Compare::bit_nor:
      // ~(v | m) is to be other than 0: some bit outside m is 0.
      need.relation = Relation::not_equal;
      need.flip = ~uint64_t{0};
      need.mask = ~facts.value;
      need.value = 0;
      break;
  }
  if (need.bits == 32) need.value &= UINT32_MAX;
  return need;
}

mem::Address address_in(const Context& context, const simt::Program* program, std::string_view variable) {
  for (const auto& [id, module] : context.modules) {
    if (module.loaded && &module.loaded->program() == program) return module.loaded->address_of(variable);
  }
  return 0;
}

class Gatherer {
 public:
  Gatherer(DeadlockSnapshot& facts, const NodeState& node) : facts_(facts), node_(node) {}

  void add_process(const Process& process) {
    const bool joint =
        std::ranges::any_of(process.pending, [](const OperationPtr& o) { return o->joint && !o->has_ended; });
    facts_.ranks.push_back({process.number, process.rank, name_of(process), process.gone,
                            node_.has_returned && node_.has_returned(process), joint, process.call});
    for (const auto& [device, context] : process.contexts) {
      for (const auto& run : node_.engine.runs()) {
        if (run->environment == context.get()) add_run(process, device, *context, *run);
      }
    }
    for (const OperationPtr& op : process.pending) {
      const bool says_something = op->facts.grid || op->facts.memory;
      const bool runs = op->facts.grid_id != 0;
      if (!op->has_ended && !runs && says_something && facts_.ops.size() < kMostOps) add_op(process, *op);
    }
  }

  // The order of operations; after all processes were added.
  void add_order() {
    for (const Operation* op : of_run_) after_run_.push_back(op ? with_followers(op) : std::set<const Operation*>{});
    for (const Operation* op : of_op_) after_op_.push_back(with_followers(op));
    for (size_t w = 0; w < of_op_.size(); ++w) {
      for (size_t r = 0; r < of_run_.size(); ++r) {
        if (after_run_[r].contains(of_op_[w])) facts_.ops[w].after_runs.push_back(r);
      }
      for (size_t o = 0; o < of_op_.size(); ++o) {
        if (o != w && after_op_[o].contains(of_op_[w])) facts_.ops[w].after_ops.push_back(o);
      }
    }
  }

  void add_thread(const HostThread& thread) {
    const bool polls_word = thread.request == Kind::verbs_look && thread.polls != 0;
    const bool outside = thread.note.wait != wire::VerbsWait::none || !thread.polled.empty() || polls_word;
    if (thread.gone || (!thread.waiting && !outside) || thread.request == Kind::callback_next) return;
    BlockedHost host;
    host.process = thread.process->number;
    host.rank = thread.process->rank;
    if (const auto wait = node_.explain_wait ? node_.explain_wait(thread) : std::nullopt) {
      host.text = *wait;
      host.for_peers = true;
      facts_.hosts.push_back(std::move(host));
      return;
    }
    host.text = fmt::format("{}: a host thread waits in {}", name_of(*thread.process), wire::call_name(thread.request));
    size_t named = 0;
    for (const OperationPtr& w : thread.waits_for) {
      if (w->has_ended) continue;
      for (size_t r = 0; r < of_run_.size(); ++r) {
        if (after_run_[r].contains(w.get())) host.runs.push_back(r);
      }
      for (size_t o = 0; o < of_op_.size(); ++o) {
        if (after_op_[o].contains(w.get())) host.ops.push_back(o);
      }
      if (++named > at_most(kMostNamedWaits)) continue;
      host.text +=
          fmt::format("{} for \"{}\"{}", named == 1 ? "" : " and", w->name.empty() ? "work on a stream" : w->name,
                      w->has_begun ? ", which has begun" : ", which can't begin yet");
    }
    if (named > at_most(kMostNamedWaits)) host.text += " and more";
    facts_.hosts.push_back(std::move(host));
  }

 private:
  void add_run(const Process& process, uint32_t device, const Context& context, const GridRun& run) {
    BlockedRun blocked;
    blocked.run = &run;
    blocked.space = &context.space;
    blocked.address_of = [&context, program = run.grid.program](std::string_view v) {
      return address_in(context, program, v);
    };
    blocked.process = process.number;
    blocked.rank = process.rank;
    blocked.owner = fmt::format("{}, device {}", name_of(process), device);
    if (const KnownGrid* known = facts_.history->find_grid(run.grid.id)) {
      blocked.launch = known->launch;
      blocked.call = known->call;
    }
    facts_.runs.push_back(std::move(blocked));
    const auto op = std::ranges::find_if(
        process.pending, [&](const OperationPtr& w) { return !w->has_ended && w->facts.grid_id == run.grid.id; });
    of_run_.push_back(op == process.pending.end() ? nullptr : op->get());
  }

  void add_op(const Process& process, const Operation& op) {
    BlockedOp blocked;
    const uint32_t device = op.device - process.first_device;
    blocked.owner = fmt::format("{}, device {}", name_of(process), device);
    blocked.name = op.name;
    blocked.process = process.number;
    blocked.rank = process.rank;
    blocked.begun = op.has_begun;
    blocked.call = op.call;
    const auto context = process.contexts.find(device);
    if (op.facts.grid && context != process.contexts.end()) {
      blocked.grid = op.facts.grid.get();
      blocked.space = &context->second->space;
      blocked.address_of = [c = context->second.get(), program = op.facts.grid->program](std::string_view v) {
        return address_in(*c, program, v);
      };
    } else if (op.facts.waits) {
      blocked.waits_on = op.facts.memory.get();
      blocked.offset = op.facts.begin;
      blocked.bytes = static_cast<uint32_t>(op.facts.end - op.facts.begin);
      blocked.need = need_of(op.facts);
      blocked.need_text = blocked.need->text();
    } else {
      blocked.writes = op.facts.memory.get();
      blocked.begin = op.facts.begin;
      blocked.end = op.facts.end;
    }
    facts_.ops.push_back(std::move(blocked));
    of_op_.push_back(&op);
  }

  DeadlockSnapshot& facts_;
  const NodeState& node_;
  std::vector<const Operation*> of_run_, of_op_;                  // of DeadlockSnapshot::runs and ops
  std::vector<std::set<const Operation*>> after_run_, after_op_;  // these and everything behind them
};

}  // namespace

DeadlockSnapshot gather(const NodeState& node) {
  DeadlockSnapshot facts;
  facts.history = &node.history;
  facts.collective = node.collective;
  facts.cards = node.cards;
  facts.explain_memory = node.explain_memory;
  const auto find_process = [&processes = node.processes](uint32_t number) -> const Process* {
    const auto found = std::ranges::find(processes, number, [](const auto& p) { return p->number; });
    return found == processes.end() ? nullptr : found->get();
  };
  facts.owner_of = [find_process](uint32_t number, uint32_t device) {
    const Process* process = find_process(number);
    std::string name = process ? name_of(*process) : fmt::format("process {}", number);
    if (device == ~0u || !process) return name;
    return fmt::format("{}, device {}", name, device - process->first_device);
  };
  facts.name_of = [owner_of = facts.owner_of](const mem::Allocation& a) {
    const uint32_t number = (a.id - 1) / kAllocationsEach;
    const std::string owner = owner_of(number, a.device == mem::kHostMemory ? ~0u : a.device);
    return fmt::format("{} #{} of {} ({} bytes)", a.label, a.id - number * kAllocationsEach, owner, a.size);
  };
  facts.space_of = [find_process](uint32_t number, uint32_t device) -> const mem::AddressSpace* {
    const Process* process = find_process(number);
    if (!process) return nullptr;
    const auto context = process->contexts.find(device - process->first_device);
    return context == process->contexts.end() ? nullptr : &context->second->space;
  };

  Gatherer gatherer(facts, node);
  std::vector<const Process*> processes;
  for (const auto& process : node.processes) processes.push_back(process.get());
  std::ranges::sort(processes, {}, &Process::number);
  for (const Process* process : processes) gatherer.add_process(*process);
  gatherer.add_order();
  // By rank: the order in which threads connected is not deterministic.
  auto threads = node.threads;
  std::ranges::sort(threads, {}, [](const auto& thread) { return std::pair(thread->process->number, thread->tie); });
  for (const auto& thread : threads) gatherer.add_thread(*thread);
  return facts;
}

}  // namespace fb::machine
