#include <unistd.h>
#include <memory>

#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "common/base/output.h"
#include "common/base/terminal.h"
#include "judge/catalog/describe.h"

namespace fb::cli {
namespace {

struct ListOptions {
  std::string problems;
  ProblemFilter filter;
  bool json = false, names = false;
};

int list(const ListOptions& o) {
  const auto folder = problems_folder(o.problems);
  if (!folder) return fail(folder.error());
  Errors errors;
  const catalog::Pack pack = catalog::read_pack(*folder, errors);
  std::vector<const catalog::Problem*> chosen;
  for (const catalog::Problem& problem : pack.problems) {
    if (matches(problem, o.filter)) chosen.push_back(&problem);
  }
  if (o.json) {
    print_out("{}", list_as_json(pack, chosen));
  } else if (o.names) {
    for (const catalog::Problem* problem : chosen) print_out("{}\n", problem->name);
  } else if (!chosen.empty()) {
    print_out("{}", list_as_text(chosen, terminal_columns(STDOUT_FILENO)));
  }
  warn(errors);
  if (!errors.list.empty()) return kExitUsage;
  if (!chosen.empty()) return kExitDone;
  print_error("fabricbench: {}\n", none_matches(pack, o.filter));
  return kExitNo;
}

}  // namespace

void add_list(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<ListOptions>();
  Command& command = program.add_command("list", "List the problems");
  command.footer(
      "All filters must match. Exit code: 0 problems are listed, 1 none matches, 2 a problem folder is invalid (valid "
      "ones are still listed).\n\n"
      "Examples:\n"
      "  fabricbench list\n"
      "  fabricbench list 'all_reduce*' --level 2\n"
      "  fabricbench list --category ep --json | jq -r '.problems[].name'");
  command.add_option("GLOB", options->filter.globs, "Names of problems, such as 'all_*' or 'p2p/*' (default: all)");
  add_filter_options(command, options->filter);
  auto json = command.add_flag("--json", options->json, "As JSON: pack, problems[].name, .level, .hash, …");
  command.add_flag("--names", options->names, "Names only, one a line, for scripts").excludes(json);
  add_problems_option(command, options->problems);
  command.callback([options, &command_run] { command_run.exit_code = list(*options); });
}

}  // namespace fb::cli
