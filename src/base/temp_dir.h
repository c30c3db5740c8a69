#pragma once

#include <string>

namespace fb {

// A new folder that only this user can read, removed with its contents at the end of this object's life.
class TempDir {
 public:
  // Throws std::system_error.
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace fb
