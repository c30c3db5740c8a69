#include "cli/text/verdict_text.h"

#include <fmt/format.h>

#include "cli/text/style.h"

namespace fb::cli {
namespace {

using record::Verdict;
using record::VerdictClass;

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.2f} us", seconds * 1e6) : fmt::format("{:.3f} ms", seconds * 1e3);
}

std::string place_text(const Verdict& v) {
  std::string text;
  const auto add = [&](std::string part) { text += (text.empty() ? "" : ", ") + std::move(part); };
  if (v.location.world > 0) add(fmt::format("{} ranks", v.location.world));
  if (!v.location.size.empty()) add(fmt::format("size {}", v.location.size));
  if (v.location.call >= 0) add(fmt::format("call {}", v.location.call + 1));
  if (v.location.rank >= 0) add(fmt::format("rank {}", v.location.rank));
  if (v.location.world > 0)
    add(v.location.schedule == 0 ? "ordered by time" : fmt::format("schedule {}", v.location.schedule));
  return text;
}

// "12.34 us (11.10–13.72)": the interval in the unit of the time.
std::string time_text(double seconds, const record::Range& range) {
  std::string text = time_text(seconds);
  if (!range.known()) return text;
  return text + (seconds < 1e-3 ? fmt::format(" ({:.2f}–{:.2f})", range.low * 1e6, range.high * 1e6)
                                : fmt::format(" ({:.3f}–{:.3f})", range.low * 1e3, range.high * 1e3));
}

std::string range_text(const record::Range& speeds) {
  return speeds.known() ? fmt::format(" ({:.2f}–{:.2f})", speeds.low, speeds.high) : "";
}

// What a time rests on that was not measured at its size.
std::string samples_text(const record::Timing& t) {
  if (t.scale.empty()) return {};
  if (!t.refusal.empty())
    return fmt::format("figures are those of {} = {}, not {}: {}", t.scale, t.samples.back().value, t.scale_value,
                       t.refusal);
  std::string values;
  for (const record::SamplePoint& sample : t.samples)
    values += fmt::format("{}{}", values.empty() ? "" : ", ", sample.value);
  return fmt::format("on the line through {} = {}", t.scale, values);
}

// A line of figures for each size, and below it what bounds the candidate.
std::string timings_text(const Verdict& v) {
  std::string text;
  for (const auto& t : v.timings) {
    text += fmt::format("  {:<10} {} ranks  {}", t.size, t.world, time_text(t.seconds, t.range));
    if (t.baseline_seconds > 0) text += fmt::format("   baseline {}", time_text(t.baseline_seconds));
    if (t.reference_seconds > 0) text += fmt::format("   reference {}", time_text(t.reference_seconds));
    if (t.speed() > 0) text += fmt::format("   speed {:.2f}{}", t.speed(), range_text(t.speed_range));
    if (t.limit_seconds > 0)
      text += fmt::format("   sol {:.0f} % (limit {})", t.limit_seconds / t.seconds * 100, time_text(t.limit_seconds));
    text += "\n";
    if (const std::string from = samples_text(t); !from.empty()) text += fmt::format("  {:<10} {}\n", "", from);
    if (!t.bound.empty()) text += fmt::format("  {:<10} {}\n", "", t.bound);
  }
  return text;
}

}  // namespace

std::string describe(const Verdict& v, const std::string& file, const std::string& options) {
  std::string text;
  if (v.verdict == VerdictClass::pass) {
    text = fmt::format("{}  {}  ({} sessions, {} calls, {} values compared)\n", paint("PASS", Tone::good, stdout),
                       v.problem, v.sessions, v.calls, v.values);
    if (!v.timings.empty()) text += "Modelled time on " + v.platform + ":\n" + timings_text(v);
    if (v.speed)
      text += fmt::format("Speed {:.2f} of the {}{}", *v.speed, v.has_baseline() ? "baseline" : "reference",
                          range_text(v.speed_range));
    if (v.sol) text += fmt::format("{}{:.0f} % of the hardware's limit", v.speed ? ", " : "", *v.sol * 100);
    if (v.speed || v.sol) text += "\n";
  } else {
    text = fmt::format("{}  {}\n{}\n", paint(to_string(v.verdict), Tone::bad, stdout), v.problem, v.summary);
    if (const std::string place = place_text(v); !place.empty()) text += "Seen with " + place + ".\n";
    // The explanation often begins with the summary.
    std::string rest = v.explanation;
    if (rest.starts_with(v.summary))
      rest.erase(0, v.summary.size() + (rest.size() > v.summary.size() && rest[v.summary.size()] == '.'));
    while (rest.starts_with('\n')) rest.erase(0, 1);
    if (!rest.empty()) text += "\n" + rest;
    if (v.location.world > 0) {
      text += fmt::format("\nAgain: fabricbench check --seed {}{}{} {} {}\n", v.seed,
                          v.thoroughness == "quick" ? " --quick" : "", options, v.problem, file);
    }
  }
  for (const auto& note : v.notes) text += "Note: " + note + "\n";
  if (v.sandbox == "none") text += "Note: judged without a sandbox; this verdict proves nothing.\n";
  return text;
}

}  // namespace fb::cli
