#include "common/platform/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "common/base/numbers.h"

namespace fb::platform {
namespace {

constexpr std::array<std::string_view, kGroups.size()> kNames = {"latency", "bandwidth", "in_flight", "issue",
                                                                 "launch"};

template <class T>
T less(T value, double by) {
  const double smaller = static_cast<double>(value) / by;
  if constexpr (std::is_integral_v<T>) return static_cast<T>(std::llround(smaller));
  return static_cast<T>(smaller);
}

// The names of groups in constants.def.
namespace words {
constexpr std::optional<Group> none;
constexpr std::optional latency = Group::latency;
constexpr std::optional bandwidth = Group::bandwidth;
constexpr std::optional in_flight = Group::in_flight;
constexpr std::optional issue = Group::issue;
constexpr std::optional launch = Group::launch;
}  // namespace words

// How a constant of each kind becomes worse.
namespace worse {
kinds::duration duration(kinds::duration value, double by) {
  return static_cast<Time>(std::llround(static_cast<double>(value) * by));
}
kinds::rate rate(kinds::rate value, double by) { return less(value, by); }
kinds::bytes bytes(kinds::bytes value, double by) { return less(value, by); }
// Kinds that are in no group are unchanged.
kinds::count count(kinds::count value, double) { return value; }
kinds::flag flag(kinds::flag value, double) { return value; }
kinds::ratio ratio(kinds::ratio value, double) { return value; }
kinds::cycles cycles(kinds::cycles value, double) { return value; }
kinds::frequency frequency(kinds::frequency value, double by) { return less(value, by); }
}  // namespace worse

}  // namespace

std::string_view name_of(Group group) { return kNames[static_cast<size_t>(group)]; }

std::optional<Group> group_from(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return kGroups[static_cast<size_t>(found - kNames.begin())];
}

Platform slower(const Platform& platform, Group group, double by) {
  Platform slow = platform;
#define SECTION(Type, section, in_use) \
  {                                    \
    auto& at = slow.section;
#define CONSTANT(kind, range, of, key, meaning) \
  if (words::of == group) at.key = worse::kind(at.key, by);
#define END_SECTION(Type, section) \
  static_cast<void>(at);           \
  }
#include "common/platform/constants.def"
#undef SECTION
#undef CONSTANT
#undef END_SECTION
  return slow;
}

Result<Platform> slower(const Platform& platform, std::string_view group_and_factor) {
  const size_t equals = group_and_factor.find('=');
  const auto group = group_from(group_and_factor.substr(0, equals));
  double by = 0;
  if (group && equals != std::string_view::npos) read_number(group_and_factor.substr(equals + 1), by);
  constexpr double kMost = 100;
  if (!group || !(by >= 1 / kMost && by <= kMost))
    return error(fmt::format("'{}' is not a group and a factor, as in latency=1.1", group_and_factor));
  return slower(platform, *group, by);
}

ByGroup uncertainties(const Platform& platform) {
  const auto& u = platform.uncertainty;
  return {u.latency, u.bandwidth, u.in_flight, u.issue, u.launch};
}

}  // namespace fb::platform
