#pragma once

#include <string>

#include "common/base/temp_dir.h"

namespace fb::launcher {

// A folder for one run: its socket, its program.
class RunDirectory {
 public:
  RunDirectory();

  const std::string& path() const { return folder_.path(); }
  std::string file(const std::string& name) const { return path() + "/" + name; }

 private:
  TempDir folder_;
};

}  // namespace fb::launcher
