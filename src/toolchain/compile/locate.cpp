#include "toolchain/compile/locate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "common/base/installed.h"
#include "common/base/strings.h"

namespace fb::toolchain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompiler = "clang++-19";

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

Result<std::string> find_compiler() {
  const std::string chosen = environment("FABRICBENCH_CLANG");
  const std::string name = chosen.empty() ? std::string(kCompiler) : chosen;
  if (auto found = find_program(name); !found.empty()) return found;
  if (!chosen.empty()) return error(fmt::format("FABRICBENCH_CLANG names no program: {}", chosen));
  return error(fmt::format("{} not found in PATH: install it (apt install clang-19), or set FABRICBENCH_CLANG", name));
}

namespace {

Result<std::string> find_sdk() {
  return fb::locate({.variable = "FABRICBENCH_SDK",
                     .name = "sdk",
                     .source = FB_SOURCE_SDK,
                     .sign = "include/cuda_runtime.h",
                     .kind = "SDK",
                     .them = "the SDK's headers"});
}

}  // namespace

Result<Locations> locate(DeviceCompiler device) {
  auto compiler = find_compiler();
  if (!compiler) return std::unexpected(compiler.error());
  auto sdk = find_sdk();
  if (!sdk) return std::unexpected(sdk.error());
  Locations where{std::move(*compiler), std::move(*sdk)};
  if (device == DeviceCompiler::clang) return where;
  auto nvcc = locate_nvcc();
  if (!nvcc) return std::unexpected(std::move(nvcc.error()));
  where.nvcc = std::move(*nvcc);
  return where;
}

namespace {

// nvcc as the Python packages of NVIDIA install it; the newest of several.
std::string nvcc_of_environment() {
  const std::string root = environment("VIRTUAL_ENV");
  std::string newest;
  std::error_code failed;
  for (const auto& python : fs::directory_iterator(root.empty() ? "" : root + "/lib", failed)) {
    const fs::path packages = python.path() / "site-packages/nvidia";
    for (const auto& toolkit : fs::directory_iterator(packages, failed)) {
      const std::string found = (toolkit.path() / "bin/nvcc").string();
      if (toolkit.path().filename().string().starts_with("cu") && is_program(found)) newest = std::max(newest, found);
    }
  }
  return newest;
}

}  // namespace

Result<std::string> locate_nvcc() {
  if (const std::string chosen = environment("FABRICBENCH_CUDA"); !chosen.empty()) {
    for (const std::string& name : {chosen + "/bin/nvcc", chosen}) {
      if (is_program(name)) return fs::canonical(name).string();
    }
    return error(fmt::format("FABRICBENCH_CUDA names no CUDA toolkit (a folder with bin/nvcc): {}", chosen));
  }
  for (const std::string& name :
       {std::string("nvcc"), std::string("/usr/local/cuda/bin/nvcc"), nvcc_of_environment()}) {
    const std::string found = name.empty() ? "" : find_program(name);
    // Our driver may be called nvcc for the sake of build systems.
    if (!found.empty() && fs::canonical(found) != fs::path(own_program())) return fs::canonical(found).string();
  }
  return error(
      "nvcc was not found in FABRICBENCH_CUDA, PATH, /usr/local/cuda/bin or the active virtual environment: install "
      "NVIDIA's CUDA toolkit, or, in a virtual environment of Python, pip install nvidia-cuda-nvcc "
      "nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl nvidia-nvvm");
}

std::string locate_toolkit() {
  const std::string chosen = environment("FABRICBENCH_TOOLKIT");
  return fs::path(chosen.empty() ? beside_program("../lib/fabricbench/toolkit") : chosen).lexically_normal().string();
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
  std::string folder = beside_program("../lib/fabricbench");
  if (holds(folder)) return folder;
  return error(
      fmt::format("libcudart.so and libcuda.so are not in {}: build or install them, or set FABRICBENCH_LIB", folder));
}

}  // namespace fb::toolchain
