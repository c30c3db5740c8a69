#include "virtual_node/machine/deadlock/explain.h"

#include <fmt/format.h>

#include <utility>

#include "virtual_node/machine/deadlock/causes.h"
#include "virtual_node/machine/deadlock/graph_text.h"

namespace fb::machine {

std::string explain(DeadlockSnapshot snapshot) {
  const WaitGraph graph = make_wait_graph(std::move(snapshot));
  return describe(graph, find_cause(graph));
}

Deadlock explain_deadlock(const GridRun& run, const LoadedModule& module, const mem::AddressSpace& memory) {
  DeadlockSnapshot facts;
  BlockedRun blocked;
  blocked.run = &run;
  blocked.space = &memory;
  blocked.address_of = [&](std::string_view variable) { return module.address_of(variable); };
  facts.runs.push_back(std::move(blocked));
  facts.owner_of = [](uint32_t, uint32_t) { return std::string("the device"); };
  facts.name_of = [](const mem::Allocation& a) { return fmt::format("{} #{} ({} bytes)", a.label, a.id, a.size); };
  const WaitGraph graph = make_wait_graph(std::move(facts));
  Deadlock record;
  record.text = describe(graph, find_cause(graph));
  record.waiting_threads = graph.waiting_threads;
  record.finished_blocks = run.finished_blocks;
  record.resident_blocks = run.blocks.size();
  record.unstarted_blocks = run.grid.grid.count() - run.next_block;
  return record;
}

}  // namespace fb::machine
