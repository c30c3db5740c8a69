#include "record/verdict.h"

#include <algorithm>
#include <array>
#include <utility>

#include "record/json_fields.h"

namespace fb::record {
namespace {

constexpr std::array<std::pair<VerdictClass, std::string_view>, 12> kClasses = {{
    {VerdictClass::pass, "pass"},
    {VerdictClass::compile_error, "compile_error"},
    {VerdictClass::rule_violation, "rule_violation"},
    {VerdictClass::wrong, "wrong"},
    {VerdictClass::race, "race"},
    {VerdictClass::uninitialised, "uninitialised"},
    {VerdictClass::deadlock, "deadlock"},
    {VerdictClass::fault, "fault"},
    {VerdictClass::budget, "budget"},
    {VerdictClass::cheat, "cheat"},
    {VerdictClass::unsupported, "unsupported"},
    {VerdictClass::infra, "infra"},
}};

}  // namespace

std::string_view to_string(VerdictClass verdict) {
  return std::ranges::find(kClasses, verdict, &std::pair<VerdictClass, std::string_view>::first)->second;
}

std::optional<VerdictClass> verdict_class_from(std::string_view name) {
  const auto found = std::ranges::find(kClasses, name, &std::pair<VerdictClass, std::string_view>::second);
  return found == kClasses.end() ? std::nullopt : std::optional(found->first);
}

std::string to_json(const Verdict& verdict) { return dump(to_json_value(verdict)); }

Result<Verdict> parse_verdict(std::string_view text) { return parse_fields<Verdict>(text, "a verdict"); }

}  // namespace fb::record
