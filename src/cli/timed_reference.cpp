#include "cli/timed_reference.h"

#include <fmt/format.h>

#include <utility>

#include "judge/judge.h"

namespace fb::cli {

Result<record::Verdict> time_reference(const catalog::Pack& pack, const std::string& platform,
                                       std::vector<double> slower) {
  judge::JudgeRequest request;
  request.pack = &pack;
  request.problem = &pack.problems.front();
  request.answer = request.problem->reference;
  request.answer_file = "reference.cu";
  request.thoroughness = judge::Thoroughness::times;
  request.platform = platform;
  request.seed = 1;
  request.measure_yardstick = false;
  request.limits.wall_seconds = judge::kSecondsForOurs;
  request.slower = std::move(slower);
  record::Verdict verdict = judge::judge(request);
  if (verdict.verdict != record::VerdictClass::pass)
    return error(fmt::format("{}: {}: {}", request.problem->name, to_string(verdict.verdict), verdict.summary));
  return verdict;
}

}  // namespace fb::cli
