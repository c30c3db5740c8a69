#pragma once

#include <string>

namespace fb::launcher {

// A folder for one run: its socket, its program. Only this user can enter it. Removed at the end; should this process
// be killed before that, the next run removes it.
class RunDirectory {
 public:
  RunDirectory();
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  int lock_ = -1;  // held as long as the folder is in use
};

}  // namespace fb::launcher
