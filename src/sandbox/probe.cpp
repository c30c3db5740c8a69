#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/installed.h"
#include "base/numbers.h"
#include "base/strings.h"
#include "sandbox/sandbox.h"

namespace fb::sandbox {
namespace {

namespace fs = std::filesystem;

struct Answer {
  bool good = false;
  std::string said;
};

std::string find_in_path(std::string_view name) {
  const char* path = std::getenv("PATH");
  for (const auto folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    const fs::path candidate = fs::path(folder) / name;
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored) && access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return "";
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 1024> buffer;
  ssize_t got = 0;
  while ((got = read(fd, buffer.data(), buffer.size())) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
  }
  return text;
}

// Runs a command to its end.
Answer run(const std::vector<std::string>& command) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int status = posix_spawn(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  Answer answer{.said = status == 0 ? read_all(ends[0]) : std::generic_category().message(status)};
  close(ends[0]);
  int ending = 0;
  if (status == 0 && waitpid(child, &ending, 0) == child) answer.good = WIFEXITED(ending) && WEXITSTATUS(ending) == 0;
  return answer;
}

// A number in a file of /proc/sys; `missing` where there is no such file.
int setting(const std::string& name, int missing) {
  const std::string path = "/proc/sys/" + name;
  if (access(path.c_str(), R_OK) != 0) return missing;
  return leading_number(read_file(path), missing);
}

// What an administrator must change.
std::string remedy() {
  if (setting("user/max_user_namespaces", 1) == 0) {
    return "user namespaces are off: sysctl -w user.max_user_namespaces=10000";
  }
  if (setting("kernel/unprivileged_userns_clone", 1) == 0) {
    return "user namespaces are for root alone: sysctl -w kernel.unprivileged_userns_clone=1";
  }
  if (setting("kernel/apparmor_restrict_unprivileged_userns", 0) != 0) {
    return "AppArmor restricts user namespaces: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
  }
  return "in a container, it must be allowed to make namespaces and mounts (docker run --security-opt "
         "seccomp=unconfined "
         "--security-opt apparmor=unconfined --security-opt systempaths=unconfined --cap-add SYS_ADMIN)";
}

Result<Ability> find_out() {
  Ability ability{.bubblewrap = find_in_path("bwrap"), .root = geteuid() == 0, .user_namespaces = true};
  if (ability.bubblewrap.empty()) {
    return error("there is no sandbox: bwrap was not found in PATH: install it (apt install bubblewrap)");
  }
  const auto attempt = [&] { return run(wrap(ability, {}, {"/bin/true"})); };
  const Answer answer = attempt();
  if (answer.good) return ability;
  if (ability.root) {
    ability.user_namespaces = false;
    if (attempt().good) return ability;
  }
  return error(
      fmt::format("there is no sandbox: {} can't make one ({}); {}", ability.bubblewrap, trim(answer.said), remedy()));
}

}  // namespace

Result<std::string> find_confine() { return locate_program("FABRICBENCH_CONFINE", "fabricbench-confine"); }

Result<Ability> probe() {
  static const Result<Ability> known = find_out();
  return known;
}

}  // namespace fb::sandbox
