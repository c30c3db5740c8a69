#include "toolchain/cccl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/content_hash.h"
#include "base/strings.h"
#include "toolchain/asm_escapes.h"
#include "toolchain/cache.h"
#include "toolchain/source_overlay.h"
#include "toolchain/user_files.h"
#include "toolchain/words.h"

namespace fb::toolchain {
namespace {

// Headers that the SDK has only to include libcu++'s.
constexpr std::array<std::string_view, 2> kOnlyWhole = {"cuda/std/complex", "cuda/std/functional"};
constexpr std::string_view kSystemFolder = "/usr/include";

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

std::string cccl_facts(const std::string& folder) {
  std::string facts = folder;
  const std::string root = folder.empty() ? std::string(kSystemFolder) : folder;
  for (const auto* file :
       {"/cub/version.cuh", "/thrust/version.h", "/cuda/std/detail/__config", "/cuda/std/__cccl/version.h"}) {
    std::error_code missing;
    if (std::filesystem::is_regular_file(root + file, missing)) facts += hash_bytes(read_file(root + file));
  }
  return facts;
}

}  // namespace fb::toolchain
