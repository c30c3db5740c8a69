#pragma once

// One judgement as a file, so that any process on any host with the run folder can make it.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/record/campaign.h"

namespace fb::campaign {

struct JudgeJob {
  std::string problems = {};  // root of the pack
  std::string problem = {};
  std::string problem_hash = {};  // must equal that of the worker's pack
  std::string answer = {};        // path of the file, relative to the job
  std::string thoroughness = "full";
  std::string backend = "virtual", platform = {}, device_compiler = "clang";
  uint64_t seed = 0;
  bool use_cache = true;  // verdicts on the same code
  bool use_sandbox = true;
  uint32_t side_by_side = 1;  // sessions at once
  friend bool operator==(const JudgeJob&, const JudgeJob&) = default;
};

std::string to_json(const JudgeJob& job);
Result<JudgeJob> parse_judge_job(std::string_view json);

// The content of a verdict file.
struct Judged {
  record::Verdict verdict = {};
  bool cached = false;
};
std::string to_json(const Judged& judged);
Result<Judged> parse_judged(std::string_view json);

// <round>.job.json → <round>.verdict.json
std::string verdict_file_of(const std::string& job_file);

}  // namespace fb::campaign
