#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fb::record {

enum class VerdictClass : uint8_t {
#define VERDICT_CLASS(name, ...) name,
#include "common/record/verdict_classes.def"
};
inline constexpr std::array kVerdictClasses = {
#define VERDICT_CLASS(name, ...) VerdictClass::name,
#include "common/record/verdict_classes.def"
};
std::string_view to_string(VerdictClass verdict);
std::optional<VerdictClass> verdict_class_from(std::string_view name);
// Of `fabricbench check`.
int exit_code_of(VerdictClass verdict);

// The class of an attempt's verdict, or how its call ended.
struct Outcome {
  std::string_view name;
  bool counts;             // says something about the model
  std::string_view label;  // Deadlock
  std::string_view sign;   // one character
  std::string_view meaning;
};
// From best to worst.
inline constexpr auto kOutcomes = std::to_array<Outcome>({
#define VERDICT_CLASS(name, counts, exit, label, sign, meaning) {#name, counts, label, sign, meaning},
#define ANSWER_END(name, counts, label, sign, meaning) {#name, counts, label, sign, meaning},
#include "common/record/verdict_classes.def"
});
// Null: there is none of this name.
constexpr const Outcome* outcome_named(std::string_view name) {
  const auto* const found = std::ranges::find(kOutcomes, name, &Outcome::name);
  return found == kOutcomes.end() ? nullptr : &*found;
}

}  // namespace fb::record
