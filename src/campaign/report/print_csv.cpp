#include <fmt/format.h>

#include <vector>

#include "campaign/report/printers.h"
#include "campaign/report/tally.h"

namespace fb::report {
namespace {

class Csv {
 public:
  void text(std::string_view value) {
    if (value.find_first_of(",\"\r\n") == std::string_view::npos) return raw(value);
    std::string quoted = "\"";
    for (const char c : value) {
      if (c == '"') quoted += '"';
      quoted += c;
    }
    raw(quoted + "\"");
  }
  void number(const std::optional<double>& value) { raw(value ? fmt::format("{:.9g}", *value) : ""); }
  void count(uint64_t value) { raw(fmt::format("{}", value)); }
  void yes(bool value) { raw(value ? "1" : "0"); }
  void end_row() {
    all_ += '\n';
    begins_ = true;
  }
  std::string take() { return std::move(all_); }

 private:
  void raw(std::string_view value) {
    if (!begins_) all_ += ',';
    begins_ = false;
    all_ += value;
  }

  std::string all_;
  bool begins_ = true;
};

void names(Csv& csv, std::initializer_list<std::string_view> columns) {
  for (const std::string_view column : columns) csv.text(column);
}

void estimate(Csv& csv, const Estimate& e) {
  csv.number(e.value);
  csv.number(e.interval ? std::optional(e.interval->low) : std::nullopt);
  csv.number(e.interval ? std::optional(e.interval->high) : std::nullopt);
}
void estimate_names(Csv& csv, const std::string& name) { names(csv, {name, name + "_low", name + "_high"}); }

void usage(Csv& csv, const record::Usage& usage) {
  csv.count(usage.input_tokens);
  csv.count(usage.cached_tokens);
  csv.count(usage.cache_write_tokens);
  csv.count(usage.output_tokens);
  csv.count(usage.reasoning_tokens);
}
void usage_names(Csv& csv) {
  names(csv, {"input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens"});
}

void attempt_row(Csv& csv, const record::Attempt& a) {
  csv.count(a.round);
  csv.yes(a.for_speed);
  csv.text(kOutcomes[outcome_index(a)].name);
  csv.yes(counts(a));
  csv.number(a.verdict ? a.verdict->speed : std::nullopt);
  csv.number(a.verdict ? a.verdict->sol : std::nullopt);
  csv.yes(a.cached);
  csv.text(record::to_string(a.call.end));
  csv.text(a.call.stop_reason);
  csv.number(a.call.usd);
  usage(csv, a.call.usage);
  csv.number(a.call.seconds);
  csv.count(a.call.tries);
  csv.text(a.verdict ? a.verdict->summary : a.call.error);
  csv.text(a.verdict ? a.verdict->candidate_hash : "");
  csv.end_row();
}

}  // namespace

std::string leaderboard_csv(const Summary& summary) {
  Csv csv;
  names(csv, {"rank", "rank_from", "rank_to", "model", "provider", "provider_model", "effort", "problems",
              "problems_passed", "samples", "samples_passed", "attempts", "left_out"});
  for (const char* name : {"pass_gm", "pass_rate", "pass_good", "gm_speedup", "sol"}) estimate_names(csv, name);
  if (!summary.models.empty()) {
    for (const PassAt& at : summary.models.front().pass_at) estimate_names(csv, fmt::format("pass@{}", at.k));
  }
  names(csv, {"usd", "usd_per_problem", "usd_per_pass", "calls", "calls_without_price", "failed_calls"});
  usage_names(csv);
  names(csv, {"seconds"});
  csv.end_row();
  for (const Model& model : summary.models) {
    csv.count(model.rank);
    csv.count(model.rank_from);
    csv.count(model.rank_to);
    csv.text(model.label);
    csv.text(model.spec.provider);
    csv.text(model.spec.model);
    csv.text(model.spec.effort);
    csv.count(model.scores.problems);
    csv.count(model.scores.problems_passed);
    csv.count(model.scores.samples);
    csv.count(model.scores.samples_passed);
    csv.count(model.attempts);
    csv.count(model.left_out);
    for (const Estimate* e : {&model.scores.pass_gm, &model.scores.pass_rate, &model.scores.pass_good,
                              &model.scores.gm_speedup, &model.scores.sol})
      estimate(csv, *e);
    for (const PassAt& at : model.pass_at) estimate(csv, at.rate);
    csv.number(model.price.usd);
    csv.number(model.price.usd_per_problem);
    csv.number(model.price.usd_per_pass);
    csv.count(model.price.calls);
    csv.count(model.price.without_price);
    csv.count(model.price.failed_calls);
    usage(csv, model.price.tokens);
    csv.number(model.price.seconds);
    csv.end_row();
  }
  return csv.take();
}

std::string attempts_csv(const Summary& summary, std::span<const record::Run> runs) {
  Csv csv;
  names(csv, {"run", "model", "problem", "track", "category", "library", "level", "sample", "round", "for_speed",
              "outcome", "counts", "speed", "sol", "cached", "call", "stop_reason", "usd"});
  usage_names(csv);
  names(csv, {"seconds", "tries", "summary", "candidate_hash"});
  csv.end_row();
  for (const Model& model : summary.models) {
    for (size_t k = 0; k < model.cells.size(); ++k) {
      const Problem& problem = summary.problems[k];
      for (const Sample& sample : model.cells[k].samples) {
        for (uint32_t i = 0; i < sample.attempts; ++i) {
          csv.text(runs[sample.run].folder);
          csv.text(model.label);
          csv.text(problem.name);
          csv.text(problem.track);
          csv.text(problem.category);
          csv.text(problem.library);
          csv.count(static_cast<uint64_t>(problem.level));
          csv.count(sample.number);
          attempt_row(csv, runs[sample.run].attempts[sample.first + i]);
        }
      }
    }
  }
  return csv.take();
}

}  // namespace fb::report
