#include "judge/build/build_sandbox.h"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "common/base/strings.h"
#include "common/base/text_limits.h"

namespace fb::judge {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr size_t kMostMessages = 20;
constexpr size_t kMostText = 1200;

void replace_all(std::string& text, const std::string& from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// What is no message about the source: a limit that was reached, or a crash, of which the compiler's own account is of
// use to its authors alone.
std::string in_plain_words(const std::string& message, const BuildLimits& limits) {
  const auto says = [&](std::string_view words) { return message.find(words) != std::string::npos; };
  if (says("version script assignment of 'global'")) {
    return "the judge's entry behind the solution was not compiled: is there a comment, a string or an #if without "
           "end?";
  }
  if (says("frontend command failed")) return "the compiler crashed";
  const bool of_source = !message.starts_with("the compiler failed") && !message.starts_with("unable to") &&
                         !message.starts_with("LLVM ERROR");
  if (of_source) return message;
  if (says("out of memory") || says("bad_alloc") || says("Cannot allocate memory")) {
    return fmt::format("the compiler needed more than {} MiB of memory", limits.memory >> 20);
  }
  if (says("File too large") || says("File size limit exceeded")) {
    return fmt::format("the compiler's output is larger than {} MiB", limits.output >> 20);
  }
  return says("Stack dump") || says("Aborted") ? "the compiler crashed" : message;
}

// No compiler fails without a word.
bool blames_sandbox(std::string_view message) {
  constexpr std::string_view kFailed = "the compiler failed:";
  if (!message.starts_with(kFailed)) return false;
  const auto said = trim(message.substr(kFailed.size()));
  return said.empty() || said.starts_with("bwrap: ") || said.starts_with("fabricbench-confine: ");
}

}  // namespace

toolchain::Wrapper build_wrapper(const BuildRequest& request, const std::string& toolkit) {
  const auto confine = sandbox::find_confine();
  if (!confine) throw std::runtime_error(to_string(confine.error(), "build"));
  const Words limits = {"--filter",
                        "build",
                        "--data",
                        std::to_string(request.limits.memory),
                        "--file",
                        std::to_string(request.limits.output),
                        "--cpu",
                        std::to_string(request.limits.time.count()),
                        "--open-files",
                        "256",
                        "--"};
  if (!request.sandbox) {
    return [limits, confine = *confine](const toolchain::Invocation& invocation) {
      Words command = {confine};
      command.insert(command.end(), limits.begin(), limits.end());
      command.insert(command.end(), invocation.command.begin(), invocation.command.end());
      return command;
    };
  }
  sandbox::Policy policy;
  // An installation in the system's folders has the problems there.
  policy.hidden = {"/usr/share/fabricbench", "/usr/local/share/fabricbench"};
  policy.hidden.insert(policy.hidden.end(), request.hidden.begin(), request.hidden.end());
  policy.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                        {"LC_ALL", "C"},
                        {"TMPDIR", "/tmp"},
                        {"LLVM_DISABLE_SYMBOLIZATION", "1"}};
  policy.working_directory = "/tmp";
  policy.tmp_bytes = 4 * request.limits.output;
  policy.binds = {{*confine, "/fabricbench-confine"}};
  if (!toolkit.empty()) policy.binds.push_back({toolkit, toolkit});
  return [policy, limits, ability = *request.sandbox](const toolchain::Invocation& invocation) {
    sandbox::Policy here = policy;
    for (const auto& path : invocation.reads) here.binds.push_back({path, path});
    for (const auto& path : invocation.writes) here.binds.push_back({path, path, true});
    Words command = {"/fabricbench-confine"};
    command.insert(command.end(), limits.begin(), limits.end());
    command.insert(command.end(), invocation.command.begin(), invocation.command.end());
    return sandbox::wrap(ability, here, std::move(command));
  };
}

Errors explain(Errors errors, const std::vector<std::string>& folders, const BuildLimits& limits) {
  for (auto& [at, message] : errors.list) {
    if (blames_sandbox(message)) throw std::runtime_error(message);
    message = in_plain_words(message, limits);
    for (const auto& folder : folders) replace_all(message, folder + "/", "");
    if (message.size() > at_most(kMostText)) message = message.substr(0, kMostText) + " …";
  }
  // That it crashed says nothing where something else says why.
  if (errors.list.size() > 1) {
    std::erase_if(errors.list, [](const Diagnostic& d) { return d.message == "the compiler crashed"; });
  }
  if (errors.list.empty()) errors = Errors("the compiler crashed");
  if (errors.list.size() > at_most(kMostMessages)) {
    const size_t more = errors.list.size() - kMostMessages;
    errors.list.resize(kMostMessages);
    errors.list.push_back({{}, fmt::format("and {} more messages", more)});
  }
  return errors;
}

}  // namespace fb::judge
