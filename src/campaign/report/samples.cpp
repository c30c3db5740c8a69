#include "campaign/report/samples.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace fb::report {

std::span<const record::Attempt> attempts_of(std::span<const record::Run> runs, const Sample& sample) {
  return std::span(runs[sample.run].attempts).subspan(sample.first, sample.attempts);
}

Sample sample_of(std::span<const record::Run> runs, size_t run, size_t first, uint32_t count) {
  Sample sample{.run = run, .first = first, .attempts = count};
  const auto attempts = attempts_of(runs, sample);
  uint32_t rounds_that_count = 0;
  size_t last = outcome_index(attempts.back());
  for (const record::Attempt& attempt : attempts) {
    if (!counts(attempt)) continue;
    ++rounds_that_count;
    last = outcome_index(attempt);
    if (attempt.passed() && sample.passed_in_round == 0) sample.passed_in_round = attempt.round;
  }
  sample.counts = rounds_that_count > 0;
  sample.passed = sample.passed_in_round > 0;
  sample.cut_short = sample.counts && !sample.passed && rounds_that_count < runs[run].plan.rounds;
  if (const record::Attempt* best = best_attempt(attempts, kAllRounds)) {
    sample.best = first + static_cast<size_t>(best - attempts.data());
    sample.speed = best->verdict->speed;
    sample.sol = best->verdict->sol;
    last = outcome_index(*best);
  }
  sample.outcome = kOutcomes[last].name;
  return sample;
}

Tally tally_of(std::span<const record::Run> runs, const Cell& cell, uint32_t last_round, double good) {
  Tally tally;
  for (const Sample& sample : cell.samples) {
    if (sample.counts) tally.add(best_attempt(attempts_of(runs, sample), last_round), good);
  }
  return tally;
}

void fill_cell(std::span<const record::Run> runs, Cell& cell, double good) {
  const Tally tally = tally_of(runs, cell, kAllRounds, good);
  cell.counted = tally.samples;
  cell.passed = tally.passed;
  cell.good = tally.good;
  if (tally.with_speed > 0) cell.speed = std::exp(tally.log_speeds / tally.with_speed);
  if (tally.with_sol > 0) cell.sol = std::exp(tally.log_sols / tally.with_sol);
  size_t best = std::size(kOutcomes);
  for (const Sample& sample : cell.samples) {
    cell.attempts += sample.attempts;
    if (sample.speed && (!cell.best_speed || *sample.speed > *cell.best_speed)) cell.best_speed = sample.speed;
    for (const record::Attempt& attempt : attempts_of(runs, sample)) best = std::min(best, outcome_index(attempt));
  }
  if (best < std::size(kOutcomes)) cell.outcome = kOutcomes[best].name;
}

}  // namespace fb::report
