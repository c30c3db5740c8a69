#pragma once

// The parts of a node, for the functions that handle requests and for the session of a judged run. All references are
// valid as long as the node is.

#include <functional>
#include <memory>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/platform.h"
#include "machine/deadlock/write_history.h"
#include "machine/engine.h"
#include "machine/memory_clock.h"
#include "machine/node/checking.h"
#include "machine/node/host_threads.h"
#include "machine/node/judge_requests.h"
#include "machine/node/lost_work.h"
#include "machine/node/memory_budget.h"
#include "machine/node/module_table.h"
#include "machine/node/node_memory.h"
#include "machine/node/node_options.h"
#include "machine/node/process.h"
#include "machine/node/run_log.h"
#include "machine/node/sharing.h"
#include "record/run_record.h"

namespace fb::machine {

class BlasOperations;
class Collectives;
class StreamScheduler;
class Verbs;

struct NodeServices {
  const fabric::Platform& platform;
  const NodeOptions& options;
  const DeviceLimits& limits;
  const std::function<void(record::Incident)>& report;
  const std::vector<std::unique_ptr<Process>>& processes;
  MemoryBudget& budget;
  fabric::Fabric& fabric;
  WriteHistory& writes;
  MemoryClock& clock;
  Engine& engine;
  Checking* checking;  // null: no races are looked for
  IpcTokens& tokens;
  PhysicalExports& exports;
  RunLog& log;
  LostWork& lost;
  NodeMemory& memory;
  ModuleTable& modules;
  HostThreads& threads;
  StreamScheduler& streams;
  Collectives& collectives;
  BlasOperations& blas;
  Verbs& verbs;
  JudgeRequests* judge = nullptr;  // null: the run is not judged
  bool everybody_came = false;     // all ranks, or those that came within some seconds; before, time stands still
};

}  // namespace fb::machine
