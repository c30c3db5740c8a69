#include "common/record/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace fb::record {
namespace {

struct Words {
  std::string_view label, meaning;
};

constexpr Words kWords[] = {
#define CAUSE(name, label, meaning) {label, meaning},
#include "common/record/profile_causes.def"
#undef CAUSE
};

std::string duration(double ns) {
  if (ns >= 1e6) return fmt::format("{:.2f} ms", ns / 1e6);
  return ns >= 1e3 ? fmt::format("{:.2f} us", ns / 1e3) : fmt::format("{:.0f} ns", ns);
}

double sum_of(const std::vector<ProfileEntry>& entries) {
  double sum = 0;
  for (const ProfileEntry& e : entries) sum += e.nanoseconds;
  return sum;
}

std::string shares(const std::vector<std::pair<std::string, double>>& causes, double whole) {
  constexpr double kLeast = 0.005;
  std::string text;
  for (const auto& [cause, ns] : causes) {
    if (ns < kLeast * whole) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", cause, 100 * ns / whole);
  }
  return text;
}

std::vector<std::pair<std::string, double>> by_cause(const std::vector<ProfileEntry>& entries) {
  std::map<std::string, double> sums;
  for (const ProfileEntry& e : entries) sums[e.cause] += e.nanoseconds;
  std::vector<std::pair<std::string, double>> list(sums.begin(), sums.end());
  std::ranges::sort(
      list, [](const auto& a, const auto& b) { return std::pair(-a.second, a.first) < std::pair(-b.second, b.first); });
  return list;
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

std::string_view label_of(ProfileCause cause) { return kWords[static_cast<size_t>(cause)].label; }
std::string_view meaning_of(ProfileCause cause) { return kWords[static_cast<size_t>(cause)].meaning; }

std::string_view meaning_of(std::string_view label) {
  for (const Words& w : kWords) {
    if (w.label == label) return w.meaning;
  }
  return {};
}

std::vector<ProfileLine> by_line(const std::vector<ProfileEntry>& entries) {
  std::map<std::pair<std::string, uint32_t>, std::vector<ProfileEntry>> groups;
  for (const ProfileEntry& e : entries) groups[{e.file, e.line}].push_back(e);
  std::vector<ProfileLine> lines;
  for (const auto& [at, group] : groups) lines.push_back({at.first, at.second, sum_of(group), by_cause(group)});
  std::ranges::sort(lines, [](const auto& a, const auto& b) {
    return std::tuple(-a.nanoseconds, a.file, a.line) < std::tuple(-b.nanoseconds, b.file, b.line);
  });
  return lines;
}

std::string to_text(const Profile& profile, size_t most, const CodeOf& code_of) {
  std::string text;
  for (const KernelProfile& k : profile.kernels) {
    const double whole = std::max(sum_of(k.critical), 1e-9);
    text += fmt::format("{}: {} launch{}, the longest {}\n", k.kernel, k.launches, k.launches == 1 ? "" : "es",
                        duration(k.longest_ns));
    text += fmt::format("  {} registers a thread, {} threads a block: {} blocks at once on a multiprocessor\n",
                        k.registers, k.threads, k.blocks_at_once);
    text += fmt::format("  the warp that ended last (device {}, block {}, warp {}):\n", k.device, k.block, k.warp);
    const auto lines = by_line(k.critical);
    size_t shown = 0;
    double rest = 0;
    for (const ProfileLine& l : lines) {
      if (shown >= most || l.nanoseconds < 0.01 * whole) {
        rest += l.nanoseconds;
        continue;
      }
      ++shown;
      const std::string at = l.line == 0 ? "(no line)" : fmt::format("{}:{}", base_name(l.file), l.line);
      text += fmt::format("  {:3.0f} %  {:>9}  {:<20}  {}\n", 100 * l.nanoseconds / whole, duration(l.nanoseconds), at,
                          shares(l.causes, whole));
      if (const std::string code = l.line == 0 ? "" : code_of(l.file, l.line); !code.empty()) {
        text += fmt::format("                     | {}\n", code);
      }
    }
    if (rest > 0) text += fmt::format("  {:3.0f} %  {:>9}  other lines\n", 100 * rest / whole, duration(rest));
    text += fmt::format("  all {} warps: {}\n", k.warps, shares(by_cause(k.all), std::max(sum_of(k.all), 1e-9)));
  }
  return text;
}

}  // namespace fb::record
