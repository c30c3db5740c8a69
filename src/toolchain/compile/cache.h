#pragma once

// Compiler output, cached by content. Many processes may use one folder: entries are written whole and renamed into
// place, and an entry with a wrong checksum counts as missing.

#include <optional>
#include <string>
#include <string_view>

namespace fb::toolchain {

class Cache {
 public:
  // Without a folder: keeps nothing.
  Cache() = default;
  explicit Cache(std::string folder) : folder_(std::move(folder)) {}
  // $FABRICBENCH_CACHE, $XDG_CACHE_HOME/fabricbench or ~/.cache/fabricbench, else a folder in /tmp that only this user
  // can enter. If none can be used, the cache keeps nothing.
  static Cache of_user();
  // The folder that of_user() takes if it can be used.
  static std::string preferred_folder();

  bool keeps() const { return !folder_.empty(); }
  const std::string& folder() const { return folder_; }

  std::optional<std::string> get(const std::string& key) const;
  // An entry that cannot be written is dropped; problem() returns the first reason.
  void put(const std::string& key, std::string_view content);
  const std::string& problem() const { return problem_; }

  // The path of an entry that another program reads (a precompiled header); valid once the entry is complete.
  std::string path_of(const std::string& key) const;
  // Removes entries that were not used for 30 days, at most once a day.
  void trim() const;

 private:
  std::string folder_;
  std::string problem_;
};

// Writes a file that compilers read by its path, unless it is there: the first process writes it, and its time stays,
// since clang refuses a precompiled header that was made of a file with another time.
void write_once(const std::string& path, const std::string& text);

}  // namespace fb::toolchain
