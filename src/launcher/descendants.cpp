#include "launcher/descendants.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "common/base/numbers.h"

namespace fb::launcher {
namespace {

// The parent of a process; 0 where it has gone. "pid (name) state ppid …", and the name may hold anything.
pid_t parent_of(std::string_view id) {
  std::ifstream in("/proc/" + std::string(id) + "/stat");
  std::string line;
  if (!std::getline(in, line, '\0')) return 0;
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= line.size()) return 0;
  return leading_number<pid_t>(std::string_view(line).substr(name_end + 4));
}

// The kernel knows without a look at every process.
bool has_children() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

std::set<pid_t> children() {
  std::set<pid_t> found;
  if (!has_children()) return found;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    const auto id = as_number<pid_t>(name);
    if (id && parent_of(name) == getpid()) found.insert(*id);
  }
  closedir(folder);
  return found;
}

// "time on a processor, time waiting for one, …" in nanoseconds; of a process: of its first thread.
struct Scheduled {
  std::chrono::nanoseconds ran{}, waited{};
};

Scheduled read_scheduled(const std::string& folder) {
  std::ifstream in(folder + "/schedstat");
  int64_t running = 0, waiting = 0;
  if (!(in >> running >> waiting)) return {};
  return {std::chrono::nanoseconds(running), std::chrono::nanoseconds(waiting)};
}

std::chrono::nanoseconds read_busy_time(const std::string& folder) {
  const Scheduled s = read_scheduled(folder);
  return s.ran + s.waited;
}

}  // namespace

std::chrono::nanoseconds busy_time(pid_t process) {
  const std::string id = std::to_string(process);
  std::chrono::nanoseconds time = read_busy_time("/proc/" + id);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  for (pid_t child = 0; children >> child;) time += busy_time(child);
  return time;
}

std::chrono::nanoseconds delay_of(pid_t process) { return read_scheduled("/proc/" + std::to_string(process)).waited; }

std::chrono::nanoseconds own_busy_time() {
  std::chrono::nanoseconds time{};
  std::error_code failed;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", failed))
    time += read_busy_time(thread.path().string());
  return time;
}

Descendants::Descendants() : before_(children()) {
  prctl(PR_GET_CHILD_SUBREAPER, &adopted_before_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Descendants::~Descendants() {
  end_all();
  prctl(PR_SET_CHILD_SUBREAPER, adopted_before_);
}

void Descendants::end_all() const {
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    bool any = false;
    for (const pid_t child : children()) {
      if (before_.contains(child)) continue;
      any = true;
      kill(child, SIGKILL);
      if (waitpid(child, nullptr, WNOHANG) == 0) usleep(1000);
    }
    if (!any) return;
  }
}

}  // namespace fb::launcher
