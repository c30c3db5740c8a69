#include "campaign/report/site/profile_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include "campaign/report/site/words.h"
#include "common/base/demangle.h"
#include "common/base/strings.h"
#include "common/record/answer_file.h"

namespace fb::report::site {
namespace {

using record::KernelProfile;
using record::ProfileCause;
using record::ProfileLine;

constexpr size_t kMostKernels = 4, kMostLines = 8;
constexpr double kLeastLine = 0.01, kLeastCause = 0.005;  // shares of a kernel's time

// Causes are too many for a colour each.
struct Group {
  std::string_view name;  // its CSS class is "g-" and this name
  std::string_view meaning;
};
constexpr auto kGroups = std::to_array<Group>({{"compute", "computing: issue slots, latencies, busy units"},
                                               {"shared", "shared memory and the load/store unit"},
                                               {"memory", "caches and device memory"},
                                               {"link", "links: peers and the host"},
                                               {"wait", "waiting for others: flags, barriers, fences, copies"},
                                               {"start", "before the block began"}});

size_t group_of(ProfileCause cause) {
  switch (cause) {
    case ProfileCause::issue:
    case ProfileCause::dependence:
    case ProfileCause::scheduler:
    case ProfileCause::integer:
    case ProfileCause::multiply:
    case ProfileCause::f64:
    case ProfileCause::special:
    case ProfileCause::tensor:
      return 0;
    case ProfileCause::load_store:
    case ProfileCause::bank_conflict:
      return 1;
    case ProfileCause::l1:
    case ProfileCause::l2:
    case ProfileCause::memory:
    case ProfileCause::atomic:
    case ProfileCause::stores:
      return 2;
    case ProfileCause::link:
      return 3;
    case ProfileCause::fence:
    case ProfileCause::flag:
    case ProfileCause::barrier:
    case ProfileCause::copy:
      return 4;
    case ProfileCause::start:
    case ProfileCause::count_:
      break;
  }
  return 5;
}

// A cause that this version does not know counts as computing.
size_t group_of(std::string_view label) {
  for (size_t k = 0; k < record::kProfileCauses; ++k) {
    if (label_of(static_cast<ProfileCause>(k)) == label) return group_of(static_cast<ProfileCause>(k));
  }
  return 0;
}

std::string_view base_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

// The line of the answer that is meant, if it is one that the page shows.
std::optional<std::string_view> answer_line(const ProfileLine& line, const AnswerLine& line_of) {
  if (line.line == 0 || !record::is_answer_file(line.file)) return std::nullopt;
  const std::string_view text = line_of(line.line);
  return text.empty() ? std::nullopt : std::optional(text);
}

double sum_of(const std::vector<ProfileLine>& lines) {
  double sum = 0;
  for (const ProfileLine& l : lines) sum += l.nanoseconds;
  return std::max(sum, 1e-9);
}

using Causes = std::vector<std::pair<std::string, double>>;

std::string cause_text(const Causes& causes, double whole) {
  std::string text;
  for (const auto& [cause, ns] : causes) {
    if (ns < kLeastCause * whole) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cause, share_text(ns / whole));
  }
  return text;
}

// As wide as its share of the whole.
Html cause_bar(const Causes& causes, double whole) {
  Html parts;
  for (const auto& [cause, ns] : causes) {
    if (ns < kLeastCause * whole) continue;
    parts += html("<i class=\"g-{}\" style=\"width:{:.2f}%\" title=\"{}: {}\"></i>", kGroups[group_of(cause)].name,
                  100 * ns / whole, cause, record::meaning_of(cause));
  }
  return html("<span class=\"causes\">{}</span>", parts);
}

Causes causes_of(const std::vector<record::ProfileEntry>& entries) {
  // Entries of one line are by_line's way to sum up causes.
  std::vector<record::ProfileEntry> one_line = entries;
  for (record::ProfileEntry& e : one_line) {
    e.file.clear();
    e.line = 0;
  }
  const auto lines = by_line(one_line);
  return lines.empty() ? Causes() : lines.front().causes;
}

Html line_row(const ProfileLine& line, double whole, const AnswerLine& line_of) {
  Html where, code;
  if (const auto text = answer_line(line, line_of)) {
    where = html("<a href=\"#L{}\">line {}</a>", line.line, line.line);
    code = html("<code>{}</code>", trim(*text));
  } else {
    where = line.line == 0 ? html("no line") : html("{}:{}", base_name(line.file), line.line);
  }
  return html(
      "<tr><th scope=\"row\">{}</th><td class=\"num\">{}<small>{}</small></td><td class=\"why\">{}{}<small>{}</small>"
      "</td></tr>\n",
      where, share_text(line.nanoseconds / whole), time_text(line.nanoseconds * 1e-9), code,
      cause_bar(line.causes, whole), cause_text(line.causes, whole));
}

Html kernel_table(const KernelProfile& kernel, const AnswerLine& line_of) {
  const auto lines = by_line(kernel.critical);
  const double whole = sum_of(lines);
  Html rows;
  size_t shown = 0;
  double rest = 0;
  for (const ProfileLine& line : lines) {
    if (shown >= kMostLines || line.nanoseconds < kLeastLine * whole) {
      rest += line.nanoseconds;
      continue;
    }
    ++shown;
    rows += line_row(line, whole, line_of);
  }
  if (rest >= kLeastCause * whole)
    rows += html("<tr><th scope=\"row\">other lines</th><td class=\"num\">{}<small>{}</small></td><td></td></tr>\n",
                 share_text(rest / whole), time_text(rest * 1e-9));
  const Causes all = causes_of(kernel.all);
  double warps = 0;
  for (const auto& [cause, ns] : all) warps += ns;
  if (warps > 0)
    rows += html(
        "<tr class=\"all\"><th scope=\"row\">all {}</th><td></td><td class=\"why\">{}<small>{}</small></td></tr>\n",
        plural(kernel.warps, "warp", "warps"), cause_bar(all, warps), cause_text(all, warps));
  return html(
      "<h3 title=\"{}\">{}<small>{}, the longest {}; its last warp: device {}, block {}, warp {}</small></h3>\n"
      "<div class=\"scroll\"><table class=\"profile\"><thead><tr><th scope=\"col\">Where</th>"
      "<th scope=\"col\" class=\"num\">Time</th><th "
      "scope=\"col\">Why</th></tr></thead><tbody>{}</tbody></table></div>\n",
      kernel.kernel, short_function_name(kernel.kernel), plural(kernel.launches, "launch", "launches"),
      time_text(kernel.longest_ns * 1e-9), kernel.device, kernel.block, kernel.warp, rows);
}

Html legend(const record::Profile& profile) {
  std::set<size_t> used;
  for (const KernelProfile& kernel : profile.kernels) {
    for (const auto& entry : kernel.critical) used.insert(group_of(entry.cause));
    for (const auto& entry : kernel.all) used.insert(group_of(entry.cause));
  }
  Html items;
  for (const size_t k : used)
    items +=
        html("<li><span class=\"key g-{}\" aria-hidden=\"true\"></span>{}</li>", kGroups[k].name, kGroups[k].meaning);
  return html("<ul class=\"legend\">{}</ul>\n", items);
}

}  // namespace

Html profile_view(const record::Profile& profile, const AnswerLine& line_of) {
  if (profile.empty()) return {};
  Html view = html(
      "<p class=\"muted\">Modelled time of the timed calls, by line and cause: of each kernel the warp that ended last "
      "in "
      "its longest launch. Shares are of this warp’s time, which is that of the kernel; those of all warps are of the "
      "sum of their times.</p>\n{}",
      legend(profile));
  for (const KernelProfile& kernel : profile.kernels) {
    if (static_cast<size_t>(&kernel - profile.kernels.data()) < kMostKernels) view += kernel_table(kernel, line_of);
  }
  if (profile.kernels.size() > kMostKernels)
    view += html("<p class=\"muted\">{} took less time.</p>\n",
                 plural(profile.kernels.size() - kMostKernels, "more kernel", "more kernels"));
  return view;
}

LineShares line_shares(const record::Profile& profile, const AnswerLine& line_of) {
  LineShares shares;
  for (const KernelProfile& kernel : profile.kernels) {
    const auto lines = by_line(kernel.critical);
    const double whole = sum_of(lines);
    for (const ProfileLine& line : lines) {
      if (!answer_line(line, line_of)) continue;
      double& share = shares[line.line];
      share = std::max(share, line.nanoseconds / whole);
    }
  }
  std::erase_if(shares, [](const auto& line) { return line.second < kLeastCause; });
  return shares;
}

}  // namespace fb::report::site
