#include <memory>

#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "common/base/output.h"
#include "judge/catalog/describe.h"

namespace fb::cli {
namespace {

struct ShowOptions {
  std::string problems, problem;
  bool json = false;
};

int show(const ShowOptions& o) {
  const auto pack = choose_problem(o.problems, o.problem);
  if (!pack) return fail(pack.error());
  const catalog::Problem& problem = pack->problems[0];
  print_out("{}", o.json ? show_as_json(*pack, problem) : show_as_text(*pack, problem));
  return kExitDone;
}

}  // namespace

void add_show(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<ShowOptions>();
  Command& command = program.add_command("show", "Show a problem: statement, tensors, sizes, rules");
  command.footer(
      "Prints the statement, the fields of Args, sizes, rules, the least cost of a call, and the hash that verdicts "
      "carry.\n\n"
      "Examples:\n"
      "  fabricbench show all_reduce_one_shot\n"
      "  fabricbench show all_reduce_one_shot --json | jq -r .statement\n"
      "  fabricbench show ./my_pack/comm/p2p/halo_exchange");
  command.add_option("PROBLEM", options->problem, "Its name, category/name, or its folder").required();
  command.add_flag("--json", options->json, "As JSON: statement, tensors, sizes, rules, cost, pack, hash, …");
  add_problems_option(command, options->problems);
  command.callback([options, &command_run] { command_run.exit_code = show(*options); });
}

}  // namespace fb::cli
