#pragma once

// Equal code gets equal verdicts: a judgement is a function of problem, pack, answer, seed and judge::identity(), which
// covers our programs, the SDK, the compiler and the values of the platform.

#include <optional>
#include <string>

#include "campaign/judge_job.h"
#include "judge/catalog/pack.h"
#include "toolchain/compile/cache.h"

namespace fb::campaign {

class VerdictCache {
 public:
  explicit VerdictCache(toolchain::Cache cache) : cache_(std::move(cache)) {}

  // The key of this judgement. `pack` has the job's problem only; `answer` is the text.
  static std::string key(const JudgeJob& job, const catalog::Pack& pack, const std::string& answer);

  std::optional<record::Verdict> get(const std::string& key) const;
  // Infrastructure failures are not kept, nor is a pass with times that lacks its speed.
  void put(const std::string& key, const record::Verdict& verdict);

 private:
  toolchain::Cache cache_;
};

}  // namespace fb::campaign
