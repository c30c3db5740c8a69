#include "audit/mutate/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace fb::mutate {
namespace {

double share(size_t part, size_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string row(const std::string& name, size_t width, const Tally& t) {
  return fmt::format(
      "{:<{}}  {:>7}  {:>7}  {:>10}  {:>10}  {:>7}  {:>8}  {:>9}  {:>8}  {:>8}  {:>5.1f} %  {:>5.1f} %\n", name, width,
      t.mutants, t.invalid, t.equivalent, t.duplicate, t.counted(), t.ordinary, t.schedules, t.checkers, t.survived,
      100 * t.ordinary_rate(), 100 * t.rate());
}

// Rows in the order in which their names came first.
std::string table(const Run& run, const std::string& what, std::string Mutant::* name) {
  std::vector<std::pair<std::string, Tally>> rows;
  for (const auto& result : run.results) {
    const std::string& mine = result.mutant.*name;
    auto found = std::ranges::find(rows, mine, [](const auto& one) { return one.first; });
    if (found == rows.end()) found = rows.insert(rows.end(), {mine, {}});
    add(found->second, result);
  }
  size_t width = what.size();
  for (const auto& [title, tally] : rows) width = std::max(width, title.size());
  std::string text = fmt::format(
      "{:<{}}  mutants  invalid  equivalent  duplicates  counted  ordinary  schedules  checkers  "
      "survived  ordinary   killed\n",
      what, width);
  for (const auto& [title, tally] : rows) text += row(title, width, tally);
  return text + row("all", width, tally_of(run)) + "\n";
}

std::string shortened(const std::string& text) {
  constexpr size_t kMost = 160;
  return text.size() <= kMost ? text : text.substr(0, kMost) + " …";
}

std::string list(const Run& run, const std::string& title, auto wanted, auto last_line) {
  std::string text;
  for (const auto& result : run.results) {
    if (!wanted(result)) continue;
    text += fmt::format("  {}\n    - {}\n    + {}\n", result.mutant.id, shortened(result.mutant.before),
                        shortened(result.mutant.after));
    if (const std::string more = last_line(result); !more.empty()) text += fmt::format("    {}\n", more);
  }
  return text.empty() ? "" : title + ":\n" + text + "\n";
}

}  // namespace

double Tally::rate() const { return share(killed(), counted()); }
double Tally::ordinary_rate() const { return share(ordinary, counted()); }

void add(Tally& tally, const MutantResult& result) {
  ++tally.mutants;
  switch (result.fate) {
    case Fate::invalid:
      ++tally.invalid;
      break;
    case Fate::same_code:
    case Fate::declared_equivalent:
      ++tally.equivalent;
      break;
    case Fate::duplicate:
      ++tally.duplicate;
      break;
    case Fate::survived:
      ++tally.survived;
      break;
    case Fate::unjudged:
      ++tally.unjudged;
      break;
    case Fate::killed:
      ++(result.means == Means::ordinary    ? tally.ordinary
         : result.means == Means::schedules ? tally.schedules
                                            : tally.checkers);
      break;
  }
}

Tally tally_of(const Run& run) {
  Tally tally;
  for (const auto& result : run.results) add(tally, result);
  return tally;
}

std::string describe(const Run& run) {
  std::string text = table(run, "problem", &Mutant::problem) + table(run, "operator", &Mutant::made_by);
  text += list(
      run, "Survivors", [](const auto& r) { return r.fate == Fate::survived; },
      [](const auto&) { return std::string(); });
  text += list(
      run, "Equivalent, and why", [](const auto& r) { return r.fate == Fate::declared_equivalent; },
      [](const auto& r) { return r.argument; });
  text += list(
      run, "Not judged", [](const auto& r) { return r.fate == Fate::unjudged; },
      [](const auto& r) { return r.verdict + ": " + r.summary; });
  for (const auto& stale : run.stale) text += fmt::format("Stale argument: {}\n", stale);
  const Tally all = tally_of(run);
  text += fmt::format("{} of {} mutants that count are killed: {:.1f} %; by an ordinary run alone {:.1f} %\n",
                      all.killed(), all.counted(), 100 * all.rate(), 100 * all.ordinary_rate());
  return text;
}

}  // namespace fb::mutate
