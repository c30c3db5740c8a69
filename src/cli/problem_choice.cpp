#include "cli/problem_choice.h"

#include <fmt/format.h>

#include "cli/commands.h"

namespace fb::cli {

void add_problems_option(CLI::App& command, std::string& folder) {
  command
      .add_option("--problems", folder,
                  "Pack of problems: a folder with pack.toml (default: $FABRICBENCH_PROBLEMS, or what came along)")
      ->type_name("DIR");
}

Result<std::string> problems_folder(const std::string& chosen) {
  if (!chosen.empty()) return chosen;
  return catalog::locate_problems();
}

Result<catalog::Pack> choose_problem(const std::string& chosen_folder, const std::string& problem) {
  const auto folder = problems_folder(chosen_folder);
  if (!folder) return std::unexpected(folder.error());
  return catalog::load_from_pack(*folder, problem);
}

int say_errors(const Errors& errors) {
  for (const Diagnostic& diagnostic : errors.list) fmt::print(stderr, "fabricbench: {}\n", diagnostic.message);
  return kExitUsage;
}

}  // namespace fb::cli
