#include "campaign/verdict_cache.h"

#include <vector>

#include "base/content_hash.h"
#include "base/installed.h"
#include "base/strings.h"
#include "launcher/launch.h"

namespace fb::campaign {
namespace {

// What judges: a new build of it may judge otherwise.
std::string hash_of_programs() {
  std::vector<std::string> words = {hash_bytes(read_file(own_program()))};
  if (const auto machine = launcher::find_machine()) words.push_back(hash_bytes(read_file(*machine)));
  return hash_words(words);
}

}  // namespace

std::string VerdictCache::key(const JudgeJob& job, const std::string& answer) {
  static const std::string kPrograms = hash_of_programs();
  return hash_words({"verdict", kPrograms, job.problem, job.problem_hash, job.thoroughness, job.backend, job.platform,
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
  if (verdict.verdict != record::VerdictClass::infra) cache_.put(key, to_json(verdict));
}

}  // namespace fb::campaign
