#include "campaign/report/model_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "campaign/report/samples.h"
#include "campaign/report/tally.h"

namespace fb::report {
namespace {

void fill_counts(std::span<const record::Run> runs, Model& model) {
  for (const record::Outcome& outcome : kOutcomes) model.outcomes.push_back({.outcome = outcome.name});
  for (const Cell& cell : model.cells) {
    if (cell.attempts > 0) ++model.problems_tried;
    model.attempts += cell.attempts;
    for (const Sample& sample : cell.samples) {
      ++model.samples_tried;
      if (sample.cut_short) ++model.cut_short;
      ++std::ranges::find(model.outcomes, sample.outcome, &OutcomeCount::outcome)->samples;
      for (const record::Attempt& attempt : attempts_of(runs, sample)) {
        ++model.outcomes[outcome_index(attempt)].attempts;
        if (!counts(attempt)) ++model.left_out;
        if (attempt.cached) ++model.cached;
      }
    }
  }
}

void add_tokens(record::Usage& sum, const record::Usage& usage) {
  sum.input_tokens += usage.input_tokens;
  sum.cached_tokens += usage.cached_tokens;
  sum.cache_write_tokens += usage.cache_write_tokens;
  sum.output_tokens += usage.output_tokens;
  sum.reasoning_tokens += usage.reasoning_tokens;
}

void fill_price(std::span<const record::Run> runs, Model& model) {
  Price& price = model.price;
  for (const Cell& cell : model.cells) {
    for (const Sample& sample : cell.samples) {
      for (const record::Attempt& attempt : attempts_of(runs, sample)) {
        const record::Call& call = attempt.call;
        const bool answered = call.end != record::AnswerEnd::failed;
        ++(answered ? price.calls : price.failed_calls);
        if (call.usd) {
          price.usd = price.usd.value_or(0) + *call.usd;
        } else if (answered) {
          ++price.without_price;
        }
        price.lost_tries += call.lost;
        price.seconds += call.seconds;
        add_tokens(price.tokens, call.usage);
      }
    }
  }
  if (!price.usd) return;
  if (model.problems_tried > 0) price.usd_per_problem = *price.usd / model.problems_tried;
  if (model.scores.samples_passed > 0) price.usd_per_pass = *price.usd / model.scores.samples_passed;
}

size_t tier_of(const Sample& sample, double good) {
  if (!sample.passed) return 5;
  if (!logarithm(sample.speed)) return 4;
  if (*sample.speed >= std::max(kBetterSpeed, good)) return 0;
  if (*sample.speed >= good) return 1;
  return *sample.speed >= kSevereSpeed ? 2 : 3;
}

void fill_tiers(Model& model, double good) {
  for (const std::string_view name : kTiers) model.tiers.push_back({.name = name});
  for (const Cell& cell : model.cells) {
    for (const Sample& sample : cell.samples) {
      if (!sample.counts) continue;
      Tier& tier = model.tiers[tier_of(sample, good)];
      ++tier.samples;
      tier.share += 1.0 / cell.counted / model.scores.problems;
    }
  }
}

void fill_rounds(std::span<const record::Run> runs, Model& model, double good) {
  uint32_t rounds = model.rounds;
  std::map<uint32_t, uint32_t> attempts, new_passes;  // by round
  for (const Cell& cell : model.cells) {
    for (const Sample& sample : cell.samples) {
      for (const record::Attempt& attempt : attempts_of(runs, sample)) {
        rounds = std::max(rounds, attempt.round);
        ++attempts[attempt.round];
      }
      if (sample.passed) ++new_passes[sample.passed_in_round];
    }
  }
  double before = 0;
  for (uint32_t round = 1; round <= rounds; ++round) {
    std::vector<Tally> tallies;
    for (const Cell& cell : model.cells) tallies.push_back(tally_of(runs, cell, round, good));
    const Scores scores = score(tallies);
    const double rate = scores.pass_rate.value.value_or(0);
    model.by_round.push_back({.round = round,
                              .attempts = attempts[round],
                              .new_passes = new_passes[round],
                              .gain = rate - before,
                              .pass_rate = scores.pass_rate,
                              .gm_speedup = scores.gm_speedup,
                              .pass_gm = scores.pass_gm});
    before = rate;
  }
}

// "infra ×2, failed"
std::string reason_of(std::span<const record::Run> runs, const Cell& cell) {
  if (cell.attempts == 0) return "not tried";
  std::map<size_t, int> seen;
  for (const Sample& sample : cell.samples) {
    for (const record::Attempt& attempt : attempts_of(runs, sample)) ++seen[outcome_index(attempt)];
  }
  std::vector<std::string> parts;
  for (const auto& [outcome, times] : seen)
    parts.push_back(fmt::format("{}{}", kOutcomes[outcome].name, times == 1 ? "" : fmt::format(" ×{}", times)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

std::vector<Group> groups_of(const std::vector<Problem>& problems, std::span<const Tally> tallies,
                             const std::function<std::string(const Problem&)>& key) {
  std::map<std::string, std::vector<Tally>> groups;
  for (size_t k = 0; k < problems.size(); ++k) groups[key(problems[k])].push_back(tallies[k]);
  std::vector<Group> scored;
  for (const auto& [name, members] : groups) scored.push_back({.name = name, .scores = score(members)});
  return scored;
}

}  // namespace

void fill_model(std::span<const record::Run> runs, const std::vector<Problem>& problems,
                const std::vector<uint32_t>& ks, double good, Model& model) {
  std::vector<Tally> tallies;
  for (size_t k = 0; k < problems.size(); ++k) {
    Cell& cell = model.cells[k];
    fill_cell(runs, cell, good);
    tallies.push_back(tally_of(runs, cell, kAllRounds, good));
    if (cell.counted == 0) model.excluded.push_back({.problem = k, .reason = reason_of(runs, cell)});
  }
  model.scores = score(tallies);
  model.pass_at = pass_at(tallies, ks);
  model.by_level = groups_of(problems, tallies, [](const Problem& p) {
    return p.level == 0 ? std::string("unknown") : fmt::format("{}", p.level);
  });
  model.by_category = groups_of(problems, tallies, [](const Problem& p) { return or_unknown(p.category); });
  model.by_library = groups_of(problems, tallies, [](const Problem& p) { return or_unknown(p.library); });
  model.by_track = groups_of(problems, tallies, [](const Problem& p) { return or_unknown(p.track); });
  model.by_parallelism = groups_of(problems, tallies, [](const Problem& p) {
    return p.parallelism.empty() ? std::string("none named") : fmt::format("{}", fmt::join(p.parallelism, " x "));
  });
  fill_counts(runs, model);
  fill_tiers(model, good);
  fill_rounds(runs, model, good);
  fill_price(runs, model);
}

}  // namespace fb::report
