#include <memory>

#include "campaign/caller.h"
#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "common/base/output.h"

namespace fb::cli {
namespace {

struct CallerOptions {
  std::string run, prices;
  record::RoundId round;
};

int call(const CallerOptions& o) {
  const auto called = campaign::call_round(o.run, o.round, {.prices = o.prices});
  return called ? kExitDone : fail(called.error());
}

}  // namespace

// Not in the help: campaigns start it.
void add_caller(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<CallerOptions>();
  Command& command = program.add_command("caller", "Make one call of a campaign and write down the response");
  command.add_option("--run", options->run, "Folder of the run").required();
  command.add_option("--model", options->round.model, "Label").required();
  command.add_option("--problem", options->round.problem, "Name").required();
  command.add_option("--sample", options->round.sample, "Number, from 1").required();
  command.add_option("--round", options->round.round, "Number, from 1").required();
  command.add_option("--prices", options->prices, "Price file");
  command.callback([options, &command_run] { command_run.exit_code = call(*options); });
}

}  // namespace fb::cli
