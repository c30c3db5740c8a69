#include "audit/mutate/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "audit/mutate/operators.h"
#include "common/base/strings.h"
#include "judge/catalog/source.h"

namespace fb::mutate {
namespace {

struct Place {
  uint32_t line = 1, column = 1;
};

Place place_of(std::string_view text, size_t offset) {
  Place place;
  for (const char c : text.substr(0, offset)) {
    ++place.column;
    if (c != '\n') continue;
    ++place.line;
    place.column = 1;
  }
  return place;
}

size_t offset_of_line(std::string_view text, uint32_t line) {
  size_t at = 0;
  for (uint32_t k = 1; k < line; ++k) at = text.find('\n', at) + 1;
  return at;
}

// Whole lines of `text` from the first to the last that [begin, end) touches, in one line.
std::string lines_around(std::string_view text, size_t begin, size_t end) {
  const size_t first = begin == 0 ? 0 : text.rfind('\n', begin - 1) + 1;  // npos + 1 is 0
  const size_t last = std::min(text.find('\n', end), text.size());
  std::string joined;
  for (const auto line : split(text.substr(first, last - first), '\n')) {
    if (!joined.empty()) joined += ' ';
    joined += trim(line);
  }
  return joined;
}

void describe(Mutant& mutant, std::string_view source, const Change& change) {
  const auto [first, last] = std::ranges::minmax(change, {}, &Edit::offset);
  const size_t end = last.offset + last.length;
  mutant.before = lines_around(source, first.offset, end);
  mutant.after = lines_around(mutant.source, first.offset, end + mutant.source.size() - source.size());
}

Result<std::vector<const Operator*>> chosen(const std::vector<std::string>& names) {
  std::vector<const Operator*> found;
  for (const auto& one : operators()) {
    if (names.empty()) found.push_back(&one);
  }
  for (const auto& name : names) {
    found.push_back(find_operator(name));
    if (found.back() == nullptr) return error(fmt::format("there is no operator {}", name));
  }
  return found;
}

}  // namespace

Result<std::vector<Mutant>> make_mutants_of(std::string_view name, std::string_view source, size_t begin, size_t end,
                                            const std::vector<std::string>& operators) {
  const auto rows = chosen(operators);
  if (!rows) return std::unexpected(rows.error());
  const Code code(source, begin, end);
  const Synchronization synchronization(code);
  std::vector<Mutant> mutants;
  std::set<std::string> texts = {std::string(source)};
  for (const Operator* row : *rows) {
    std::map<std::string, int> here;  // how many at one place
    for (const auto& change : row->find({code, synchronization})) {
      const Place place = place_of(source, change.front().offset);
      const std::string prefix = fmt::format("{}/{}/{}:{}", name, row->name, place.line, place.column);
      Mutant mutant{.id = fmt::format("{}/{}", prefix, here[prefix]++)};
      mutant.problem = name;
      mutant.made_by = row->name;
      mutant.line = place.line;
      mutant.source = apply(source, change);
      describe(mutant, source, change);
      if (texts.insert(mutant.source).second) mutants.push_back(std::move(mutant));
    }
  }
  return mutants;
}

Result<std::vector<Mutant>> make_mutants(const catalog::Problem& problem, const std::vector<std::string>& operators) {
  const auto regions = catalog::regions_of(problem.reference);
  if (!regions) return std::unexpected(regions.error());
  std::vector<Mutant> mutants;
  for (const auto& region : *regions) {
    const size_t begin = offset_of_line(problem.reference, region.line + 1);
    auto found = make_mutants_of(problem.name, problem.reference, begin, begin + region.solution.size(), operators);
    if (!found) return found;
    std::ranges::move(*found, std::back_inserter(mutants));
  }
  return mutants;
}

}  // namespace fb::mutate
