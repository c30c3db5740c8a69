#include "campaign/judge_job.h"

#include "record/json_fields.h"

namespace fb::campaign {
namespace {

using record::Json;
using record::take;

JudgeJob job_from(const Json& json) {
  JudgeJob job;
  job.problems = json.at("problems");
  job.problem = json.at("problem");
  job.answer = json.at("answer");
  take(json, "problem_hash", job.problem_hash);
  take(json, "thoroughness", job.thoroughness);
  take(json, "backend", job.backend);
  take(json, "platform", job.platform);
  record::take_seed(json, "seed", job.seed);
  take(json, "use_cache", job.use_cache);
  take(json, "use_sandbox", job.use_sandbox);
  take(json, "side_by_side", job.side_by_side);
  return job;
}

Judged judged_from(const Json& json) {
  Judged judged;
  judged.verdict = record::verdict_from(json.at("verdict"));
  take(json, "cached", judged.cached);
  return judged;
}

}  // namespace

std::string to_json(const JudgeJob& job) {
  return record::dump({{"problems", job.problems},
                       {"problem", job.problem},
                       {"problem_hash", job.problem_hash},
                       {"answer", job.answer},
                       {"thoroughness", job.thoroughness},
                       {"backend", job.backend},
                       {"platform", job.platform},
                       {"seed", std::to_string(job.seed)},
                       {"use_cache", job.use_cache},
                       {"use_sandbox", job.use_sandbox},
                       {"side_by_side", job.side_by_side}});
}

Result<JudgeJob> parse_judge_job(std::string_view json) { return record::parse_object(json, "a job", job_from); }

std::string to_json(const Judged& judged) {
  return record::dump({{"verdict", record::to_value(judged.verdict)}, {"cached", judged.cached}});
}

Result<Judged> parse_judged(std::string_view json) { return record::parse_object(json, "a verdict file", judged_from); }

std::string verdict_file_of(const std::string& job_file) {
  constexpr std::string_view kJob = ".job.json";
  const std::string stem = job_file.ends_with(kJob) ? job_file.substr(0, job_file.size() - kJob.size()) : job_file;
  return stem + ".verdict.json";
}

}  // namespace fb::campaign
