#pragma once

// Collects everything that waits on a node when nothing can make progress: the input of the wait-for graph.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "virtual_node/machine/deadlock/wait_graph.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/process/process.h"

namespace fb::machine {

struct NodeState {
  const std::vector<std::unique_ptr<Process>>& processes;
  const std::vector<std::shared_ptr<HostThread>>& threads;
  const Engine& engine;
  const WriteHistory& history;
  // Of a judged run; empty otherwise. The rank has returned from the call that is in progress.
  std::function<bool(const Process&)> has_returned = {};
  // … and what a thread waits for, if it is another rank or the judge.
  std::function<std::optional<std::string>(const HostThread&)> explain_wait = {};
  // Why collective operations do not end, if there are such.
  std::optional<CollectiveBlame> collective = {};
  // … and why threads that use network cards wait, and which cards may write a word of memory; empty: none.
  std::optional<CollectiveBlame> cards = {};
  std::function<std::string(uint32_t process, uint64_t address)> explain_memory = {};
};

// In the order of processes and launches, so that it is the same in every run. Refers to `node`.
DeadlockSnapshot gather(const NodeState& node);

}  // namespace fb::machine
