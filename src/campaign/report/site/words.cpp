#include "campaign/report/site/words.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace fb::report::site {
namespace {

// Three significant digits.
std::string three_digits(double value) {
  const double size = std::abs(value);
  return size >= 100 || size == 0 ? fmt::format("{:.0f}", value)
         : size >= 10             ? fmt::format("{:.1f}", value)
                                  : fmt::format("{:.2f}", value);
}

}  // namespace

std::string count_text(uint64_t count) {
  constexpr size_t kGroup = 3;
  const std::string digits = std::to_string(count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % kGroup == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string time_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return std::string(kNothing);
  if (seconds < 1e-6) return three_digits(seconds * 1e9) + " ns";
  if (seconds < 1e-3) return three_digits(seconds * 1e6) + " µs";
  if (seconds < 1) return three_digits(seconds * 1e3) + " ms";
  constexpr double kMinute = 60, kHour = 3600;
  if (seconds < 2 * kMinute) return three_digits(seconds) + " s";
  return seconds < 2 * kHour ? three_digits(seconds / kMinute) + " min" : three_digits(seconds / kHour) + " h";
}

std::string bytes_text(double bytes) {
  constexpr auto kUnits = std::to_array<std::string_view>({"B", "KiB", "MiB", "GiB", "TiB"});
  constexpr double kStep = 1024;
  size_t unit = 0;
  for (; bytes >= kStep && unit + 1 < kUnits.size(); ++unit) bytes /= kStep;
  const bool whole = std::abs(bytes - std::round(bytes)) < 1e-9;
  return fmt::format("{} {}", whole ? fmt::format("{:.0f}", bytes) : three_digits(bytes), kUnits[unit]);
}

std::string percent_text(double share) { return fmt::format("{:.1f}%", share * 100); }
std::string share_text(double share) { return fmt::format("{:.0f}%", share * 100); }
std::string ratio_text(double ratio) { return fmt::format("{:.2f}", ratio); }
std::string usd_text(double usd) {
  return usd == 0     ? "$0"
         : usd < 0.01 ? fmt::format("${:.4f}", usd)
         : usd < 100  ? fmt::format("${:.2f}", usd)
                      : fmt::format("${:.0f}", usd);
}
std::string plural(uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count_text(count), count == 1 ? one : many);
}

std::string percent_interval(const Estimate& estimate) {
  if (!estimate.interval) return {};
  return fmt::format("{:.0f} – {:.0f}%", estimate.interval->low * 100, estimate.interval->high * 100);
}
std::string ratio_interval(const Estimate& estimate) {
  if (!estimate.interval) return {};
  return fmt::format("{:.2f} – {:.2f}", estimate.interval->low, estimate.interval->high);
}

std::string place_text(const record::FailureLocation& place) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (place.world > 0) add(plural(static_cast<uint64_t>(place.world), "rank", "ranks"));
  if (!place.size.empty()) add(fmt::format("size {}", place.size));
  if (place.call >= 0) add(fmt::format("call {}", place.call + 1));
  if (place.rank >= 0) add(fmt::format("rank {}", place.rank));
  if (place.world > 0) add(place.schedule == 0 ? "ordered by time" : fmt::format("schedule {}", place.schedule));
  return text;
}

OutcomeWords outcome_words(std::string_view outcome) {
  const record::Outcome* const known = record::outcome_named(outcome);
  if (!known) return {"other", outcome, "?", ""};
  return {known->name, known->label, known->sign, known->meaning};
}

}  // namespace fb::report::site
