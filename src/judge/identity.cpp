#include "judge/identity.h"

#include <filesystem>
#include <vector>

#include "base/content_hash.h"
#include "base/installed.h"
#include "base/strings.h"
#include "fabric/platform.h"
#include "launcher/launch.h"
#include "toolchain/identity.h"
#include "toolchain/locate.h"

namespace fb::judge {
namespace {

namespace fs = std::filesystem;

std::string hash_of_file(const std::string& path) {
  return fs::exists(path) ? hash_bytes(read_file(path)) : "no " + path;
}

std::string hash_of_programs() {
  std::vector<std::string> words = {"programs", hash_of_file(own_program())};
  if (const auto machine = launcher::find_machine()) {
    words.push_back(hash_of_file(*machine));
    words.push_back(hash_of_file(fs::path(*machine).parent_path() / "fabricbench-rank"));
  }
  if (const auto libraries = toolchain::locate_libraries())
    words.push_back(hash_of_file(*libraries + "/libfabricbench_cuda.so"));
  if (const auto where = toolchain::locate()) words.push_back(toolchain::identity_of(*where));
  return hash_words(words);
}

}  // namespace

std::string identity(const std::string& platform) {
  static const std::string kPrograms = hash_of_programs();  // 20 MiB or so, read once in a process
  const auto values = fabric::load_platform(platform);
  return hash_words({kPrograms, values ? fabric::values_text(*values) : "no " + platform});
}

}  // namespace fb::judge
