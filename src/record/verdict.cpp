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

Json to_value(const Range& range) {
  if (!range.known()) return nullptr;
  return {{"low", range.low}, {"high", range.high}};
}

Range range_from(const Json& json, const char* name) {
  Range range;
  if (const auto found = json.find(name); found != json.end() && found->is_object()) {
    take(*found, "low", range.low);
    take(*found, "high", range.high);
  }
  return range;
}

Json to_value(const LineRange& lines) {
  if (!lines.known()) return nullptr;
  return {{"first", lines.first}, {"last", lines.last}};
}

Json to_value(const Moved& moved) {
  return {{"peer_out", moved.peer_out},
          {"peer_in", moved.peer_in},
          {"to_host", moved.to_host},
          {"from_host", moved.from_host},
          {"memory", moved.memory}};
}

Moved moved_from(const Json& json) {
  Moved moved;
  take(json, "peer_out", moved.peer_out);
  take(json, "peer_in", moved.peer_in);
  take(json, "to_host", moved.to_host);
  take(json, "from_host", moved.from_host);
  take(json, "memory", moved.memory);
  return moved;
}

Json to_value(const Timing& t) {
  return {{"size", t.size},
          {"world", t.world},
          {"begin_seconds", t.begin_seconds},
          {"seconds", t.seconds},
          {"range", to_value(t.range)},
          {"reference_seconds", t.reference_seconds},
          {"speed_range", to_value(t.speed_range)},
          {"limit_seconds", t.limit_seconds},
          {"bound", t.bound},
          {"answers_to", t.answers_to},
          {"moved", to_value(t.moved)},
          {"link_use", t.link_use},
          {"memory_use", t.memory_use}};
}

Timing timing_from(const Json& json) {
  Timing t;
  take(json, "size", t.size);
  take(json, "world", t.world);
  take(json, "begin_seconds", t.begin_seconds);
  take(json, "seconds", t.seconds);
  take(json, "reference_seconds", t.reference_seconds);
  take(json, "limit_seconds", t.limit_seconds);
  t.range = range_from(json, "range");
  t.speed_range = range_from(json, "speed_range");
  take(json, "bound", t.bound);
  take(json, "answers_to", t.answers_to);
  if (const auto moved = json.find("moved"); moved != json.end() && moved->is_object()) t.moved = moved_from(*moved);
  take(json, "link_use", t.link_use);
  take(json, "memory_use", t.memory_use);
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
  if (const auto lines = json.find("judged_lines"); lines != json.end() && lines->is_object()) {
    take(*lines, "first", v.judged_lines.first);
    take(*lines, "last", v.judged_lines.last);
  }
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
  v.speed_range = range_from(json, "speed_range");
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
          {"speed_range", to_value(v.speed_range)},
          {"sol", or_null(v.sol)},
          {"timings", timings},
          {"problem_hash", v.problem_hash},
          {"pack", v.pack},
          {"pack_version", v.pack_version},
          {"candidate_hash", v.candidate_hash},
          {"judged_lines", to_value(v.judged_lines)},
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
