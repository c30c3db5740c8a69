#include "launcher/run_directory.h"

#include <filesystem>
#include <system_error>

namespace fb::launcher {
namespace {

namespace fs = std::filesystem;

// The path of a Unix socket has 107 bytes at most; a long $TMPDIR leaves too few.
std::string parent_folder() {
  std::error_code failed;
  const fs::path chosen = fs::temp_directory_path(failed);
  return failed || chosen.string().size() > 60 ? "/tmp" : chosen.string();
}

}  // namespace

RunDirectory::RunDirectory() : folder_(parent_folder()) {}

}  // namespace fb::launcher
