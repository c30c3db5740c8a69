#include <memory>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "common/base/output.h"
#include "common/base/version.h"
#include "toolchain/compile/locate.h"

namespace fb::cli {
namespace {

struct PartLine {
  std::string name, value;
};

std::string or_why(const Result<std::string>& found) {
  return found ? *found : "missing: " + found.error().list.front().message;
}

// The version and the parts that a verdict depends on, found as a judgement would find them.
std::vector<PartLine> part_lines() {
  const auto locations = toolchain::locate();
  std::vector<PartLine> all = {{"version", std::string(version())}};
  all.push_back({"compiler", locations ? locations->compiler : or_why(std::unexpected(locations.error()))});
  if (locations) all.push_back({"sdk", locations->sdk});
  all.push_back({"libraries", or_why(toolchain::locate_libraries())});
  return all;
}

}  // namespace

void add_version(Command& program, CommandRun& command_run) {
  auto json = std::make_shared<bool>(false);
  Command& command = program.add_command("version", "Show the version and the parts in use: compiler, SDK, libraries");
  command.footer("`fabricbench --version` prints the version alone, in one line.");
  command.add_flag("--json", *json, "As JSON");
  command.callback([json, &command_run] {
    nlohmann::ordered_json value = {{"schema", 1}};
    for (const PartLine& line : part_lines()) {
      if (*json)
        value[line.name] = line.value;
      else
        print_out("{:<10} {}\n", line.name, line.value);
    }
    if (*json) print_out("{}\n", value.dump(2));
    command_run.exit_code = kExitDone;
  });
}

}  // namespace fb::cli
