#pragma once

// What the compiler made, kept by content. Many processes may use one folder: entries are written whole and renamed
// into place, and one that is not what its checksum says counts as missing.

#include <optional>
#include <string>
#include <string_view>

namespace fb::toolchain {

class Cache {
 public:
  // No folder: nothing is kept and nothing found.
  Cache() = default;
  explicit Cache(std::string folder) : folder_(std::move(folder)) {}
  // $FABRICBENCH_CACHE, $XDG_CACHE_HOME/fabricbench or ~/.cache/fabricbench, else a folder in /tmp that only this user
  // can enter. Without any of them, a cache that keeps nothing.
  static Cache of_user();

  bool keeps() const { return !folder_.empty(); }
  const std::string& folder() const { return folder_; }

  std::optional<std::string> get(const std::string& key) const;
  // An entry that cannot be written is not kept; the first reason is kept for `problem`.
  void put(const std::string& key, std::string_view content);
  const std::string& problem() const { return problem_; }

  // Where a program reads its file by itself (a precompiled header): the path, once the entry is whole.
  std::string path_of(const std::string& key) const;
  // Removes entries that were not used for 30 days, at most once a day.
  void trim() const;

 private:
  std::string folder_;
  std::string problem_;
};

}  // namespace fb::toolchain
