#include "campaign/background_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "common/base/strings.h"

namespace fb::campaign {
namespace {

// Memory rather than a pipe: the output need not be read while the command runs.
UniqueFd memory_file() {
  UniqueFd file(memfd_create("output", MFD_CLOEXEC));
  if (!file) throw std::system_error(errno, std::generic_category(), "memfd_create");
  return file;
}

std::string content(const UniqueFd& file) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

}  // namespace

std::string describe_failure(const std::string& name, const ProcessResult& result) {
  std::string said;
  for (const auto line : split(result.errors.empty() ? result.output : result.errors, '\n')) {
    if (!trim(line).empty()) said += (said.empty() ? "" : "; ") + std::string(trim(line));
  }
  constexpr size_t kLongest = 600;
  if (said.size() > kLongest) said = said.substr(0, kLongest) + "…";
  if (result.timed_out) return fmt::format("{} did not end in time{}{}", name, said.empty() ? "" : ": ", said);
  return fmt::format("{} failed with exit code {}{}{}", name, result.exit_code, said.empty() ? "" : ": ", said);
}

BackgroundCommand::BackgroundCommand(const std::vector<std::string>& command,
                                     const std::vector<std::string>& environment, std::chrono::milliseconds time_limit)
    : output_(memory_file()),
      errors_(memory_file()),
      child_(spawn({.command = command, .environment = environment, .out = output_.get(), .err = errors_.get()})),
      deadline_(Clock::now() + time_limit) {}

ProcessResult BackgroundCommand::reap() {
  return {.exit_code = exit_code_of(child_.reap()), .output = content(output_), .errors = content(errors_)};
}

std::optional<ProcessResult> BackgroundCommand::poll() {
  pollfd watched{descriptor(), POLLIN, 0};
  if (::poll(&watched, 1, 0) > 0) return reap();
  if (Clock::now() < deadline_) return std::nullopt;
  child_.kill_group();
  ProcessResult result = reap();
  result.timed_out = true;
  return result;
}

ProcessResult BackgroundCommand::wait() {
  while (true) {
    if (auto result = poll()) return *std::move(result);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    pollfd watched{descriptor(), POLLIN, 0};
    ::poll(&watched, 1, static_cast<int>(std::max<int64_t>(left, 0)));
  }
}

}  // namespace fb::campaign
