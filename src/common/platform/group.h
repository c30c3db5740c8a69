#pragma once

// Groups of constants. A time has a sensitivity to each group, measured by a second run on a platform on which that
// group is slower. Sensitivities say what bounds a program, and how uncertain its time is.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/result.h"
#include "common/platform/platform.h"

namespace fb::platform {

enum class Group : uint8_t { latency, bandwidth, in_flight, issue, launch };

inline constexpr std::array kGroups = {Group::latency, Group::bandwidth, Group::in_flight, Group::issue, Group::launch};

// A figure for each group, by its number.
using ByGroup = std::array<double, kGroups.size()>;

// As in platform files: "in_flight".
std::string_view name_of(Group group);
std::optional<Group> group_from(std::string_view name);

// The platform with the group's constants worse by a factor: durations longer, rates and limits lower.
Platform slower(const Platform& platform, Group group, double by);
// The same from the text of an option: "latency=1.1".
Result<Platform> slower(const Platform& platform, std::string_view group_and_factor);

// Platform::uncertainty.
ByGroup uncertainties(const Platform& platform);

}  // namespace fb::platform
