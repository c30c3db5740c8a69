#include <limits>
#include <memory>

#include "campaign/worker.h"
#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "common/base/interruption.h"
#include "common/base/output.h"

namespace fb::cli {
namespace {

struct WorkerOptions {
  std::string list;
  size_t first = 0, count = std::numeric_limits<size_t>::max();
};

int work(const WorkerOptions& o) {
  const InterruptionGuard guard;
  if (o.list.empty()) return campaign::serve_lines();
  const auto failures = campaign::work_through(o.list, o.first, o.count);
  if (!failures) return fail(failures.error());
  return *failures == 0 ? kExitDone : kExitNo;
}

}  // namespace

// Not in the help: campaigns start it.
void add_worker(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<WorkerOptions>();
  Command& command = program.add_command("worker", "Make judgements of a campaign: job files in, verdict files out");
  command.footer(
      "Without --list, reads paths of job files from standard input and answers each by a line: done, or failed and "
      "why.");
  command.add_option("--list", options->list, "File with a path of a job file in each line");
  command.add_option("--first", options->first, "Number of the first line to do, from 0");
  command.add_option("--count", options->count, "How many");
  command.callback([options, &command_run] { command_run.exit_code = work(*options); });
}

}  // namespace fb::cli
