#pragma once

// The parts of a node that know of no library: for libraries, for the session of a judged run, and for each other. All
// references are valid as long as the node is.

#include <functional>
#include <memory>
#include <vector>

#include "common/platform/platform.h"
#include "common/record/run_record.h"
#include "virtual_node/fabric/fabric.h"
#include "virtual_node/fabric/network.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/engine/write_history.h"
#include "virtual_node/machine/process/checking.h"
#include "virtual_node/machine/process/host_threads.h"
#include "virtual_node/machine/process/judge_requests.h"
#include "virtual_node/machine/process/lost_work.h"
#include "virtual_node/machine/process/memory_budget.h"
#include "virtual_node/machine/process/module_table.h"
#include "virtual_node/machine/process/node_memory.h"
#include "virtual_node/machine/process/node_options.h"
#include "virtual_node/machine/process/process.h"
#include "virtual_node/machine/process/run_log.h"
#include "virtual_node/machine/process/sharing.h"
#include "virtual_node/machine/time/memory_clock.h"

namespace fb::machine {

class StreamScheduler;

struct ProcessServices {
  const platform::Platform& platform;
  const NodeOptions& options;
  const DeviceLimits& limits;
  const std::function<void(record::Incident)>& report;
  const std::vector<std::unique_ptr<Process>>& processes;
  MemoryBudget& budget;
  fabric::Fabric& fabric;
  fabric::Network& network;
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
  JudgeRequests* judge = nullptr;  // null: the run is not judged
  bool everybody_came = false;     // all ranks, or those that came within some seconds; before, time stands still
};

}  // namespace fb::machine
