#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace fb::toolchain {

struct UserFiles {
  // The source first, then what it includes from its own folder and from `include_dirs`, under the names that clang
  // gives them.
  std::vector<std::filesystem::path> files;
  std::set<std::string> other_includes;  // what is not the user's: "vector", "cuda/atomic"
};

// By the text of #include lines, whether they are active or not.
UserFiles find_user_files(const std::string& source, const std::vector<std::string>& include_dirs);

}  // namespace fb::toolchain
