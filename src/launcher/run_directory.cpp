#include "launcher/run_directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace fb::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "fabricbench-run.";
// A folder younger than this may not be locked yet.
constexpr time_t kSafeAge = 60;

// The path of a Unix socket has 107 bytes at most; a long $TMPDIR leaves too few.
fs::path parent_folder() {
  std::error_code failed;
  const fs::path chosen = fs::temp_directory_path(failed);
  return failed || chosen.string().size() > 60 ? fs::path("/tmp") : chosen;
}

// Folders of this user's runs with no process left: their lock is free.
void remove_left_over(const fs::path& parent) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(parent, failed)) {
    if (!entry.path().filename().string().starts_with(kName)) continue;
    struct stat facts{};
    if (lstat(entry.path().c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid()) continue;
    if (facts.st_mtime > time(nullptr) - kSafeAge) continue;
    const int lock = open((entry.path() / "lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
      close(lock);
      continue;
    }
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
    if (lock >= 0) close(lock);
  }
}

}  // namespace

RunDirectory::RunDirectory() {
  const fs::path parent = parent_folder();
  remove_left_over(parent);
  path_ = (parent / (std::string(kName) + "XXXXXX")).string();
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot create a folder like " + path_);
  }
  lock_ = open(file("lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (lock_ < 0) throw std::system_error(errno, std::generic_category(), "cannot write " + file("lock"));
  flock(lock_, LOCK_EX | LOCK_NB);
}

RunDirectory::~RunDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(lock_);
}

}  // namespace fb::launcher
