#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "common/base/output.h"
#include "common/base/strings.h"
#include "judge/catalog/source.h"

namespace fb::cli {
namespace {

struct TemplateOptions {
  std::string problems, problem, output;
  bool force = false;
};

int make(const TemplateOptions& o) {
  const auto pack = choose_problem(o.problems, o.problem);
  if (!pack) return fail(pack.error());
  const auto text = catalog::make_template(pack->problems[0]);
  if (!text) return fail(text.error());
  if (o.output.empty() || o.output == "-") {
    print_out("{}", *text);
    return kExitDone;
  }
  if (std::filesystem::is_directory(o.output))
    return fail(fmt::format("{} is a folder; name the file in it: -o {}", o.output,
                            (std::filesystem::path(o.output) / "solution.cu").string()));
  if (std::filesystem::exists(o.output) && !o.force)
    return fail(fmt::format("{} exists: --force overwrites it", o.output));
  write_file(o.output, *text);
  return kExitDone;
}

}  // namespace

void add_template(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<TemplateOptions>();
  Command& command = program.add_command("template", "Write the file in which a solution is written");
  command.footer(
      "A solution goes between // [solution] and // [/solution]; only what stands there is judged, the rest of the "
      "file\n"
      "is given. A comment lists the fields of Args.\n\n"
      "Examples:\n"
      "  fabricbench template all_reduce_one_shot -o mine.cu\n"
      "  fabricbench check all_reduce_one_shot mine.cu");
  command.add_option("PROBLEM", options->problem, "Its name, category/name, or its folder").required();
  command.add_option("-o,--output", options->output, "Write it here instead of standard output").output_file();
  command.add_flag("--force", options->force, "Overwrite the file if there is one");
  add_problems_option(command, options->problems);
  command.callback([options, &command_run] { command_run.exit_code = make(*options); });
}

}  // namespace fb::cli
