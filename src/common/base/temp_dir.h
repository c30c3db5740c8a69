#pragma once

#include <string>

#include "common/base/unique_fd.h"

namespace fb {

// A new folder that only this user can read, removed with its contents at the end of this object's life. Its owner
// holds a lock on it, so that a folder whose owner was killed is recognised and removed when the next one is made.
class TempDir {
 public:
  // Throws std::system_error.
  TempDir();
  explicit TempDir(const std::string& parent);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  UniqueFd lock_;  // of this process and of those that it forks
};

}  // namespace fb
