#include "cli/options/problem_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "common/base/spelling.h"

namespace fb::cli {

void add_problems_option(Command& command, std::string& folder) {
  command
      .add_option("--problems", folder,
                  "Pack of problems: a folder with pack.toml (default: $FABRICBENCH_PROBLEMS, or the installed pack)")
      .type_name("DIR");
}

Result<std::string> problems_folder(const std::string& chosen) {
  if (chosen.empty()) return catalog::locate_problems();
  std::error_code ignored;
  if (std::filesystem::is_directory(chosen, ignored)) return chosen;
  return error(
      fmt::format("--problems {}: not a folder (it names a pack; problems are named without an option)", chosen));
}

Result<catalog::Pack> choose_problem(const std::string& chosen_folder, const std::string& problem) {
  const auto folder = problems_folder(chosen_folder);
  if (!folder) return std::unexpected(folder.error());
  return catalog::load_from_pack(*folder, problem);
}

std::vector<catalog::ProblemPlace> problems_named(const std::string& pack_folder, const std::string& glob) {
  std::vector<catalog::ProblemPlace> found = catalog::problem_places(pack_folder);
  std::erase_if(found, [&](const auto& place) { return fnmatch(glob.c_str(), place.name.c_str(), 0) != 0; });
  return found;
}

bool matches(const catalog::Problem& p, const ProblemFilter& filter) {
  const auto fits = [](const std::string& wanted, const std::string& value) {
    return wanted.empty() || wanted == value;
  };
  const auto named = [&](const std::string& glob) {
    return fnmatch(glob.c_str(), p.name.c_str(), 0) == 0 ||
           fnmatch(glob.c_str(), (p.category + "/" + p.name).c_str(), 0) == 0;
  };
  return fits(filter.category, p.category) && fits(filter.library, p.library) && fits(filter.track, p.track) &&
         (filter.level == 0 || filter.level == p.level) &&
         (filter.tag.empty() || std::ranges::find(p.tags, filter.tag) != p.tags.end()) &&
         (filter.globs.empty() || std::ranges::any_of(filter.globs, named));
}

std::string none_matches(const catalog::Pack& pack, const ProblemFilter& filter) {
  std::string text = fmt::format("none of the {} problems of {} matches", pack.problems.size(), pack.root);
  const auto check_value = [&](const char* option, const std::string& wanted, auto values_of) {
    std::set<std::string> known;
    for (const catalog::Problem& problem : pack.problems) {
      for (const std::string& value : values_of(problem)) known.insert(value);
    }
    if (!wanted.empty() && !known.contains(wanted))
      text += fmt::format("; of --{} there are: {}", option, fmt::join(known, " "));
  };
  using Values = std::vector<std::string>;
  check_value("category", filter.category, [](const catalog::Problem& p) { return Values{p.category}; });
  check_value("library", filter.library, [](const catalog::Problem& p) { return Values{p.library}; });
  check_value("track", filter.track, [](const catalog::Problem& p) { return Values{p.track}; });
  check_value("tag", filter.tag, [](const catalog::Problem& p) { return p.tags; });
  std::vector<std::string> names;
  for (const catalog::Problem& problem : pack.problems) names.push_back(problem.name);
  for (const std::string& glob : filter.globs) {
    ProblemFilter alone;
    alone.globs = {glob};
    if (std::ranges::none_of(pack.problems, [&](const catalog::Problem& p) { return matches(p, alone); }))
      text += did_you_mean(glob, names);
  }
  if (!text.ends_with('?')) text += " (`fabricbench list` alone shows all)";
  return text;
}

void add_filter_options(Command& command, ProblemFilter& filter) {
  command.add_option("--category", filter.category, "p2p, collective, ep, fusion, utility, …");
  command
      .add_option("--level", filter.level, "1: one copy; 2: one synchronisation pattern; 3: several, overlap or layout")
      .check(in_range(1, 3));
  command.add_option("--library", filter.library, "Library that solutions build on: cuda, …");
  command.add_option("--track", filter.track, "comm or kernel");
  command.add_option("--tag", filter.tag, "One of the problem's tags");
}

}  // namespace fb::cli
