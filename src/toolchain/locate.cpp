#include "toolchain/locate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/strings.h"

namespace fb::toolchain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompiler = "clang++-19";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const std::string path = environment("PATH");
  for (const auto folder : split(path, ':')) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (is_program(candidate)) return candidate.string();
  }
  return "";
}

namespace {

Result<std::string> find_compiler() {
  const std::string chosen = environment("FABRICBENCH_CLANG");
  const std::string name = chosen.empty() ? std::string(kCompiler) : chosen;
  if (auto found = find_program(name); !found.empty()) return found;
  if (!chosen.empty()) return error(fmt::format("FABRICBENCH_CLANG names no program: {}", chosen));
  return error(fmt::format("{} not found in PATH: install it (apt install clang-19), or set FABRICBENCH_CLANG", name));
}

bool is_sdk(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "include/cuda_runtime.h", ignored);
}

Result<std::string> find_sdk() {
  if (std::string chosen = environment("FABRICBENCH_SDK"); !chosen.empty()) {
    if (is_sdk(chosen)) return chosen;
    return error(fmt::format("FABRICBENCH_SDK names no SDK: {}/include/cuda_runtime.h is missing", chosen));
  }
  std::error_code ignored;
  const fs::path installed = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "../share/fabricbench/sdk";
  for (const fs::path& folder : {installed.lexically_normal(), fs::path(FB_SOURCE_SDK)}) {
    if (is_sdk(folder)) return folder.string();
  }
  return error(fmt::format("the SDK was found neither in {} nor in {}: set FABRICBENCH_SDK",
                           installed.lexically_normal().string(), FB_SOURCE_SDK));
}

}  // namespace

Result<Locations> locate() {
  auto compiler = find_compiler();
  if (!compiler) return std::unexpected(compiler.error());
  auto sdk = find_sdk();
  if (!sdk) return std::unexpected(sdk.error());
  return Locations{std::move(*compiler), std::move(*sdk)};
}

Result<std::string> locate_libraries() {
  const auto holds = [](const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / "libcudart.so", ignored) && fs::exists(folder / "libcuda.so", ignored);
  };
  if (std::string chosen = environment("FABRICBENCH_LIB"); !chosen.empty()) {
    if (holds(chosen)) return fs::absolute(chosen).lexically_normal().string();
    return error(fmt::format("FABRICBENCH_LIB names no folder with libcudart.so and libcuda.so: {}", chosen));
  }
  std::error_code ignored;
  const fs::path folder = (fs::read_symlink("/proc/self/exe", ignored).parent_path() / "../lib").lexically_normal();
  if (holds(folder)) return folder.string();
  return error(fmt::format("libcudart.so and libcuda.so are not in {}: build or install them, or set FABRICBENCH_LIB",
                           folder.string()));
}

}  // namespace fb::toolchain
