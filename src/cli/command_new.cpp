#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/options/problem_choice.h"
#include "cli/text/failure.h"
#include "common/base/output.h"
#include "common/base/strings.h"
#include "judge/catalog/names.h"
#include "judge/catalog/skeleton.h"

namespace fb::cli {
namespace {

namespace fs = std::filesystem;

struct NewOptions {
  std::string problems, name;
};

// A folder of one's own becomes a pack with its first problem.
Result<void> make_pack(const fs::path& root) {
  if (fs::exists(root / "pack.toml")) return {};
  if (fs::exists(root) && !fs::is_empty(root))
    return error(
        fmt::format("{} is no pack of problems: pack.toml is missing, and the folder is not empty", root.string()));
  const std::string folder = (fs::absolute(root) / "").lexically_normal().parent_path().filename().string();
  fs::create_directories(root);
  write_file((root / "pack.toml").string(),
             fmt::format("name = \"{}\"\nversion = \"0.1.0\"\n", catalog::is_label(folder) ? folder : "my-problems"));
  return {};
}

int create(const NewOptions& o) {
  const size_t first = o.name.find('/'), second = o.name.find('/', first + 1);
  if (first == std::string::npos || second == std::string::npos)
    return fail(fmt::format("'{}': a name is TRACK/CATEGORY/NAME, as comm/p2p/{}", o.name,
                            catalog::is_snake_case(o.name) ? o.name : "my_copy"));
  const std::string track = o.name.substr(0, first), category = o.name.substr(first + 1, second - first - 1),
                    name = o.name.substr(second + 1);
  if (track != "comm" && track != "kernel")
    return fail(fmt::format("'{}': there are the tracks comm and kernel", o.name));
  const auto files = catalog::make_skeleton(track, category, name);
  if (!files) return fail(files.error());
  // A folder that does not exist yet becomes a pack.
  const auto root = o.problems.empty() ? problems_folder("") : Result<std::string>(o.problems);
  if (!root) return fail(root.error());
  if (o.problems.empty() && access(root->c_str(), W_OK) != 0)
    return fail(fmt::format(
        "the pack {} can't be written; `fabricbench new --problems my_pack {}` begins one of your own", *root, o.name));
  if (const auto made = make_pack(*root); !made) return fail(made.error());
  for (const auto& other : catalog::problem_places(*root)) {
    if (other.name == name) return fail(fmt::format("{}/{}: there is a problem of this name", *root, other.folder));
  }
  const fs::path folder = fs::path(*root) / track / category / name;
  fs::create_directories(folder);
  for (const auto& [file, text] : *files) write_file((folder / file).string(), text);
  print_out("{}: a small problem that works. Make it yours: docs/reference/problems.md says what the files mean.\n",
            folder.string());
  return kExitDone;
}

}  // namespace

void add_new(Command& program, CommandRun& command_run) {
  auto options = std::make_shared<NewOptions>();
  Command& command = program.add_command("new", "Create a problem folder to start from");
  command.footer(
      "Writes a folder with a small working problem, \"send to the next rank\". A folder given with\n"
      "--problems that is empty or does not exist becomes a pack.\n\n"
      "Examples:\n"
      "  fabricbench new --problems my_pack comm/p2p/halo_exchange\n"
      "  fabricbench new comm/collective/all_reduce_tree            in the pack of the source tree");
  command.add_option("NAME", options->name, "Where it belongs and what it is called")
      .type_name("TRACK/CATEGORY/NAME")
      .required();
  add_problems_option(command, options->problems);
  command.callback([options, &command_run] { command_run.exit_code = create(*options); });
}

}  // namespace fb::cli
