#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "campaign/report/printers.h"

namespace fb::report {
namespace {

using Json = nlohmann::ordered_json;

// Nine digits: further digits depend on the compiler.
Json number(const std::optional<double>& value) {
  if (!value) return nullptr;
  return std::strtod(fmt::format("{:.9g}", *value).c_str(), nullptr);
}

Json to_value(const Estimate& e) {
  return {{"value", number(e.value)},
          {"low", number(e.interval ? std::optional(e.interval->low) : std::nullopt)},
          {"high", number(e.interval ? std::optional(e.interval->high) : std::nullopt)}};
}

Json to_value(const Scores& s) {
  return {{"problems", s.problems},
          {"problems_passed", s.problems_passed},
          {"samples", s.samples},
          {"samples_passed", s.samples_passed},
          {"unscored", s.unscored},
          {"pass_rate", to_value(s.pass_rate)},
          {"pass_good", to_value(s.pass_good)},
          {"gm_speedup", to_value(s.gm_speedup)},
          {"pass_gm", to_value(s.pass_gm)},
          {"sol", to_value(s.sol)}};
}

Json to_value(const std::vector<Group>& groups) {
  Json all = Json::array();
  for (const Group& group : groups) all.push_back({{"name", group.name}, {"scores", to_value(group.scores)}});
  return all;
}

Json to_value(const Price& p) {
  return {{"usd", number(p.usd)},
          {"usd_per_problem", number(p.usd_per_problem)},
          {"usd_per_pass", number(p.usd_per_pass)},
          {"calls", p.calls},
          {"calls_without_price", p.without_price},
          {"failed_calls", p.failed_calls},
          {"lost_tries", p.lost_tries},
          {"input_tokens", p.tokens.input_tokens},
          {"cached_tokens", p.tokens.cached_tokens},
          {"cache_write_tokens", p.tokens.cache_write_tokens},
          {"output_tokens", p.tokens.output_tokens},
          {"reasoning_tokens", p.tokens.reasoning_tokens},
          {"seconds", number(p.seconds)}};
}

Json to_value(const RunFacts& run) {
  const record::CampaignPlan& plan = run.plan;
  return {{"folder", run.folder},
          {"name", plan.name},
          {"created", plan.created},
          {"pack", plan.pack},
          {"pack_version", plan.pack_version},
          {"problems", plan.problems.size()},
          {"samples", plan.samples},
          {"rounds", plan.rounds},
          {"speed_rounds", plan.speed_rounds},
          {"prompt", plan.prompt},
          {"thoroughness", plan.thoroughness},
          {"backend", plan.backend},
          {"platform", plan.platform},
          {"device_compiler", plan.device_compiler},
          {"version", plan.version},
          {"attempts", run.attempts}};
}

Json to_value(const MeasuredTime& m) {
  const auto known = [](double us) { return us > 0 ? Json(us) : Json(nullptr); };
  return {{"problem", m.problem},     {"size", m.size},
          {"world", m.world},         {"gpu", m.gpu},
          {"solution", m.solution},   {"right", m.right},
          {"us", known(m.us)},        {"us_low", known(m.low)},
          {"us_high", known(m.high)}, {"modelled_us", known(m.modelled_us)},
          {"model", m.label},         {"outcome", m.outcome}};
}

Json to_value(const Problem& p) {
  return {{"name", p.name},
          {"title", p.title},
          {"track", p.track},
          {"category", p.category},
          {"library", p.library},
          {"parallelism", p.parallelism},
          {"level", p.level == 0 ? Json(nullptr) : Json(p.level)},
          {"tags", p.tags},
          {"platform", p.platform},
          {"hash", p.hash},
          {"models", p.models},
          {"models_passed", p.models_passed},
          {"pass_rate", number(p.pass_rate)}};
}

Json to_value(const RoundScores& r) {
  return {{"round", r.round},
          {"attempts", r.attempts},
          {"new_passes", r.new_passes},
          {"gain", number(r.gain)},
          {"pass_rate", to_value(r.pass_rate)},
          {"gm_speedup", to_value(r.gm_speedup)},
          {"pass_gm", to_value(r.pass_gm)}};
}

Json cells_of(const Summary& summary, const Model& model) {
  Json cells = Json::array();
  for (size_t k = 0; k < model.cells.size(); ++k) {
    const Cell& c = model.cells[k];
    cells.push_back({{"problem", summary.problems[k].name},
                     {"outcome", c.outcome.empty() ? Json(nullptr) : Json(c.outcome)},
                     {"attempts", c.attempts},
                     {"samples", c.samples.size()},
                     {"counted", c.counted},
                     {"passed", c.passed},
                     {"good", c.good},
                     {"speed", number(c.speed)},
                     {"best_speed", number(c.best_speed)},
                     {"sol", number(c.sol)}});
  }
  return cells;
}

Json to_value(const Summary& summary, const Model& m) {
  Json runs = Json::array(), not_separated = Json::array(), pass_at = Json::array(), outcomes = Json::array(),
       tiers = Json::array(), rounds = Json::array(), excluded = Json::array();
  for (const size_t run : m.runs) runs.push_back(summary.runs[run].folder);
  for (const size_t other : m.not_separated) not_separated.push_back(summary.models[other].label);
  for (const PassAt& at : m.pass_at)
    pass_at.push_back({{"k", at.k}, {"problems", at.problems}, {"rate", to_value(at.rate)}});
  for (const OutcomeCount& o : m.outcomes)
    outcomes.push_back({{"outcome", o.outcome}, {"attempts", o.attempts}, {"samples", o.samples}});
  for (const Tier& t : m.tiers) tiers.push_back({{"name", t.name}, {"share", number(t.share)}, {"samples", t.samples}});
  for (const RoundScores& r : m.by_round) rounds.push_back(to_value(r));
  for (const Excluded& e : m.excluded)
    excluded.push_back({{"problem", summary.problems[e.problem].name}, {"reason", e.reason}});
  return {{"label", m.label},
          {"provider", m.spec.provider},
          {"model", m.spec.model},
          {"effort", m.spec.effort},
          {"temperature", number(m.spec.temperature)},
          {"max_output_tokens", m.spec.max_output_tokens ? Json(*m.spec.max_output_tokens) : Json(nullptr)},
          {"runs", runs},
          {"rounds", m.rounds},
          {"speed_rounds", m.speed_rounds},
          {"rank", m.rank},
          {"rank_from", m.rank_from},
          {"rank_to", m.rank_to},
          {"not_separated", not_separated},
          {"problems_tried", m.problems_tried},
          {"samples_tried", m.samples_tried},
          {"attempts", m.attempts},
          {"cut_short", m.cut_short},
          {"left_out", m.left_out},
          {"cached", m.cached},
          {"scores", to_value(m.scores)},
          {"pass_at", pass_at},
          {"by_level", to_value(m.by_level)},
          {"by_category", to_value(m.by_category)},
          {"by_library", to_value(m.by_library)},
          {"by_track", to_value(m.by_track)},
          {"by_parallelism", to_value(m.by_parallelism)},
          {"by_round", rounds},
          {"outcomes", outcomes},
          {"tiers", tiers},
          {"price", to_value(m.price)},
          {"excluded", excluded},
          {"cells", cells_of(summary, m)}};
}

}  // namespace

std::string to_json(const Summary& summary) {
  Json runs = Json::array(), problems = Json::array(), models = Json::array(), measured = Json::array();
  for (const RunFacts& run : summary.runs) runs.push_back(to_value(run));
  for (const Problem& problem : summary.problems) problems.push_back(to_value(problem));
  for (const Model& model : summary.models) models.push_back(to_value(summary, model));
  for (const MeasuredTime& m : summary.measured) measured.push_back(to_value(m));
  const Json json = {{"schema", "fabricbench.summary/1"},
                     {"good", number(summary.options.good)},
                     {"ranked_by", summary.ranked_by},
                     {"attempts", summary.attempts},
                     {"runs", runs},
                     {"models", models},
                     {"problems", problems},
                     {"notes", summary.notes},
                     {"measured", measured}};
  // Names and notes may come from foreign files: invalid UTF-8 must not end a report.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fb::report
