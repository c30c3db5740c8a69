#pragma once

// What a campaign is to do, and the folder of a run:
//
//   DIR/campaign.json                                      the plan
//   DIR/prices.toml                                        what tokens cost, for this run's limit and records
//   DIR/problems/<problem>.json                            as `fabricbench show --json` says it, so that a report needs
//   no pack DIR/samples/<label>/<problem>/<sample>/<round>.…       a round's files:
//       request.json    what the model is asked            (campaign)
//       response.json   what came back, and the call       (llm)
//       answer.md       the answer's text, as it came
//       verdict.json    of the judge                       (judge)
//       attempt.json    record::Attempt: the round is done
//
// Every file is written whole and renamed into place; nothing is ever changed afterwards, but campaign.json, which may
// grow. A round is done when its attempt.json is there.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/record/attempt.h"

namespace fb::record {

struct CampaignPlan {
  std::string name = {};               // a title for reports
  std::string created = {};            // 2026-11-15T10:00:00Z
  std::vector<ModelSpec> models = {};  // labels differ
  std::vector<std::string> problems = {};
  std::string pack = {}, pack_version = {};
  uint32_t samples = 1, rounds = 1;
  uint32_t speed_rounds = 0;          // after the first pass
  std::string prompt = "zero_shot";   // variant
  std::string thoroughness = "full";  // or quick
  std::string backend = "virtual", platform = {};
  std::string device_compiler = "clang";  // or nvcc
  uint64_t seed = 0;                      // of all judgements; secret until the campaign has ended
  // Settings that a run keeps; all but the sandbox may be changed when it is resumed.
  std::optional<double> max_usd = {};  // the most that all calls of the run may cost; none: no limit
  uint32_t calls = 4;                  // of models at once
  std::optional<double> calls_per_minute = {};
  bool use_cache = true, use_sandbox = true;
  std::string version = {};  // of fabricbench
  friend bool operator==(const CampaignPlan&, const CampaignPlan&) = default;
};

std::string to_json(const CampaignPlan& plan);
Result<CampaignPlan> parse_campaign_plan(std::string_view json);

// Where a round's files are.
struct RoundId {
  std::string model, problem;
  uint32_t sample = 1, round = 1;
  friend auto operator<=>(const RoundId&, const RoundId&) = default;
};
std::string plan_file(const std::string& run);
std::string prices_file(const std::string& run);
std::string problem_file(const std::string& run, std::string_view problem);
std::string sample_folder(const std::string& run, const RoundId& id);
// `kind`: "request.json", "response.json", "answer.md", …
std::string round_file(const std::string& run, const RoundId& id, std::string_view kind);

// A whole run, as reports read it.
struct Run {
  std::string folder;
  CampaignPlan plan;
  std::vector<std::string> problems;  // JSON texts, in the order of plan.problems; empty where a file is missing
  std::vector<Attempt> attempts;      // by model, problem, sample, round, in the plan's order
};
// What cannot be read is an error that names the file: a report that leaves something out would lie.
Result<Run> read_run(const std::string& folder);

}  // namespace fb::record
