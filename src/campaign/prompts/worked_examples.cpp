#include "campaign/prompts/worked_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "campaign/prompts/capped_text.h"
#include "campaign/prompts/prompt_files.h"
#include "common/base/strings.h"
#include "judge/catalog/source.h"

namespace fb::prompts {
namespace {

using catalog::Pack;
using catalog::Problem;

Result<std::vector<std::string>> example_names() {
  const auto text = read_prompt_file("examples.txt");
  if (!text) return std::unexpected(text.error());
  std::vector<std::string> names;
  for (const std::string_view line : split(*text, '\n')) {
    if (!trim(line).empty() && !trim(line).starts_with('#')) names.emplace_back(trim(line));
  }
  return names;
}

Result<Problem> find_problem(const Pack& pack, const std::string& name) {
  const auto here = std::ranges::find(pack.problems, name, &Problem::name);
  if (here != pack.problems.end()) return *here;
  if (auto found = catalog::load_from_pack(pack.root, name)) return std::move(found->problems.front());
  const auto own = catalog::locate_problems();
  if (!own) return std::unexpected(own.error());
  auto found = catalog::load_from_pack(*own, name);
  if (!found) return std::unexpected(found.error());
  return std::move(found->problems.front());
}

Result<std::string> show(const Problem& problem) {
  const auto regions = catalog::regions_of(problem.reference);
  if (!regions) return std::unexpected(regions.error());
  std::vector<std::pair<std::string, std::string>> solutions;
  for (const auto& region : *regions) solutions.emplace_back(region.name, region.solution);
  const auto file = catalog::splice(problem, solutions);
  if (!file) return std::unexpected(file.error());
  std::string text = fmt::format("<example>\n{}\n\n", trim(problem.statement));
  text += fmt::format("A solution:\n\n{}\n</example>", fenced(*file, "cuda"));
  return text;
}

}  // namespace

Result<std::string> worked_examples(const Pack& pack, const Problem& asked, size_t count) {
  const auto names = example_names();
  if (!names) return std::unexpected(names.error());
  std::vector<Problem> chosen, of_same_category;
  for (const std::string& name : *names) {
    if (name == asked.name) continue;
    auto problem = find_problem(pack, name);
    if (!problem) return std::unexpected(problem.error());
    // A class that is used by a driver can't be understood without it.
    if (!problem->driver.empty()) continue;
    (problem->category == asked.category ? of_same_category : chosen).push_back(std::move(*problem));
  }
  std::ranges::move(of_same_category, std::back_inserter(chosen));
  if (chosen.size() < count)
    return error(fmt::format("examples.txt has {} examples for '{}', {} are wanted", chosen.size(), asked.name, count));
  std::string text;
  for (size_t k = 0; k < count; ++k) {
    const auto shown = show(chosen[k]);
    if (!shown) return std::unexpected(shown.error());
    text += (text.empty() ? "" : "\n\n") + *shown;
  }
  return text;
}

}  // namespace fb::prompts
