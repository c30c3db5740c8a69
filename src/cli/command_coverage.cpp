#include <memory>
#include <nlohmann/json.hpp>

#include "audit/inspect/api_coverage.h"
#include "audit/inspect/coverage.h"
#include "cli/commands.h"
#include "cli/text/failure.h"
#include "common/base/output.h"

namespace fb::cli {
namespace {

struct CoverageOptions {
  bool api = false, json = false, markdown = false;
};

std::string api_part(const CoverageOptions& o) {
  const inspect::ApiCoverage coverage = inspect::measure_api_coverage();
  return o.json ? to_json(coverage) : o.markdown ? to_markdown(coverage) : to_text(coverage);
}

std::string whole(const CoverageOptions& o) {
  const inspect::Coverage ptx = inspect::measure_coverage();
  if (o.markdown) return to_markdown(ptx);
  if (!o.json) return api_part(o) + "\n" + to_text(ptx);
  auto all = nlohmann::ordered_json::parse(to_json(ptx));
  all.update(nlohmann::ordered_json::parse(api_part(o)));
  return all.dump(2) + "\n";
}

}  // namespace

void add_coverage(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<CoverageOptions>();
  Command& command =
      program.add_command("coverage", "List which PTX instructions are executed and which CUDA calls are implemented");
  command.footer(
      "Examples:\n  fabricbench dev coverage --json | jq .ptx.tiers\n  fabricbench dev coverage --api --markdown > "
      "docs/evidence/api.md");
  command.add_flag("--api", options->api, "CUDA calls only");
  auto json = command.add_flag("--json", options->json, "As JSON: ptx.tiers.T1.done, api.cuda_driver.real, …");
  command
      .add_flag("--markdown", options->markdown,
                "As the page docs/evidence/coverage.md; with --api, docs/evidence/api.md")
      .excludes(json);
  command.callback([options, &command_run] {
    print_out("{}", options->api ? api_part(*options) : whole(*options));
    command_run.exit_code = kExitDone;
  });
}

}  // namespace fb::cli
