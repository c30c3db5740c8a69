#pragma once

// One candidate, one verdict. The judge fills a record and never prints. It does not know the author of the candidate.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/record/verdict.h"
#include "judge/build/build.h"
#include "judge/catalog/pack.h"
#include "judge/session/plan.h"
#include "judge/session/session.h"
#include "toolchain/compile/device_compiler.h"

namespace fb::judge {

enum class Backend : uint8_t { virtual_node, cuda };

// How far a judgement has come.
struct JudgeProgress {
  // "building", "running sessions", "measuring sensitivities", "measuring the reference", "measuring the baseline"
  const char* phase = "";
  size_t done = 0, planned = 0;  // sessions of the phase; 0 planned: a phase without countable parts
};

struct JudgeRequest {
  const catalog::Pack* pack = nullptr;
  const catalog::Problem* problem = nullptr;
  std::string answer = {};       // as a person or a model wrote it
  std::string answer_file = {};  // its name, for messages and for the command that replays
  Backend backend = Backend::virtual_node;
  Thoroughness thoroughness = Thoroughness::full;
  std::optional<uint64_t> seed = {};  // none: a secret one is drawn
  uint32_t schedules = 0;             // of each world, drawn at random; 0: as many as usual
  std::string platform = {};          // empty: the problem's
  std::string trace = {};             // of the timed calls if they pass, else of the first session; empty: none
  bool verbose = false;  // explanations of the machine in full; those of this process: common/base/text_limits.h
  bool look_for_races = true;
  bool use_sandbox = true;
  bool use_cache = true;
  bool measure_yardstick = true;  // baseline and reference, for the speed of a pass
  // Measure the sensitivity of a pass's times to each group of constants, for intervals and bounds.
  bool measure_sensitivity = true;
  // Even where the timed calls tell: a session for each group and each factor, where the group is slower by it.
  std::vector<double> slower = {};
  bool profile = false;     // with sensitivities: the verdict says where the time of kernels goes
  bool line_tables = true;  // without, explanations name no lines, and equal code is equal bytes
  // What makes PTX of candidate, reference and baseline. Verdicts of different ones are not comparable.
  toolchain::DeviceCompiler device_compiler = toolchain::DeviceCompiler::clang;
  size_t side_by_side = 0;  // sessions at once; 0: as many as there are cores
  // Gets the ways that branches of the candidate went, over all sessions that are judged; null: they are not counted.
  std::vector<record::BranchWays>* branches = nullptr;
  SessionLimits limits = {};
  BuildLimits build_limits = {};
  std::function<void(const JudgeProgress&)> on_progress = {};
};

// Wall time of a session of code of ours, which ends: a busy computer must not be what stops it.
inline constexpr double kSecondsForOurs = 600;

// Failures of ours come back as class infra, after some tries; an interruption (common/base/interruption.h) is thrown
// as Interrupted and makes no verdict. Whatever happens, no process or file of the judgement is left.
record::Verdict judge(const JudgeRequest& request);

// Compiles only: a hash of the object that would be judged. Errors: the compiler's, or why there is no sandbox.
Result<std::string> build_answer(const JudgeRequest& request);

// The modelled times of reference or baseline in all timed sizes, from the cache where they were measured before.
// Errors: it does not pass.
enum class Yardstick : uint8_t { reference, baseline };
// The problem as its baseline is judged: it may call every library and everything in run(), also what the problem
// forbids to solutions, because it is what they are to replace.
catalog::Problem with_rules_of_baseline(const catalog::Problem& problem);
Result<std::vector<record::Timing>> yardstick_times(const JudgeRequest& request, Yardstick which);

}  // namespace fb::judge
