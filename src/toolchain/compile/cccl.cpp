#include "toolchain/compile/cccl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "common/base/content_hash.h"
#include "common/base/numbers.h"
#include "common/base/strings.h"
#include "toolchain/compile/cache.h"
#include "toolchain/compile/words.h"
#include "toolchain/source/asm_escapes.h"
#include "toolchain/source/source_overlay.h"
#include "toolchain/source/user_files.h"

namespace fb::toolchain {
namespace {

// Headers that the SDK has only to include libcu++'s.
constexpr std::array<std::string_view, 2> kOnlyWhole = {"cuda/std/complex", "cuda/std/functional"};
constexpr std::string_view kSystemFolder = "/usr/include";

// Where a part of CCCL states its version, and what the parts of the macro's number are multiplied by.
struct VersionFile {
  std::string_view part, package, path, macro;
  uint32_t major, minor;
};
constexpr std::array<VersionFile, 4> kVersionFiles = {{
    {"cub", "libcub-dev", "/cub/version.cuh", "CUB_VERSION", 100'000, 100},
    {"thrust", "libthrust-dev", "/thrust/version.h", "THRUST_VERSION", 100'000, 100},
    {"libcu++", "libcu++-dev", "/cuda/std/detail/__config", "_LIBCUDACXX_CUDA_API_VERSION", 1'000'000, 1'000},
    {"libcu++", "libcu++-dev", "/cuda/std/__cccl/version.h", "CCCL_VERSION", 1'000'000, 1'000},
}};

std::string root_of(const std::string& folder) { return folder.empty() ? std::string(kSystemFolder) : folder; }

// "1.17.2"; empty where the file does not state it in the expected way.
std::string version_in(const std::string& text, const VersionFile& file) {
  for (const auto line : split(text, '\n')) {
    const std::string begin = fmt::format("#define {} ", file.macro);
    if (!line.starts_with(begin)) continue;
    if (const auto number = leading_number<uint32_t>(trim(line.substr(begin.size()))); number != 0) {
      return fmt::format("{}.{}.{}", number / file.major, number % file.major / file.minor, number % file.minor);
    }
  }
  return "";
}

// Whether the user's files name a header of libcu++ that the SDK does not have.
bool needs_whole_libcudacxx(const DeviceCompile& unit, const std::string& sdk) {
  return std::ranges::any_of(find_user_files(unit.source, unit.include_dirs).other_includes, [&](const auto& name) {
    if (!name.starts_with("cuda/")) return false;
    return std::ranges::find(kOnlyWhole, name) != kOnlyWhole.end() ||
           access(fmt::format("{}/include/{}", sdk, name).c_str(), R_OK) != 0;
  });
}

// Headers of CCCL with asm that nvcc takes and clang does not (asm_escapes.h): their changed text is written to
// `folder` and read in their place.
void replace_asm(DeviceCompile& unit, const std::string& folder) {
  namespace fs = std::filesystem;
  const std::string root = unit.cccl.empty() ? std::string(kSystemFolder) : unit.cccl;
  std::vector<Replacement> replacements;
  std::vector<std::string> files;
  for (const auto* part : {"/cuda", "/cuda/std"}) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(root + part, missing)) {
      if (entry.is_regular_file(missing)) files.push_back(entry.path().string());
    }
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    const std::string text = read_file(file);
    if (text.find("asm") == std::string::npos) continue;
    const std::string accepted = escape_asm(text);
    if (accepted == text) continue;
    const std::string changed = fmt::format("{}/cccl-{}.h", folder, hash_bytes(accepted));
    write_once(changed, accepted);
    unit.reads.push_back(changed);
    replacements.push_back({file, changed});
  }
  if (replacements.empty()) return;
  const std::string text = overlay_text(replacements);
  const std::string path = fmt::format("{}/cccl-{}.yaml", folder, hash_bytes(text));
  write_once(path, text);
  unit.reads.push_back(path);
  add(unit.extra_flags, {"-ivfsoverlay", path});
}

}  // namespace

bool is_of_cccl(std::string_view header) {
  return std::ranges::any_of(std::array<std::string_view, 4>{"cub/", "thrust/", "cuda/", "nv/"},
                             [&](std::string_view folder) { return header.starts_with(folder); });
}

bool sets_up_cccl(const DeviceCompile& unit) {
  constexpr std::array<std::string_view, 5> kMacros = {"THRUST_", "CUB_", "LIBCUDACXX_", "_LIBCUDACXX_", "CCCL_"};
  const auto is_macro = [&](std::string_view name) {
    return std::ranges::any_of(kMacros, [&](std::string_view prefix) { return name.starts_with(prefix); });
  };
  if (std::ranges::any_of(unit.defines, is_macro)) return true;
  for (const auto& file : find_user_files(unit.source, unit.include_dirs).files) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored)) continue;
    const std::string text = read_file(file.string());
    for (const auto line : split(text, '\n')) {
      const std::string_view code = trim(line);
      if (!code.starts_with('#')) continue;
      const std::string_view directive = trim(code.substr(1));
      if (directive.starts_with("define") && is_macro(trim(directive.substr(sizeof "define" - 1)))) return true;
    }
  }
  return false;
}

void choose_cccl(DeviceCompile& unit, const std::string& sdk, const std::string& folder) {
  unit.whole_libcudacxx = needs_whole_libcudacxx(unit, sdk);
  if (unit.whole_libcudacxx || !unit.cccl.empty()) replace_asm(unit, folder);
}

std::vector<CcclPart> cccl_parts(const std::string& folder) {
  std::vector<CcclPart> parts;
  for (const VersionFile& file : kVersionFiles) {
    if (parts.empty() || parts.back().name != file.part)
      parts.push_back({std::string(file.part), std::string(file.package), {}});
    const std::string path = root_of(folder) + std::string(file.path);
    std::error_code missing;
    if (!std::filesystem::is_regular_file(path, missing)) continue;
    if (auto version = version_in(read_file(path), file); !version.empty()) parts.back().version = std::move(version);
  }
  return parts;
}

std::string cccl_facts(const std::string& folder) {
  std::string facts = folder;
  for (const VersionFile& file : kVersionFiles) {
    const std::string path = root_of(folder) + std::string(file.path);
    std::error_code missing;
    if (std::filesystem::is_regular_file(path, missing)) facts += hash_bytes(read_file(path));
  }
  return facts;
}

}  // namespace fb::toolchain
