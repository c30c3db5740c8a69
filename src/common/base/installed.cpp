#include "common/base/installed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace fb {
namespace {

namespace fs = std::filesystem;

bool has(const fs::path& folder, const char* sign) {
  std::error_code ignored;
  return fs::is_regular_file(folder / sign, ignored);
}

}  // namespace

std::string own_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

std::string beside_program(std::string_view path) {
  return (fs::path(own_program()).parent_path() / path).lexically_normal();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<std::string> locate(const SharedFolder& folder) {
  if (std::string chosen = environment(folder.variable); !chosen.empty()) {
    if (has(chosen, folder.sign)) return chosen;
    return error(fmt::format("{} names no {}: {}/{} is missing", folder.variable, folder.kind, chosen, folder.sign));
  }
  std::string installed = beside_program(fmt::format("../share/fabricbench/{}", folder.name));
  if (has(installed, folder.sign)) return installed;
  if (has(folder.source, folder.sign)) return std::string(folder.source);
  return error(fmt::format("{} were found neither in {} nor in {}: set {}", folder.them, installed, folder.source,
                           folder.variable));
}

Result<std::string> locate_program(const char* variable, const char* name) {
  if (std::string chosen = environment(variable); !chosen.empty()) {
    if (access(chosen.c_str(), X_OK) == 0) return chosen;
    return error(fmt::format("{} names no program: {}", variable, chosen));
  }
  std::string beside = beside_program(name);
  if (access(beside.c_str(), X_OK) == 0) return beside;
  return error(fmt::format("{} is missing: build or install it, or set {}", beside, variable));
}

}  // namespace fb
