#include "record/verdict.h"

#include <algorithm>
#include <array>
#include <utility>

#include "record/json_fields.h"

namespace fb::record {
namespace {

constexpr std::array<std::pair<VerdictClass, std::string_view>, 11> kClasses = {{
    {VerdictClass::pass, "pass"},
    {VerdictClass::compile_error, "compile_error"},
    {VerdictClass::rule_violation, "rule_violation"},
    {VerdictClass::wrong, "wrong"},
    {VerdictClass::race, "race"},
    {VerdictClass::deadlock, "deadlock"},
    {VerdictClass::fault, "fault"},
    {VerdictClass::budget, "budget"},
    {VerdictClass::cheat, "cheat"},
    {VerdictClass::unsupported, "unsupported"},
    {VerdictClass::infra, "infra"},
}};

Json to_value(const Timing& t) {
  return {{"size", t.size},
          {"world", t.world},
          {"seconds", t.seconds},
          {"reference_seconds", t.reference_seconds},
          {"limit_seconds", t.limit_seconds}};
}

Timing timing_from(const Json& json) {
  Timing t;
  take(json, "size", t.size);
  take(json, "world", t.world);
  take(json, "seconds", t.seconds);
  take(json, "reference_seconds", t.reference_seconds);
  take(json, "limit_seconds", t.limit_seconds);
  return t;
}

}  // namespace

Verdict verdict_from(const Json& json) {
  Verdict v;
  if (const auto name = json.find("class"); name != json.end())
    v.verdict = verdict_class_from(name->get<std::string>()).value_or(VerdictClass::infra);
  take(json, "summary", v.summary);
  take(json, "explanation", v.explanation);
  take(json, "notes", v.notes);
  if (const auto place = json.find("place"); place != json.end() && place->is_object()) {
    take(*place, "size", v.place.size);
    take(*place, "world", v.place.world);
    take(*place, "rank", v.place.rank);
    take(*place, "call", v.place.call);
    take_seed(*place, "schedule", v.place.schedule);
  }
  take(json, "problem", v.problem);
  take(json, "problem_hash", v.problem_hash);
  take(json, "pack", v.pack);
  take(json, "pack_version", v.pack_version);
  take(json, "candidate_hash", v.candidate_hash);
  take(json, "backend", v.backend);
  take(json, "platform", v.platform);
  take(json, "thoroughness", v.thoroughness);
  take_seed(json, "seed", v.seed);
  take(json, "replayable", v.replayable);
  take(json, "sandbox", v.sandbox);
  take(json, "version", v.version);
  take(json, "sessions", v.sessions);
  take(json, "schedules", v.schedules);
  take(json, "calls", v.calls);
  take(json, "values", v.values);
  take(json, "instructions", v.instructions);
  if (const auto timings = json.find("timings"); timings != json.end()) {
    for (const Json& t : *timings) v.timings.push_back(timing_from(t));
  }
  take(json, "speed", v.speed);
  take(json, "sol", v.sol);
  take(json, "wall_seconds", v.wall_seconds);
  return v;
}

std::string_view to_string(VerdictClass verdict) {
  return std::ranges::find(kClasses, verdict, &std::pair<VerdictClass, std::string_view>::first)->second;
}

std::optional<VerdictClass> verdict_class_from(std::string_view name) {
  const auto found = std::ranges::find(kClasses, name, &std::pair<VerdictClass, std::string_view>::second);
  return found == kClasses.end() ? std::nullopt : std::optional(found->first);
}

Json to_value(const Verdict& v) {
  Json timings = Json::array();
  for (const Timing& t : v.timings) timings.push_back(to_value(t));
  return {{"class", to_string(v.verdict)},
          {"problem", v.problem},
          {"summary", v.summary},
          {"explanation", v.explanation},
          {"notes", v.notes},
          {"place",
           {{"size", v.place.size},
            {"world", v.place.world},
            {"rank", v.place.rank},
            {"call", v.place.call},
            {"schedule", std::to_string(v.place.schedule)}}},
          {"seed", std::to_string(v.seed)},
          {"replayable", v.replayable},
          {"thoroughness", v.thoroughness},
          {"speed", or_null(v.speed)},
          {"sol", or_null(v.sol)},
          {"timings", timings},
          {"problem_hash", v.problem_hash},
          {"pack", v.pack},
          {"pack_version", v.pack_version},
          {"candidate_hash", v.candidate_hash},
          {"backend", v.backend},
          {"platform", v.platform},
          {"sandbox", v.sandbox},
          {"version", v.version},
          {"sessions", v.sessions},
          {"schedules", v.schedules},
          {"calls", v.calls},
          {"values", v.values},
          {"instructions", v.instructions},
          {"wall_seconds", v.wall_seconds}};
}

std::string to_json(const Verdict& verdict) { return dump(to_value(verdict)); }

Result<Verdict> parse_verdict(std::string_view text) { return parse_object(text, "a verdict", verdict_from); }

}  // namespace fb::record
