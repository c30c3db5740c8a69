#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fb::record {

enum class VerdictClass : uint8_t {
#define VERDICT_CLASS(name) name,
#include "common/record/verdict_classes.def"
};
inline constexpr std::array kVerdictClasses = {
#define VERDICT_CLASS(name) VerdictClass::name,
#include "common/record/verdict_classes.def"
};
std::string_view to_string(VerdictClass verdict);
std::optional<VerdictClass> verdict_class_from(std::string_view name);

}  // namespace fb::record
