#include "campaign/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "campaign/files.h"
#include "campaign/judge_job.h"
#include "campaign/verdict_cache.h"
#include "common/base/interruption.h"
#include "common/base/output.h"
#include "common/base/strings.h"
#include "judge/catalog/pack.h"
#include "judge/judge.h"

namespace fb::campaign {
namespace {

namespace fs = std::filesystem;

// The pack with the job's problem in it.
Result<catalog::Pack> load_problem(const JudgeJob& job) {
  auto pack = catalog::load_from_pack(job.problems, job.problem);
  if (pack && !job.problem_hash.empty() && pack->problems.front().hash != job.problem_hash)
    return error(fmt::format("{} in {} has changed since the campaign began", job.problem, job.problems));
  return pack;
}

Result<record::Verdict> make(const JudgeJob& job, const catalog::Pack& pack, const std::string& answer) {
  const catalog::Problem& problem = pack.problems.front();
  judge::JudgeRequest request;
  request.pack = &pack;
  request.problem = &problem;
  request.answer = answer;
  request.answer_file = "solution.cu";  // its name in messages for people and models
  request.backend = job.backend == "cuda" ? judge::Backend::cuda : judge::Backend::virtual_node;
  request.thoroughness = job.thoroughness == "quick" ? judge::Thoroughness::quick : judge::Thoroughness::full;
  request.seed = job.seed;
  request.platform = job.platform;
  request.device_compiler = toolchain::device_compiler_of(job.device_compiler);
  request.use_sandbox = job.use_sandbox;
  request.side_by_side = job.side_by_side;
  request.profile = true;  // later rounds are told which lines cost most
  record::Verdict verdict = judge::judge(request);
  if (verdict.verdict == record::VerdictClass::infra) return error(verdict.summary);
  return verdict;
}

Result<void> judge_job(const std::string& job_file) {
  const auto job = parse_judge_job(read_file(job_file));
  if (!job) return error(job_file + ": " + in_one_line(job.error()));
  const std::string answer = read_file(fs::path(job_file).parent_path() / job->answer);
  VerdictCache cache(job->use_cache ? toolchain::Cache::of_user() : toolchain::Cache());
  const auto pack = load_problem(*job);
  if (!pack) return std::unexpected(pack.error());
  const std::string key = job->use_cache ? VerdictCache::key(*job, *pack, answer) : "";
  Judged judged;
  if (auto known = job->use_cache ? cache.get(key) : std::nullopt) {
    judged = {.verdict = std::move(*known), .cached = true};
  } else {
    auto verdict = make(*job, *pack, answer);
    if (!verdict) return std::unexpected(verdict.error());
    judged.verdict = std::move(*verdict);
  }
  // In this order: a worker that is killed in between leaves a verdict that does not look like an earlier one.
  publish(verdict_file_of(job_file), to_json(judged));
  if (job->use_cache && !judged.cached) cache.put(key, judged.verdict);
  return {};
}

}  // namespace

Result<void> judge_job_file(const std::string& job_file) {
  try {
    if (fs::exists(verdict_file_of(job_file))) return {};
    return judge_job(job_file);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& e) {
    return error(e.what());
  }
}

int serve_lines() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto done = judge_job_file(line);
    print_out("{}\n", done ? "done" : "failed " + in_one_line(done.error()));
    flush(stdout);
    if (lost_output().out != 0) return 1;
  }
  return 0;
}

Result<size_t> work_through(const std::string& list, size_t first, size_t count) {
  std::string text;
  try {
    text = read_file(list);
  } catch (const std::exception& e) {
    return error(e.what());
  }
  std::vector<std::string> jobs;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) jobs.emplace_back(line);
  }
  size_t failures = 0;
  const size_t end = std::min(jobs.size(), first + count);
  for (size_t k = first; k < end; ++k) {
    const auto done = judge_job_file(jobs[k]);
    if (done) continue;
    ++failures;
    print_error("{}: {}\n", jobs[k], in_one_line(done.error()));
  }
  return failures;
}

}  // namespace fb::campaign
