#include <fmt/format.h>

#include <memory>

#include "catalog/describe.h"
#include "cli/commands.h"
#include "cli/problem_choice.h"

namespace fb::cli {
namespace {

struct Options {
  std::string problems;
  ProblemFilter filter;
  bool json = false;
};

int list(const Options& o) {
  const auto folder = problems_folder(o.problems);
  if (!folder) return say_errors(folder.error());
  Errors errors;
  const catalog::Pack pack = catalog::read_pack(*folder, errors);
  std::vector<const catalog::Problem*> chosen;
  for (const catalog::Problem& problem : pack.problems) {
    if (matches(problem, o.filter)) chosen.push_back(&problem);
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
  command->add_option("GLOB", options->filter.globs, "Names, as 'all_*' or 'p2p/*'");
  add_filter_options(*command, options->filter);
  command->add_flag("--json", options->json, "As JSON: pack, problems[].name, .level, .hash, …");
  add_problems_option(*command, options->problems);
  command->callback([options, &exit_code] { exit_code = list(*options); });
}

}  // namespace fb::cli
