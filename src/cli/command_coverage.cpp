#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "inspect/coverage.h"

namespace fb::cli {

void add_coverage(CLI::App& program, int& exit_code) {
  struct Options {
    bool json = false, markdown = false;
  };
  auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("coverage", "Which PTX instructions this machine executes");
  command->footer("Example:\n  fabricbench coverage --json | jq .ptx.tiers");
  auto* json = command->add_flag("--json", options->json, "As JSON: ptx.tiers.T1.done, ptx.tiers.T1.total, …");
  command->add_flag("--markdown", options->markdown, "As the page docs/coverage.md")->excludes(json);
  command->callback([options, &exit_code] {
    const inspect::Coverage coverage = inspect::measure_coverage();
    fmt::print("{}", options->json ? to_json(coverage) : options->markdown ? to_markdown(coverage) : to_text(coverage));
    exit_code = kExitDone;
  });
}

}  // namespace fb::cli
