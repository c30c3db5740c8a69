#include "common/record/verdict.h"

#include <algorithm>
#include <array>

#include "common/record/verdict_fields.h"

namespace fb::record {
namespace {

constexpr std::array<std::string_view, kVerdictClasses.size()> kNames = {
#define VERDICT_CLASS(name, ...) #name,
#include "common/record/verdict_classes.def"
};

constexpr std::array<int, kVerdictClasses.size()> kExitCodes = {
#define VERDICT_CLASS(name, counts, exit, ...) exit,
#include "common/record/verdict_classes.def"
};

}  // namespace

int exit_code_of(VerdictClass verdict) { return kExitCodes[static_cast<size_t>(verdict)]; }

std::string_view to_string(VerdictClass verdict) { return kNames[static_cast<size_t>(verdict)]; }

std::optional<VerdictClass> verdict_class_from(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  return found == kNames.end() ? std::nullopt
                               : std::optional(kVerdictClasses[static_cast<size_t>(found - kNames.begin())]);
}

std::string to_json(const Verdict& verdict) { return dump(to_json_value(verdict)); }

Result<Verdict> parse_verdict(std::string_view text) { return parse_fields<Verdict>(text, "a verdict"); }

}  // namespace fb::record
