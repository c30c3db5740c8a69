#include "toolchain/compile/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "common/base/content_hash.h"
#include "common/base/strings.h"
#include "toolchain/compile/cccl.h"

namespace fb::toolchain {

namespace fs = std::filesystem;

std::string file_facts(const std::string& path) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  if (failed) return path;
  return fmt::format("{} {} {}", real.string(), fs::file_size(real, failed),
                     fs::last_write_time(real, failed).time_since_epoch().count());
}

std::string identity_of(const Locations& where) {
  // This program is a part of the pipeline from source to PTX.
  std::vector<std::string> words = {file_facts("/proc/self/exe"), file_facts(where.compiler), where.sdk,
                                    cccl_facts("")};
  if (!where.nvcc.empty()) words.push_back(file_facts(where.nvcc));
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(where.sdk + "/include")) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const auto& file : files) words.insert(words.end(), {file.string(), read_file(file.string())});
  return hash_words(words);
}

}  // namespace fb::toolchain
