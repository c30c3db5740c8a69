#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <memory>

#include "catalog/describe.h"
#include "cli/commands.h"
#include "cli/problem_choice.h"

namespace fb::cli {
namespace {

struct Options {
  std::string problems;
  std::vector<std::string> globs;
  std::string category, library, track, tag;
  int level = 0;
  bool json = false;
};

bool matches(const catalog::Problem& p, const Options& o) {
  const auto fits = [](const std::string& wanted, const std::string& value) {
    return wanted.empty() || wanted == value;
  };
  const auto named = [&](const std::string& glob) {
    return fnmatch(glob.c_str(), p.name.c_str(), 0) == 0 ||
           fnmatch(glob.c_str(), (p.category + "/" + p.name).c_str(), 0) == 0;
  };
  return fits(o.category, p.category) && fits(o.library, p.library) && fits(o.track, p.track) &&
         (o.level == 0 || o.level == p.level) && (o.tag.empty() || std::ranges::find(p.tags, o.tag) != p.tags.end()) &&
         (o.globs.empty() || std::ranges::any_of(o.globs, named));
}

int list(const Options& o) {
  const auto folder = problems_folder(o.problems);
  if (!folder) return say_errors(folder.error());
  Errors errors;
  const catalog::Pack pack = catalog::read_pack(*folder, errors);
  std::vector<const catalog::Problem*> chosen;
  for (const catalog::Problem& problem : pack.problems) {
    if (matches(problem, o)) chosen.push_back(&problem);
  }
  if (o.json) {
    fmt::print("{}", list_as_json(pack, chosen));
  } else if (!chosen.empty()) {
    fmt::print("{}", list_as_text(chosen));
  }
  if (!errors.list.empty()) return say_errors(errors);
  if (!chosen.empty()) return kExitDone;
  fmt::print(stderr, "fabricbench: none of the {} problems of {} is like that\n", pack.problems.size(), pack.root);
  return kExitNo;
}

}  // namespace

void add_list(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("list", "Which problems there are");
  command->footer(
      "Filters add up. Exit code: 0 some are listed, 1 none is like that, 2 a folder is wrong (what is right is "
      "listed).\n\n"
      "Examples:\n"
      "  fabricbench list\n"
      "  fabricbench list 'all_reduce*' --level 2\n"
      "  fabricbench list --category ep --json | jq -r '.problems[].name'");
  command->add_option("GLOB", options->globs, "Names, as 'all_*' or 'p2p/*'");
  command->add_option("--category", options->category, "p2p, collective, ep, fusion, utility, …");
  command
      ->add_option("--level", options->level,
                   "1: one copy; 2: one synchronisation pattern; 3: several, overlap or layout")
      ->check(CLI::Range(1, 3));
  command->add_option("--library", options->library, "What a solution may build on: cuda, …");
  command->add_option("--track", options->track, "comm or kernel");
  command->add_option("--tag", options->tag, "One of the problem's tags");
  command->add_flag("--json", options->json, "As JSON: pack, problems[].name, .level, .hash, …");
  add_problems_option(*command, options->problems);
  command->callback([options, &exit_code] { exit_code = list(*options); });
}

}  // namespace fb::cli
