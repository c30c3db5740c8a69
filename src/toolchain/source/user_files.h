#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace fb::toolchain {

struct UserFiles {
  // The source first, then the files it includes from its own folder and from `include_dirs`, named as clang names
  // them.
  std::vector<std::filesystem::path> files;
  std::set<std::string> other_includes;  // headers that are not the user's: "vector", "cuda/atomic"
};

// From the text of all #include lines, active or not.
UserFiles find_user_files(const std::string& source, const std::vector<std::string>& include_dirs);

}  // namespace fb::toolchain
