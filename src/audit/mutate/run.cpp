#include "audit/mutate/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "common/base/hash.h"
#include "common/base/interruption.h"
#include "common/base/jobs.h"
#include "common/base/strings.h"
#include "judge/judge.h"

namespace fb::mutate {
namespace {

namespace fs = std::filesystem;
using judge::Thoroughness;
using record::Verdict;
using record::VerdictClass;
using Clock = std::chrono::steady_clock;

// Wall times, for a computer that is busy with mutants: a compiler that was stopped would count as one that refused, a
// session that was stopped as a kill. Runaway candidates are stopped by other limits.
constexpr std::chrono::seconds kBuildTime{300};
constexpr double kSessionSeconds = 300;

std::string file_name(const Mutant& mutant) {
  std::string name = mutant.id;
  std::ranges::replace(name, '/', '-');
  std::ranges::replace(name, ':', '-');
  return name;
}

uint64_t hash_of(std::string_view text, uint64_t seed) {
  uint64_t hash = seed;
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

class ProblemRun {
 public:
  ProblemRun(const catalog::Pack& pack, const catalog::Problem& problem, const Options& options)
      : pack_(pack), problem_(problem), options_(options) {
    jobs_ = options.jobs == 0 ? std::max(1u, std::thread::hardware_concurrency()) : options.jobs;
  }

  Result<Run> run() {
    auto mutants = make_mutants(problem_, options_.operators);
    if (!mutants) return std::unexpected(mutants.error());
    find_stale(*mutants);
    for (auto& mutant : draw(std::move(*mutants), options_.limit, options_.seed))
      run_.results.push_back({.mutant = std::move(mutant)});
    run_.seed = options_.seed;
    run_.quick = options_.quick;
    run_.ordinary_only = options_.ordinary_only;
    if (auto judged = judge_reference(); !judged) return std::unexpected(judged.error());
    if (auto built = build(); !built) return std::unexpected(built.error());
    judge();
    if (!failure_.empty()) return error(failure_);
    return std::move(run_);
  }

 private:
  void say_progress(std::string_view phase, size_t done, size_t planned) const {
    if (options_.on_progress) options_.on_progress(phase, done, planned);
  }

  // Arguments about mutants that there are not; not where only some operators were asked for.
  void find_stale(const std::vector<Mutant>& mutants) {
    for (const auto& [id, why] : options_.equivalents) {
      if (!id.starts_with(problem_.name + "/") || !options_.operators.empty()) continue;
      if (std::ranges::find(mutants, id, &Mutant::id) == mutants.end())
        run_.stale.push_back(fmt::format("{}: there is no such mutant", id));
    }
  }

  judge::JudgeRequest request_for(const std::string& answer, Thoroughness thoroughness) const {
    judge::JudgeRequest request;
    request.pack = &pack_;
    request.problem = &problem_;
    request.answer = answer;
    request.answer_file = "mutant.cu";
    request.thoroughness = thoroughness;
    request.seed = options_.seed;
    request.use_sandbox = options_.use_sandbox;
    request.measure_yardstick = false;
    request.measure_sensitivity = false;
    request.side_by_side = 1;
    request.line_tables = false;
    request.build_limits.time = kBuildTime;
    request.limits.wall_seconds = kSessionSeconds;
    return request;
  }

  // Finds out what compiles, and to the same code as what.
  Result<void> build() {
    const auto texts = run_jobs(
        run_.results.size() + 1, jobs_,
        [&](size_t k) {
          const std::string& answer = k == 0 ? problem_.reference : run_.results[k - 1].mutant.source;
          const auto built = judge::build_answer(request_for(answer, Thoroughness::full));
          return built ? "=" + *built : "!" + in_one_line(built.error());
        },
        [&, done = size_t{0}](size_t, const std::string&) mutable {
          say_progress("compiling", ++done, run_.results.size() + 1);
          return false;
        },
        JobSignals::delivered);
    if (!texts[0].starts_with("=")) return error("the reference does not compile: " + texts[0]);
    std::map<std::string, std::string> first;  // code → id of the first mutant
    for (size_t k = 0; k < run_.results.size(); ++k) {
      MutantResult& result = run_.results[k];
      const std::string& text = texts[k + 1];
      if (text.empty()) continue;  // the process was lost: unjudged
      if (text[0] == '!') {
        result.fate = Fate::invalid;
        result.summary = text.substr(1);
        continue;
      }
      result.code = text.substr(1);
      if (text == texts[0]) {
        result.fate = Fate::same_code;
        continue;
      }
      const auto [at, is_first] = first.emplace(result.code, result.mutant.id);
      if (is_first) {
        to_judge_.push_back(k);
      } else {
        result.fate = Fate::duplicate;
        result.duplicate_of = at->second;
      }
    }
    return {};
  }

  // Where the judge refuses the reference, it has killed nothing by refusing mutants.
  Result<void> judge_reference() const {
    auto request = request_for(problem_.reference, options_.ordinary_only ? ordinary() : all());
    request.side_by_side = jobs_;
    const Verdict verdict = judge::judge(request);
    throw_if_interrupted();
    if (verdict.verdict == VerdictClass::pass) return {};
    return error(fmt::format("{}: the reference does not pass: {}: {}", problem_.name, to_string(verdict.verdict),
                             first_line(verdict.summary)));
  }

  void judge() {
    std::erase_if(to_judge_, [&](size_t k) { return take_known(run_.results[k]); });
    say_progress("judging", 0, to_judge_.size());
    run_jobs(
        to_judge_.size(), jobs_, [&](size_t job) { return judge_one(run_.results[to_judge_[job]].mutant); },
        [&, done = size_t{0}](size_t job, const std::string& text) mutable {
          MutantResult& result = run_.results[to_judge_[job]];
          take(result, text);
          if (options_.on_result) options_.on_result(result);
          say_progress("judging", ++done, to_judge_.size());
          return false;
        },
        JobSignals::delivered);
  }

  Thoroughness ordinary() const { return options_.quick ? Thoroughness::ordinary_quick : Thoroughness::ordinary; }
  Thoroughness all() const { return options_.quick ? Thoroughness::quick : Thoroughness::full; }

  bool take_known(MutantResult& result) {
    const auto same = [&](const MutantResult& known) {
      return known.code == result.code && known.fate != Fate::duplicate && known.fate != Fate::unjudged;
    };
    const auto known = std::ranges::find_if(options_.known, same);
    if (known == options_.known.end()) return false;
    result.summary = known->summary;
    result.seconds = known->seconds;
    conclude(result, known->verdict, known->means == Means::ordinary);
    return true;
  }

  // First by running and comparing alone. The full plan has the same sessions and more, so what they kill, it kills.
  std::string judge_one(const Mutant& mutant) const try {
    const auto begin = Clock::now();
    const std::string stem = options_.out.empty() ? "" : options_.out + "/" + file_name(mutant);
    if (!stem.empty()) write_file(stem + ".cu", mutant.source);
    Verdict verdict = judge::judge(request_for(mutant.source, ordinary()));
    const bool killed = verdict.verdict != VerdictClass::pass;
    if (!killed && !options_.ordinary_only) verdict = judge::judge(request_for(mutant.source, all()));
    if (!stem.empty()) write_file(stem + ".json", to_json(verdict));
    const nlohmann::ordered_json said = {{"class", to_string(verdict.verdict)},
                                         {"summary", first_line(verdict.summary)},
                                         {"ordinary", killed},
                                         {"seconds", std::chrono::duration<double>(Clock::now() - begin).count()}};
    return said.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  } catch (const std::exception& e) {
    // What is to be kept of a mutant can't be written, or the judge fails: no run without it.
    return nlohmann::ordered_json{{"failure", e.what()}}.dump(-1, ' ', false,
                                                              nlohmann::ordered_json::error_handler_t::replace);
  }

  void take(MutantResult& result, const std::string& text) {
    const auto said = nlohmann::ordered_json::parse(text, nullptr, false);
    if (said.is_discarded()) {
      result.summary = "the process of its judgement was lost";
      return;
    }
    if (said.contains("failure")) {
      failure_ = result.summary = said.at("failure");
      return;
    }
    result.summary = said.at("summary");
    result.seconds = said.at("seconds");
    conclude(result, said.at("class"), said.at("ordinary"));
  }

  // Its summary stands already.
  void conclude(MutantResult& result, const std::string& verdict_class, bool ordinary) {
    result.verdict = verdict_class;
    const auto verdict = record::verdict_class_from(result.verdict);
    const auto declared = options_.equivalents.find(result.mutant.id);
    if (declared != options_.equivalents.end()) result.argument = declared->second;
    if (verdict == VerdictClass::infra || verdict == VerdictClass::unsupported) return;
    if (verdict == VerdictClass::pass) {
      result.fate = result.argument.empty() ? Fate::survived : Fate::declared_equivalent;
      return;
    }
    result.fate = Fate::killed;
    result.means = verdict == VerdictClass::race ? Means::checkers : ordinary ? Means::ordinary : Means::schedules;
    if (!result.argument.empty())
      run_.stale.push_back(fmt::format("{}: it is killed ({})", result.mutant.id, result.summary));
  }

  const catalog::Pack& pack_;
  const catalog::Problem& problem_;
  const Options& options_;
  size_t jobs_ = 1;
  Run run_;
  std::vector<size_t> to_judge_;
  std::string failure_;
};

}  // namespace

std::vector<Mutant> draw(std::vector<Mutant> mutants, size_t limit, uint64_t seed) {
  if (limit == 0 || mutants.size() <= limit) return mutants;
  std::vector<uint64_t> ranks;
  for (const auto& mutant : mutants) ranks.push_back(hash_of(mutant.id, seed));
  std::ranges::sort(ranks);
  std::erase_if(mutants, [&](const Mutant& mutant) { return hash_of(mutant.id, seed) > ranks[limit - 1]; });
  return mutants;
}

Result<Run> run_problem(const catalog::Pack& pack, const catalog::Problem& problem, const Options& options) {
  const InterruptionGuard guard;
  return ProblemRun(pack, problem, options).run();
}

}  // namespace fb::mutate
