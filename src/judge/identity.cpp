#include "judge/identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>

#include "common/base/checksum.h"
#include "common/base/content_hash.h"
#include "common/base/installed.h"
#include "common/base/unique_fd.h"
#include "common/platform/platform.h"
#include "common/sandbox/sandbox.h"
#include "launcher/launch.h"
#include "toolchain/compile/identity.h"
#include "toolchain/compile/locate.h"

namespace fb::judge {
namespace {

namespace fs = std::filesystem;

// Where the kernel has it: a copy would take longer than the sum.
std::string checksum_of_content(const std::string& path) {
  const auto fail = [&] { throw std::system_error(errno, std::generic_category(), "cannot read " + path); };
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (!file || fstat(file.get(), &facts) != 0) fail();
  const auto bytes = static_cast<size_t>(facts.st_size);
  if (bytes == 0) return checksum({});
  void* const at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.get(), 0);
  if (at == MAP_FAILED) fail();
  std::string sum = checksum({static_cast<const char*>(at), bytes});
  munmap(at, bytes);
  return sum;
}

// Our own programs, 20 MiB or so: read again only where the file is another one.
std::string checksum_of_file(const std::string& path) {
  struct stat facts{};
  if (path.empty() || stat(path.c_str(), &facts) != 0) return "missing";
  const std::string known =
      fmt::format("{} {} {} {}.{} {}.{}", facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec,
                  facts.st_mtim.tv_nsec, facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec);
  static std::map<std::string, std::pair<std::string, std::string>> sums;  // path → facts, checksum
  auto& [about, sum] = sums[path];
  if (about != known) {
    sum = checksum_of_content(path);
    about = known;
  }
  return sum;
}

template <class T>
std::string or_nothing(const Result<T>& found) {
  return found ? std::string(*found) : std::string();
}

}  // namespace

IdentityParts identity_parts(const std::string& platform, toolchain::DeviceCompiler device_compiler) {
  const std::string machine = or_nothing(launcher::find_machine());
  const std::string libraries = or_nothing(toolchain::locate_libraries());
  const auto compiler = toolchain::locate(device_compiler);
  const auto values = platform::load_platform(platform);
  return {.programs = {own_program(), machine, (fs::path(machine).parent_path() / "fabricbench-rank").string(),
                       or_nothing(sandbox::find_confine()), libraries + "/libfabricbench_cuda.so"},
          .toolchain = compiler ? toolchain::identity_of(*compiler) : "missing",
          .platform = values ? platform::values_text(*values) : "no " + platform};
}

std::string identity_of(const IdentityParts& parts) {
  std::vector<std::string> words = {"identity 2"};
  for (const std::string& program : parts.programs) words.push_back(checksum_of_file(program));
  words.push_back(parts.toolchain);
  words.push_back(parts.platform);
  return hash_words(words);
}

std::string identity(const std::string& platform, toolchain::DeviceCompiler device_compiler) {
  return identity_of(identity_parts(platform, device_compiler));
}

}  // namespace fb::judge
