#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "campaign/llm/local_providers.h"
#include "common/base/process.h"
#include "common/base/strings.h"

namespace fb::llm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void check_errno(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

// The reader does not block.
Pipe make_output_pipe() {
  Pipe made = make_pipe();
  fcntl(made.reader.get(), F_SETFL, O_NONBLOCK);
  return made;
}

// Standard input as a file in memory: a program that does not read it blocks nothing.
UniqueFd file_with(std::string_view text) {
  UniqueFd file(memfd_create("prompt", MFD_CLOEXEC));
  check_errno(file.get() >= 0, "memfd_create");
  while (!text.empty()) {
    const ssize_t wrote = write(file.get(), text.data(), text.size());
    check_errno(wrote > 0 || errno == EINTR, "write");
    if (wrote > 0) text.remove_prefix(static_cast<size_t>(wrote));
  }
  check_errno(lseek(file.get(), 0, SEEK_SET) == 0, "lseek");
  return file;
}

std::vector<std::string> environment_for(const Request& request) {
  std::vector<std::string> all = {
      "FABRICBENCH_PROBLEM=" + request.problem, fmt::format("FABRICBENCH_SAMPLE={}", request.sample),
      fmt::format("FABRICBENCH_ROUND={}", request.round), "FABRICBENCH_MODEL=" + request.model.label};
  const auto is_ours = [](std::string_view line) {
    constexpr std::array<std::string_view, 4> kOurs = {
        "FABRICBENCH_PROBLEM=", "FABRICBENCH_SAMPLE=", "FABRICBENCH_ROUND=", "FABRICBENCH_MODEL="};
    return std::ranges::any_of(kOurs, [&](std::string_view name) { return line.starts_with(name); });
  };
  for (char** line = environ; *line != nullptr; ++line) {
    if (!is_ours(*line)) all.emplace_back(*line);
  }
  return all;
}

// One of the two outputs of a program.
struct Output {
  UniqueFd pipe;
  std::string text = {};
  bool open = true;
  size_t total = 0;

  // Reads at most what a pipe can hold, so that a program that never stops writing does not block the caller. Keeps at
  // least the last `keep` bytes.
  void read_some(size_t keep) {
    constexpr int kPieces = 32;
    std::array<char, 65536> buffer;
    for (int i = 0; open && i < kPieces; ++i) {
      const ssize_t got = read(pipe.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) open = false;
      if (got <= 0) return;
      total += static_cast<size_t>(got);
      text.append(buffer.data(), static_cast<size_t>(got));
      if (text.size() > 2 * keep) text.erase(0, text.size() - keep);
    }
  }
};

constexpr size_t kErrorTail = 4096;

enum class Ending : uint8_t { exited, timed_out, too_big, cancelled };

Ending wait_for_end(int child, Output& output, Output& errors, const AskOptions& options) {
  const auto deadline = Clock::now() + options.try_timeout;
  while (true) {
    if (options.cancelled && options.cancelled()) return Ending::cancelled;
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left <= milliseconds(0)) return Ending::timed_out;
    std::array<pollfd, 3> watched = {pollfd{child, POLLIN, 0}, pollfd{output.open ? output.pipe.get() : -1, POLLIN, 0},
                                     pollfd{errors.open ? errors.pipe.get() : -1, POLLIN, 0}};
    const int ready = poll(watched.data(), watched.size(), static_cast<int>(std::min(left, milliseconds(200)).count()));
    check_errno(ready >= 0 || errno == EINTR, "poll");
    // What is in the pipes at the end was written before it; a process that the command left running is not waited for.
    output.read_some(options.most_bytes);
    errors.read_some(kErrorTail);
    if (output.total > options.most_bytes) return Ending::too_big;
    if (ready > 0 && watched[0].revents != 0) return Ending::exited;
  }
}

// The end of standard error, in one line.
std::string tail_of(std::string_view errors) {
  constexpr size_t kMost = 300;
  errors = trim(errors);
  if (errors.size() > kMost) errors.remove_prefix(errors.size() - kMost);
  std::string line(errors);
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

void note_exit(record::Call& call, int status, const std::string& errors, bool has_text) {
  const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  call.stop_reason =
      WIFEXITED(status) ? fmt::format("exit {}", WEXITSTATUS(status)) : fmt::format("signal {}", WTERMSIG(status));
  if (good) {
    call.end = has_text ? record::AnswerEnd::complete : record::AnswerEnd::empty;
    return;
  }
  const std::string tail = tail_of(errors);
  call.error = fmt::format("the command ended with {}{}", call.stop_reason, tail.empty() ? "" : ": " + tail);
}

}  // namespace

std::string prompt_text(const Request& request) {
  if (request.system.empty() && request.messages.size() == 1) return request.messages[0].text;
  std::string text;
  const auto add = [&](std::string_view heading, const std::string& content) {
    text += fmt::format("{}===== {} =====\n\n{}\n", text.empty() ? "" : "\n", heading, content);
  };
  if (!request.system.empty()) add("system", request.system);
  for (const Message& message : request.messages)
    add(message.role == Role::user ? "user" : "your earlier answer", message.text);
  return text;
}

Response ask_command(const Request& request, const AskOptions& options) {
  Response response;
  response.request_body = prompt_text(request);
  record::Call& call = response.call;
  call.tries = 1;
  call.model = request.model.label;
  const auto start = Clock::now();
  try {
    const UniqueFd input = file_with(response.request_body);
    Pipe out = make_output_pipe(), err = make_output_pipe();
    Child child = spawn({.command = {"/bin/sh", "-c", request.model.model},
                         .environment = environment_for(request),
                         .in = input.get(),
                         .out = out.writer.get(),
                         .err = err.writer.get(),
                         .death_signal = 0});
    out.writer.reset();
    err.writer.reset();
    Output output{.pipe = std::move(out.reader)}, errors{.pipe = std::move(err.reader)};
    const Ending ending = wait_for_end(child.handle(), output, errors, options);
    child.kill_group();  // processes that the command left, too
    const int status = child.reap();
    call.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    switch (ending) {
      case Ending::exited:
        response.text = response.response_body = std::move(output.text);
        note_exit(call, status, errors.text, !trim(response.text).empty());
        break;
      case Ending::timed_out:
        call.stop_reason = "timeout";
        call.error = fmt::format("the command was ended after {:.3g} s", call.seconds);
        break;
      case Ending::too_big:
        call.error = fmt::format("the command wrote more than {} bytes", options.most_bytes);
        break;
      case Ending::cancelled:
        call.error = "cancelled";
        break;
    }
  } catch (const std::system_error& e) {
    call.error = e.what();
  }
  return response;
}

Result<void> check_command(const std::string& command) {
  // Checks the first word if it is plainly a program; the shell resolves the rest.
  const std::string word = command.substr(0, command.find(' '));
  if (word.find_first_of("\"'$`;|&<>()\\=") != std::string::npos) return {};
  namespace fs = std::filesystem;
  const auto is_program = [](const fs::path& file) {
    std::error_code ignored;
    return fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
  };
  if (word.contains('/'))
    return is_program(word) ? Result<void>() : error(fmt::format("'{}' is not an executable program", word));
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
    if (is_program(fs::path(folder) / word)) return {};
  }
  // Words that the shell itself knows.
  constexpr std::array<std::string_view, 9> kShellWords = {"exec", "cd",     "if",      "for", "while",
                                                           "set",  "export", "command", ":"};
  if (std::ranges::find(kShellWords, word) != kShellWords.end()) return {};
  return error(fmt::format("there is no program '{}' in PATH", word));
}

}  // namespace fb::llm
