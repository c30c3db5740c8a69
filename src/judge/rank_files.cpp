#include "judge/rank_files.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <filesystem>

namespace fb::judge {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSystem = "/fabricbench/system";
constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";

// Libraries that our programs need, and that a candidate may be linked with (forbidden_symbols.def).
constexpr auto kLibraries =
    std::to_array<const char*>({"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libpthread.so.0",
                                "librt.so.1", "libdl.so.2", "libseccomp.so.2", "libfmt.so.9"});

// The file that the loader takes for this name; empty: there is none.
std::string library_file(const char* name) {
  void* const library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return {};
  link_map* map = nullptr;
  std::error_code failed;
  const std::string found = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? fs::canonical(map->l_name, failed) : "";
  dlclose(library);
  return found;
}

const std::vector<std::pair<std::string, std::string>>& system_libraries() {
  static const auto* const all = [] {
    auto* const found = new std::vector<std::pair<std::string, std::string>>;  // name inside and file
    for (const char* name : kLibraries) {
      if (const std::string file = library_file(name); !file.empty())
        found->emplace_back(std::string(kSystem) + "/" + name, file);
    }
    found->emplace_back(kLoader, fs::canonical(kLoader).string());
    return found;
  }();
  return *all;
}

}  // namespace

RankFiles copy_rank_files(const std::string& folder, const std::vector<PlacedFile>& program_files) {
  fs::create_directory(folder);
  RankFiles files{.library_path = std::string("/fabricbench/lib:") + kSystem};
  const auto add = [&](const std::string& from, const std::string& inside) {
    const std::string copy = folder + "/" + std::to_string(files.binds.size());
    fs::copy_file(from, copy);
    files.binds.push_back({copy, inside});
  };
  for (const auto& [inside, file] : system_libraries()) add(file, inside);
  for (const auto& [from, inside] : program_files) add(from, inside);
  return files;
}

}  // namespace fb::judge
