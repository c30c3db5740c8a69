#include "common/base/temp_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace fb {
namespace {

namespace fs = std::filesystem;

// A folder gets its name when it is locked: one that has the name and no lock has no owner.
constexpr std::string_view kName = "fabricbench-tmp.", kUnlocked = ".fabricbench-new.";
constexpr std::string_view kUnique = "XXXXXX";
// An unlocked folder that is older was left by a process that was killed before it could lock it.
constexpr time_t kLongestBirth = 60;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

UniqueFd open_folder(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool try_lock(const UniqueFd& folder) { return folder && flock(folder.get(), LOCK_EX | LOCK_NB) == 0; }

bool has_no_owner(const UniqueFd& folder, bool named) {
  struct stat facts{};
  if (!folder || fstat(folder.get(), &facts) != 0 || facts.st_uid != geteuid()) return false;
  if (!named && facts.st_mtime > time(nullptr) - kLongestBirth) return false;
  return try_lock(folder);
}

// Of this user; another's are neither looked into nor removed.
void remove_left_over(const fs::path& parent) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(parent, failed)) {
    const std::string name = entry.path().filename();
    const bool named = name.starts_with(kName);
    if (!named && !name.starts_with(kUnlocked)) continue;
    const UniqueFd folder = open_folder(entry.path());
    if (!has_no_owner(folder, named)) continue;
    std::error_code ignored;
    fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

TempDir::TempDir() : TempDir(fs::temp_directory_path().string()) {}

TempDir::TempDir(const std::string& parent) {
  remove_left_over(parent);
  for (;;) {
    std::string fresh = (fs::path(parent) / (std::string(kUnlocked) + std::string(kUnique))).string();
    if (mkdtemp(fresh.data()) == nullptr) fail("cannot create a temporary folder like " + fresh);
    lock_ = open_folder(fresh);
    // A file system without locks on folders gives none to the process that would remove this one either.
    if (!lock_) fail("cannot open " + fresh);
    [[maybe_unused]] const bool locked = try_lock(lock_);
    path_ = (fs::path(parent) / (std::string(kName) + fresh.substr(fresh.size() - kUnique.size()))).string();
    if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) return;
    const int why = errno;
    fs::remove(fresh);
    errno = why;
    if (why != EEXIST) fail("cannot create " + path_);
  }
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace fb
