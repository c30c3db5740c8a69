#pragma once

// One session on the virtual node: a machine and its ranks, each in a sandbox of its own, and the judge's talk with
// them.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/sandbox/sandbox.h"
#include "judge/catalog/problem.h"
#include "judge/data/oracle.h"
#include "judge/session/outcome.h"
#include "judge/session/plan.h"
#include "judge/session/rank_zygote.h"

namespace fb::judge {

// What a candidate may use in one session. Processor time and instructions decide first, because they do not depend on
// the load of the computer; wall time is for ranks that sleep.
struct SessionLimits {
  double wall_seconds = 30;
  uint64_t instructions = 200'000'000;         // of warps
  uint64_t cpu_seconds = 10;                   // of each rank
  uint64_t rank_memory = uint64_t{1} << 30;    // private memory of each rank
  uint64_t device_memory = uint64_t{4} << 30;  // of all devices together
  uint64_t file_bytes = uint64_t{64} << 20;    // each rank's /tmp
  uint32_t threads = 256;                      // of each rank
};

struct SessionRequest {
  const catalog::Problem* problem = nullptr;
  const Oracle* oracle = nullptr;
  const SessionPlan* session = nullptr;
  std::vector<uint64_t> constants = {};  // of the candidate's code, for its inputs
  std::string candidate = {};            // path of the shared object; its PTX is beside it
  std::string driver = {};               // likewise; empty: the problem has no driver
  std::string platform = {};
  int nodes = 1;               // of the platform
  std::string slower = {};     // launcher::LaunchRequest
  std::string trace = {};      // file to write; empty: none
  bool look_for_races = true;  // where the plan says so
  bool count_branches = false, verbose = false;
  bool profile = false;                              // the outcome says where the time of kernels goes
  const sandbox::SandboxSupport* sandbox = nullptr;  // null: none, by the user's wish
  const RankZygote* zygote = nullptr;                // with a sandbox
  SessionLimits limits = {};
  // Gets added what the session takes (SessionOutcome::processor_seconds), by run_sessions() alone; null: nothing.
  std::map<std::string, double>* processor_seconds = nullptr;
};

// The path of fabricbench-rank. Throws std::runtime_error.
std::string find_rank();

// Failures of ours (no machine, no process) come back as a finding of class infra.
SessionOutcome run_session(const SessionRequest& request);

}  // namespace fb::judge
