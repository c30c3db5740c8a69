#include "campaign/background_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "base/strings.h"

namespace fb::campaign {
namespace {

using launcher::Descriptor;

// Memory rather than a pipe: a command that says much need not be listened to while it runs.
Descriptor memory_file() {
  Descriptor file(memfd_create("output", MFD_CLOEXEC));
  if (!file) throw std::system_error(errno, std::generic_category(), "memfd_create");
  return file;
}

std::string content(const Descriptor& file) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

launcher::Process start(const std::vector<std::string>& command, const std::vector<std::string>& environment, int out,
                        int err) {
  return launcher::start_process({.command = command, .environment = environment, .out = out, .err = err});
}

}  // namespace

std::string describe_failure(const std::string& name, const CommandEnd& end) {
  std::string said;
  for (const auto line : split(end.errors.empty() ? end.output : end.errors, '\n')) {
    if (!trim(line).empty()) said += (said.empty() ? "" : "; ") + std::string(trim(line));
  }
  constexpr size_t kLongest = 600;
  if (said.size() > kLongest) said = said.substr(0, kLongest) + "…";
  if (end.timed_out) return fmt::format("{} did not end in time{}{}", name, said.empty() ? "" : ": ", said);
  return fmt::format("{} failed with exit code {}{}{}", name, end.exit_code, said.empty() ? "" : ": ", said);
}

BackgroundCommand::BackgroundCommand(const std::vector<std::string>& command,
                                     const std::vector<std::string>& environment, std::chrono::milliseconds time_limit)
    : output_(memory_file()),
      errors_(memory_file()),
      process_(start(command, environment, output_.get(), errors_.get())),
      deadline_(Clock::now() + time_limit) {}

BackgroundCommand::~BackgroundCommand() {
  if (process_.id == 0) return;
  kill(-process_.id, SIGKILL);
  waitpid(process_.id, nullptr, 0);
}

CommandEnd BackgroundCommand::reap() {
  int status = 0;
  while (waitpid(process_.id, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  process_.id = 0;
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .output = content(output_),
          .errors = content(errors_)};
}

std::optional<CommandEnd> BackgroundCommand::poll() {
  pollfd watched{descriptor(), POLLIN, 0};
  if (::poll(&watched, 1, 0) > 0) return reap();
  if (Clock::now() < deadline_) return std::nullopt;
  kill(-process_.id, SIGKILL);
  CommandEnd end = reap();
  end.timed_out = true;
  return end;
}

CommandEnd BackgroundCommand::wait() {
  while (true) {
    if (auto end = poll()) return *std::move(end);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    pollfd watched{descriptor(), POLLIN, 0};
    ::poll(&watched, 1, static_cast<int>(std::max<int64_t>(left, 0)));
  }
}

}  // namespace fb::campaign
