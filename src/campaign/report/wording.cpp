#include "campaign/report/wording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace fb::report {

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}%", *share * 100) : std::string(kNothing);
}

std::string ratio(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : std::string(kNothing);
}

std::string percent_with_interval(const Estimate& share) {
  if (!share.interval) return percent(share.value);
  return fmt::format("{} {:.0f}–{:.0f}", percent(share.value), share.interval->low * 100, share.interval->high * 100);
}

std::string ratio_with_interval(const Estimate& value) {
  if (!value.interval) return ratio(value.value);
  return fmt::format("{} {:.2f}–{:.2f}", ratio(value.value), value.interval->low, value.interval->high);
}

std::string dollars(const Price& price, const std::optional<double>& amount) {
  if (price.calls == 0 && !price.usd) return std::string(kNothing);
  if (!price.usd) return "unknown";
  if (!amount) return std::string(kNothing);
  const std::string_view least = price.without_price > 0 ? "≥ " : "";
  // Small amounts keep two digits.
  return *amount > 0 && *amount < 0.01 ? fmt::format("{}${:.2g}", least, *amount)
                                       : fmt::format("{}${:.2f}", least, *amount);
}

std::string tokens(const record::Usage& usage) {
  const auto count = static_cast<double>(usage.input_tokens + usage.output_tokens);
  if (count < 1e3) return fmt::format("{:.0f}", count);
  return count < 1e6 ? fmt::format("{:.1f}k", count / 1e3) : fmt::format("{:.1f}M", count / 1e6);
}

std::string number_of(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string cell_words(const Cell& cell) {
  if (cell.attempts == 0) return std::string(kNothing);
  if (cell.passed == 0) return std::string(cell.outcome);
  const std::string speed = cell.speed ? ratio(cell.speed) : "pass";
  return cell.counted == 1 ? speed : fmt::format("{} {}/{}", speed, cell.passed, cell.counted);
}

std::string never_passed(const Summary& summary, const Model& model) {
  std::vector<std::string> parts;
  for (size_t k = 0; k < model.cells.size(); ++k) {
    const Cell& cell = model.cells[k];
    if (cell.counted > 0 && cell.passed == 0)
      parts.push_back(fmt::format("{} ({})", summary.problems[k].name, cell.outcome));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string excluded_words(const Summary& summary, const Model& model) {
  std::vector<std::string> parts;
  for (const Excluded& e : model.excluded)
    parts.push_back(fmt::format("{} ({})", summary.problems[e.problem].name, e.reason));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string outcome_words(const Model& model) {
  std::vector<OutcomeCount> seen;
  std::ranges::copy_if(model.outcomes, std::back_inserter(seen), [](const OutcomeCount& o) { return o.attempts > 0; });
  std::ranges::sort(seen, {}, [](const OutcomeCount& o) {
    return std::pair(-static_cast<int64_t>(o.attempts),
                     std::ranges::find(kOutcomes, o.outcome, &record::Outcome::name));
  });
  std::vector<std::string> parts;
  for (const OutcomeCount& o : seen) parts.push_back(fmt::format("{} {}", o.attempts, o.outcome));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string order_words(const Summary& summary) {
  if (summary.models.size() < 2) return "";
  std::vector<std::string> open;
  for (const Model& model : summary.models) {
    if (model.rank_from != model.rank_to)
      open.push_back(fmt::format("{} {}–{}", model.label, model.rank_from, model.rank_to));
  }
  if (open.empty()) return "No intervals overlap: the order is strict.";
  return fmt::format("Where intervals overlap there is no strict order; possible ranks: {}.", fmt::join(open, ", "));
}

}  // namespace fb::report
