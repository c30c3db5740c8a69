#include "toolchain/compile/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "common/base/checksum.h"
#include "common/base/installed.h"
#include "common/base/strings.h"

namespace fb::toolchain {
namespace {

namespace fs = std::filesystem;

// Creates the folder if it is missing; true if it belongs to this user and can be written.
bool make_private(const fs::path& folder) {
  std::error_code failed;
  if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), failed);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return false;
  struct stat facts{};
  if (lstat(folder.c_str(), &facts) != 0) return false;
  return S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() && access(folder.c_str(), W_OK) == 0;
}

// Writes a file beside `path`, which `place` then puts there.
template <class Place>
void write_beside(const std::string& path, std::string_view content, Place place) {
  static std::atomic<unsigned> count = 0;
  const std::string temporary = fmt::format("{}.{}.{}", path, getpid(), count++);
  try {
    write_file(temporary, content);
    place(temporary);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
}

void write_and_rename(const std::string& path, std::string_view content) {
  write_beside(path, content, [&](const std::string& temporary) { fs::rename(temporary, path); });
}

}  // namespace

namespace {

// By preference.
std::vector<fs::path> folders_of_user() {
  std::vector<fs::path> folders;
  if (const auto chosen = environment("FABRICBENCH_CACHE"); !chosen.empty()) {
    folders.push_back(fs::absolute(chosen));
  } else {
    const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
    if (cache.starts_with('/')) {
      folders.push_back(fs::path(cache) / "fabricbench");
    } else if (home.starts_with('/')) {
      folders.push_back(fs::path(home) / ".cache/fabricbench");
    }
    folders.emplace_back(fmt::format("/tmp/fabricbench-cache-{}", geteuid()));
  }
  return folders;
}

}  // namespace

std::string Cache::preferred_folder() { return folders_of_user().front().string(); }

Cache Cache::of_user() {
  for (const auto& folder : folders_of_user()) {
    if (make_private(folder)) return Cache(folder.string());
  }
  return Cache();
}

std::string Cache::path_of(const std::string& key) const { return folder_ + "/" + key; }

std::optional<std::string> Cache::get(const std::string& key) const {
  if (!keeps()) return std::nullopt;
  const std::string path = path_of(key);
  if (access(path.c_str(), R_OK) != 0) return std::nullopt;
  std::string entry;
  try {
    entry = read_file(path);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
  if (entry.size() < kChecksumLength ||
      checksum(std::string_view(entry).substr(kChecksumLength)) != entry.substr(0, kChecksumLength)) {
    unlink(path.c_str());
    return std::nullopt;
  }
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now: trim() keeps it
  return entry.substr(kChecksumLength);
}

void Cache::put(const std::string& key, std::string_view content) {
  if (!keeps()) return;
  try {
    write_and_rename(path_of(key), checksum(content) + std::string(content));
  } catch (const std::system_error& e) {
    if (problem_.empty()) problem_ = e.what();
  }
}

void Cache::trim() const {
  if (!keeps()) return;
  using namespace std::chrono_literals;
  std::error_code failed;
  const auto now = fs::file_time_type::clock::now();
  const fs::path stamp = fs::path(folder_) / "trimmed";
  if (const auto last = fs::last_write_time(stamp, failed); !failed && now - last < 24h) return;
  for (const auto& entry : fs::directory_iterator(folder_, failed)) {
    std::error_code ignored;
    if (entry.is_regular_file(ignored) && now - entry.last_write_time(ignored) > 30 * 24h) fs::remove(entry, ignored);
  }
  try {
    write_file(stamp.string(), "");
  } catch (const std::system_error&) {
    return;  // a full disk: trimmed again next time
  }
}

void write_once(const std::string& path, const std::string& text) {
  if (access(path.c_str(), R_OK) == 0) return;
  write_beside(path, text, [&](const std::string& temporary) {
    const int linked = link(temporary.c_str(), path.c_str());
    const int why = errno;
    unlink(temporary.c_str());
    if (linked != 0 && why != EEXIST) throw std::system_error(why, std::generic_category(), "cannot write " + path);
  });
}

}  // namespace fb::toolchain
