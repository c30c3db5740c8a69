#include "campaign/judge_job.h"

#include "common/record/verdict_fields.h"

namespace fb::campaign {

template <FieldsOf<JudgeJob> T, class F>
void visit_fields(T& job, F&& field) {
  field("problems", job.problems, kRequired);
  field("problem", job.problem, kRequired);
  field("problem_hash", job.problem_hash);
  field("answer", job.answer, kRequired);
  field("thoroughness", job.thoroughness);
  field("backend", job.backend);
  field("platform", job.platform);
  field("device_compiler", job.device_compiler);
  field("seed", as_text(job.seed));
  field("use_cache", job.use_cache);
  field("use_sandbox", job.use_sandbox);
  field("side_by_side", job.side_by_side);
}

template <FieldsOf<Judged> T, class F>
void visit_fields(T& judged, F&& field) {
  field("verdict", judged.verdict, kRequired);
  field("cached", judged.cached);
}

std::string to_json(const JudgeJob& job) { return dump(to_json_value(job)); }
Result<JudgeJob> parse_judge_job(std::string_view json) { return parse_fields<JudgeJob>(json, "a job"); }

std::string to_json(const Judged& judged) { return dump(to_json_value(judged)); }
Result<Judged> parse_judged(std::string_view json) { return parse_fields<Judged>(json, "a verdict file"); }

std::string verdict_file_of(const std::string& job_file) {
  constexpr std::string_view kJob = ".job.json";
  const std::string stem = job_file.ends_with(kJob) ? job_file.substr(0, job_file.size() - kJob.size()) : job_file;
  return stem + ".verdict.json";
}

}  // namespace fb::campaign
