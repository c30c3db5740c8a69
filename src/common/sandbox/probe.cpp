#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/installed.h"
#include "common/base/numbers.h"
#include "common/base/process.h"
#include "common/base/strings.h"
#include "common/sandbox/sandbox.h"

namespace fb::sandbox {
namespace {

namespace fs = std::filesystem;

struct Trial {
  bool good = false;
  std::string output;
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

// A command that can't be started has failed, too.
Trial try_command(const std::vector<std::string>& command) {
  constexpr std::chrono::minutes kTimeLimit{1};
  try {
    const ProcessResult result = run_command(command, kTimeLimit);
    return {.good = result.succeeded(), .output = result.output};
  } catch (const std::system_error& e) {
    return {.good = false, .output = e.code().message()};
  }
}

// A number in a file of /proc/sys; `missing` if there is no such file.
int setting(const std::string& name, int missing) {
  const std::string path = "/proc/sys/" + name;
  if (access(path.c_str(), R_OK) != 0) return missing;
  return leading_number(read_file(path), missing);
}

// Of this process, and so of all that it starts.
bool has_system_call_filter() { return read_file("/proc/self/status").contains("\nSeccomp:\t2"); }

}  // namespace

std::string what_helps() {
  if (setting("user/max_user_namespaces", 1) == 0) {
    return "user namespaces are off: sysctl -w user.max_user_namespaces=10000";
  }
  if (setting("kernel/unprivileged_userns_clone", 1) == 0) {
    return "user namespaces are for root alone: sysctl -w kernel.unprivileged_userns_clone=1";
  }
  if (setting("kernel/apparmor_restrict_unprivileged_userns", 0) != 0) {
    return "AppArmor restricts user namespaces: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
  }
  constexpr const char* kDocker = "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined";
  return fmt::format("{}: {}",
                     has_system_call_filter()
                         ? "a filter of system calls (seccomp), as Docker sets one, refuses namespaces or mounts"
                         : "in a container, it must be allowed to make namespaces and mounts",
                     kDocker);
}

namespace {

Result<SandboxSupport> no_sandbox(const std::string& why, std::string help) {
  Errors errors("there is no sandbox: " + why);
  errors.list.push_back({{}, std::move(help)});
  return std::unexpected(std::move(errors));
}

Result<SandboxSupport> find_out() {
  SandboxSupport support{.bubblewrap = find_in_path("bwrap"), .root = geteuid() == 0, .user_namespaces = true};
  if (support.bubblewrap.empty()) {
    return no_sandbox("bwrap was not found in PATH", "apt install bubblewrap");
  }
  const auto attempt = [&] { return try_command(wrap(support, {}, {"/bin/true"})); };
  const Trial first = attempt();
  if (first.good) return support;
  if (support.root) {
    support.user_namespaces = false;
    if (attempt().good) return support;
  }
  return no_sandbox(fmt::format("{} can't make one ({})", support.bubblewrap, trim(first.output)), what_helps());
}

}  // namespace

Result<std::string> find_confine() { return locate_program("FABRICBENCH_CONFINE", "fabricbench-confine"); }

Result<SandboxSupport> probe() {
  static const Result<SandboxSupport> known = find_out();
  return known;
}

}  // namespace fb::sandbox
