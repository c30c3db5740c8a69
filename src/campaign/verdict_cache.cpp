#include "campaign/verdict_cache.h"

#include "common/base/content_hash.h"
#include "judge/identity.h"

namespace fb::campaign {

std::string VerdictCache::key(const JudgeJob& job, const catalog::Pack& pack, const std::string& answer) {
  const catalog::Problem& problem = pack.problems.front();
  const std::string& platform = job.platform.empty() ? problem.platform : job.platform;
  return hash_words({"verdict 2", judge::identity(platform, toolchain::device_compiler_of(job.device_compiler)),
                     platform, pack.name, pack.version, problem.name, problem.hash, job.thoroughness, job.backend,
                     std::to_string(job.seed), job.use_sandbox ? "sandbox" : "none", answer});
}

std::optional<record::Verdict> VerdictCache::get(const std::string& key) const {
  const auto text = cache_.get(key);
  if (!text) return std::nullopt;
  auto verdict = record::parse_verdict(*text);
  if (!verdict) return std::nullopt;
  return std::move(*verdict);
}

void VerdictCache::put(const std::string& key, const record::Verdict& verdict) {
  const bool passed = verdict.verdict == record::VerdictClass::pass;
  if (verdict.verdict == record::VerdictClass::infra || (passed && !verdict.timings.empty() && !verdict.speed)) return;
  cache_.put(key, to_json(verdict));
}

}  // namespace fb::campaign
