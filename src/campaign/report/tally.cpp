#include "campaign/report/tally.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace fb::report {
namespace {

constexpr size_t index_of(std::string_view outcome) {
  return static_cast<size_t>(std::ranges::find(kOutcomes, outcome, &record::Outcome::name) - std::begin(kOutcomes));
}

// pass@k of problems with at least k samples.
PassAt pass_at(std::span<const Tally> problems, uint32_t k) {
  std::vector<double> shares;
  uint32_t groups = 0;  // disjoint groups of k samples
  for (const Tally& problem : problems) {
    if (problem.samples < k) continue;
    shares.push_back(pass_at_k(problem.samples, problem.passed, k));
    groups += problem.samples / k;
  }
  return {.k = k, .problems = static_cast<uint32_t>(shares.size()), .rate = mean_share(shares, groups)};
}

// Error of a speed's logarithm from the uncertainty of the platform's constants; 0 if the verdict does not state it.
double model_error(const record::Verdict& verdict) {
  const record::Range& range = verdict.speed_range;
  return range.known() && range.low > 0 ? std::log(range.high / range.low) / 2 : 0;
}

}  // namespace

size_t outcome_index(const record::Attempt& attempt) {
  const size_t index = index_of(record::outcome(attempt));
  return index < std::size(kOutcomes) ? index : index_of("infra");
}

bool counts(const record::Attempt& attempt) { return kOutcomes[outcome_index(attempt)].counts; }

const record::Attempt* best_attempt(std::span<const record::Attempt> attempts, uint32_t last_round) {
  const record::Attempt* best = nullptr;
  for (const record::Attempt& attempt : attempts) {
    if (!attempt.passed() || attempt.round > last_round) continue;
    if (best == nullptr || attempt.verdict->speed.value_or(0) > best->verdict->speed.value_or(0)) best = &attempt;
  }
  return best;
}

std::optional<double> logarithm(const std::optional<double>& ratio) {
  if (!ratio || !(*ratio > 0) || !std::isfinite(*ratio)) return std::nullopt;
  return std::log(*ratio);
}

void Tally::add(const record::Attempt* best, double good_speed) {
  ++samples;
  if (best == nullptr) return;
  ++passed;
  if (const auto speed = logarithm(best->verdict->speed)) {
    ++with_speed;
    log_speeds += *speed;
    log_speed_errors += model_error(*best->verdict);
    if (*best->verdict->speed >= good_speed) ++good;
  }
  if (const auto sol = logarithm(best->verdict->sol)) {
    ++with_sol;
    log_sols += *sol;
  }
}

Scores score(std::span<const Tally> problems) {
  Scores scores;
  std::vector<double> passed, good, speeds, speed_errors, sols;
  uint32_t with_speed = 0;
  for (const Tally& problem : problems) {
    if (problem.samples == 0) continue;
    ++scores.problems;
    if (problem.passed > 0) ++scores.problems_passed;
    scores.samples += problem.samples;
    scores.samples_passed += problem.passed;
    with_speed += problem.with_speed;
    passed.push_back(static_cast<double>(problem.passed) / problem.samples);
    good.push_back(static_cast<double>(problem.good) / problem.samples);
    if (problem.with_speed > 0) {
      speeds.push_back(problem.log_speeds / problem.with_speed);
      speed_errors.push_back(problem.log_speed_errors / problem.with_speed);
    }
    if (problem.with_sol > 0) sols.push_back(problem.log_sols / problem.with_sol);
  }
  scores.unscored = scores.samples_passed - with_speed;
  scores.pass_rate = mean_share(passed, scores.samples);
  if (scores.samples_passed == 0 || with_speed > 0) scores.pass_good = mean_share(good, scores.samples);
  scores.gm_speedup = widened(geometric_mean(speeds), speed_errors);
  scores.pass_gm = product(scores.pass_rate, scores.gm_speedup);
  scores.sol = geometric_mean(sols);
  return scores;
}

std::vector<PassAt> pass_at(std::span<const Tally> problems, std::span<const uint32_t> ks) {
  std::vector<PassAt> all;
  for (const uint32_t k : ks) {
    PassAt at = pass_at(problems, k);
    // pass@k does not decrease with k, so that the lower bound for fewer samples holds for more, on the same problems.
    if (!all.empty() && all.back().problems == at.problems && at.rate.interval)
      at.rate.interval->low = std::max(at.rate.interval->low, all.back().rate.interval->low);
    all.push_back(at);
  }
  return all;
}

}  // namespace fb::report
