#pragma once

// The content of a report of one or more runs, as plain structs. summarise() fills it; printers (console, Markdown,
// CSV, JSON, HTML) only read it and its runs. docs/reference/report.md has the formulas.
//
// Terms. A *sample* is one independent try of a model at a problem; it has rounds, each one attempt. An attempt
// *counts* if it says something about the model (record::Attempt::counts: no failed call, no class infra or
// unsupported). A sample counts if one of its attempts does; a problem counts for a model if one of its samples does.
// Attempts and problems that do not count are in no denominator; Model::excluded and Model::left_out list them.
//
// A sample *passes* if one of its attempts does. Its *best attempt* is the passing one with the highest speed, the
// earliest of equals; speed and sol of the sample are those of its best attempt.
//
// Every problem weighs the same: a rate is the mean over problems of the share of the problem's samples.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "campaign/report/estimate.h"
#include "common/base/result.h"
#include "common/record/campaign.h"

namespace fb::report {

// CommBench's bound of "on par with the reference": at most 5 % slower.
inline constexpr double kGoodSpeed = 0.95;

struct SummaryOptions {
  double good = kGoodSpeed;      // PASS+Good: the least speed that counts as good
  std::vector<uint32_t> k = {};  // of pass@k; empty: 1 … the largest number of samples of a problem
};

// Problems

struct ProblemSize {
  std::string name = {};
  std::vector<std::pair<std::string, int64_t>> values = {};  // parameter → value
  bool quick = false, timed = false;
};

// The least bytes and operations of a call.
struct ProblemCost {
  std::string size = {};
  int world = 0;
  double link_bytes = 0, memory_bytes = 0, flops = 0;  // of rank 0
  double tensor_flops = 0;                             // of `flops`: on tensor cores
};

// From DIR/problems/<name>.json. Without this file all fields but `name` are empty and `known` is false.
struct Problem {
  std::string name = {};
  bool known = false;
  std::string title = {}, track = {}, category = {}, library = {};
  std::vector<std::string> parallelism = {};
  int level = 0;
  std::vector<std::string> tags = {};
  std::string platform = {}, hash = {};
  std::vector<int> worlds = {};
  std::string level_reason = {}, provenance = {};
  std::string statement = {};  // markdown
  std::string args = {};       // the C++ struct that the candidate gets
  std::vector<ProblemSize> sizes = {};
  std::vector<ProblemCost> cost = {};  // one for each timed size and world

  // Models for which the problem counts, models with at least one sample that passed, and the mean of their shares.
  uint32_t models = 0, models_passed = 0;
  std::optional<double> pass_rate = {};
};

// Models

// Attempts of one sample are neighbours: runs[run].attempts[first … first + attempts - 1], by round.
struct Sample {
  size_t run = 0;
  size_t first = 0;
  uint32_t attempts = 0;
  uint32_t number = 1;  // from 1 within the cell; continues over pooled runs
  bool counts = false;
  bool passed = false;
  // No pass, and fewer rounds that count than planned: unfinished, or calls failed. Counts as not passed.
  bool cut_short = false;
  uint32_t passed_in_round = 0;     // the first round that passed; 0: none
  std::optional<size_t> best = {};  // index of the best attempt in runs[run].attempts; none: no pass
  std::optional<double> speed = {}, sol = {};
  std::string_view outcome = {};  // pass; else of the last attempt that counts; else of the last one
};

// One model at one problem.
struct Cell {
  std::vector<Sample> samples = {};  // all of them
  uint32_t attempts = 0;
  uint32_t counted = 0, passed = 0, good = 0;  // samples
  std::string_view outcome = {};               // the best of the samples (kOutcomes); empty: not tried
  std::optional<double> speed = {}, sol = {};  // geometric mean of the samples that passed
  std::optional<double> best_speed = {};
};

// The scores of a set of problems.
struct Scores {
  uint32_t problems = 0;  // that count
  uint32_t problems_passed = 0;
  uint32_t samples = 0, samples_passed = 0;  // that count
  uint32_t unscored = 0;     // samples that passed without a speed (thoroughness quick): in the pass rate, in no speed
  Estimate pass_rate = {};   // mean of passed / samples; pass@1 is the same
  Estimate pass_good = {};   // mean of (passed with speed ≥ good) / samples. No value: passes, but no speeds
  Estimate gm_speedup = {};  // geometric mean of speeds, over samples, then over problems. No value: no speeds
  Estimate pass_gm = {};     // pass_rate × gm_speedup; 0 where nothing passed. The ranking's figure
  Estimate sol = {};         // geometric mean of limit / candidate, as gm_speedup
};

struct PassAt {
  uint32_t k = 1;
  uint32_t problems = 0;  // those with at least k samples that count
  Estimate rate = {};
};

// All models have the same groups, in the same order; one without problems has no values.
struct Group {
  std::string name = {};  // "2", "collective", "cuda", "comm"; "unknown" where the problem's file is missing
  Scores scores = {};
};

struct OutcomeCount {
  std::string_view outcome = {};
  uint32_t attempts = 0;  // all
  uint32_t samples = 0;   // with this Sample::outcome
};

// Samples by speed. Shares are means over problems and sum to 1 (with not_passed).
struct Tier {
  std::string_view name = {};  // see kTiers
  double share = 0;
  uint32_t samples = 0;
};

// Figures after a round, from the attempts of this and all earlier rounds.
struct RoundScores {
  uint32_t round = 1;
  uint32_t attempts = 0;    // of this round
  uint32_t new_passes = 0;  // samples with their first pass in this round
  double gain = 0;          // of the pass rate over the previous round
  Estimate pass_rate = {}, gm_speedup = {}, pass_gm = {};
};

struct Price {
  std::optional<double> usd = {};  // of all calls with a known price; none: no price is known
  uint32_t calls = 0;              // that gave an answer
  uint32_t without_price = 0;      // of these, calls with an unknown price: usd is a lower bound, and shown as one
  uint32_t failed_calls = 0;       // without an answer; a price that they report is in usd
  uint32_t lost_tries = 0;         // tries with an unknown end; they may have been paid for
  std::optional<double> usd_per_problem = {};  // usd / problems tried
  std::optional<double> usd_per_pass = {};     // usd / samples that passed; none: no pass
  record::Usage tokens = {};
  double seconds = 0;  // of calls
};

// A problem that does not count for the model.
struct Excluded {
  size_t problem = 0;       // index
  std::string reason = {};  // "not tried", or the outcomes: "infra ×2, failed"
};

struct Model {
  std::string label = {};       // differs from all others; see Summary::notes where runs could not be pooled
  record::ModelSpec spec = {};  // of the first run
  std::vector<size_t> runs = {};
  uint32_t rounds = 1, speed_rounds = 0;  // as planned

  uint32_t rank = 1;  // by pass_gm; equal figures have the same rank
  // The ranks that the intervals of pass_gm leave open: 1 + number of models that are certainly better … number of
  // models - number of models that are certainly worse.
  uint32_t rank_from = 1, rank_to = 1;
  std::vector<size_t> not_separated = {};  // indices of models with overlapping intervals of pass_gm

  uint32_t problems_tried = 0;  // with at least one attempt
  uint32_t samples_tried = 0, attempts = 0;
  uint32_t cut_short = 0;  // samples, see Sample::cut_short
  uint32_t left_out = 0;   // attempts that do not count
  uint32_t cached = 0;     // attempts with an earlier verdict on the same code
  Scores scores = {};
  std::vector<PassAt> pass_at = {};
  std::vector<Group> by_level = {}, by_category = {}, by_library = {}, by_track = {}, by_parallelism = {};
  std::vector<OutcomeCount> outcomes = {};  // all of kOutcomes, in that order
  std::vector<Tier> tiers = {};             // all of kTiers, in that order
  std::vector<RoundScores> by_round = {};   // 1 … the number of rounds planned or made
  Price price = {};
  std::vector<Excluded> excluded = {};
  std::vector<Cell> cells = {};  // one for each of Summary::problems
};

struct RunFacts {
  std::string folder = {};
  record::CampaignPlan plan = {};
  uint32_t attempts = 0;
};

// A time that a user measured on GPUs of their own, with what is known of the same solution here. Figures of different
// origin, never part of one number.
struct MeasuredTime {
  std::string problem = {}, size = {}, solution = {}, gpu = {};
  int world = 0;
  bool right = false;
  double us = 0, low = 0, high = 0;  // median and range of one call; 0: not timed
  double modelled_us = 0;            // of the same solution, by the judge; 0: not known
  std::string label = {};            // the model whose attempt `solution` is; empty: no attempt of these runs
  std::string outcome = {};          // of that attempt
};

struct Summary {
  SummaryOptions options = {};
  std::vector<RunFacts> runs = {};
  std::vector<Problem> problems = {};  // by track, category, level, name
  std::vector<Model> models = {};      // by rank
  // The ranking figure: "pass_gm", or "pass_rate" where passes have no speed (thoroughness quick).
  std::string_view ranked_by = "pass_gm";
  uint32_t attempts = 0;
  std::vector<std::string> notes = {};  // sentences that a reader needs to interpret the figures
  std::vector<MeasuredTime> measured = {};
};

using record::kOutcomes;

// CommBench's four tiers of speed, and the samples without a speed. `on_par` begins at SummaryOptions::good, `better`
// at 1.2, `severely_degraded` is below 0.6.
inline constexpr std::string_view kTiers[] = {"better",   "on_par",    "degraded", "severely_degraded",
                                              "unscored", "not_passed"};
inline constexpr double kBetterSpeed = 1.2;
inline constexpr double kSevereSpeed = 0.6;

// A model label in several runs is one model if the runs' settings agree (pack, rounds, prompt, thoroughness, backend,
// platform, and how the model is asked): samples are pooled. Otherwise each gets the run's name appended, and a note
// says why. Errors name the unreadable file. `runs` must not be changed while the summary is used with it (Sample::run,
// first).
Result<Summary> summarise(std::span<const record::Run> runs, const SummaryOptions& options = {});

}  // namespace fb::report
