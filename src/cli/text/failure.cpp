#include "cli/text/failure.h"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/commands.h"
#include "common/base/output.h"

namespace fb::cli {
namespace {

bool as_json = false;

}  // namespace

void report_failures_as_json() { as_json = true; }
bool failures_are_json() { return as_json; }

int fail(const std::vector<std::string>& messages) {
  if (as_json) {
    const nlohmann::ordered_json value = {{"schema", 1}, {"error", {{"messages", messages}}}};
    print_out("{}\n", value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    for (const std::string& message : messages) print_error("fabricbench: {}\n", message);
  }
  return kExitUsage;
}

void warn(const Errors& errors) {
  for (const Diagnostic& diagnostic : errors.list) print_error("fabricbench: {}\n", diagnostic.message);
}

int fail(const std::string& message) { return fail(std::vector{message}); }

int fail(const Errors& errors) {
  std::vector<std::string> messages;
  for (const Diagnostic& diagnostic : errors.list) messages.push_back(diagnostic.message);
  return fail(messages);
}

int finish(int exit_code) {
  const auto why = [](int reason) { return std::generic_category().message(reason); };
  flush(stdout);
  // Not in the midst of JSON.
  if (const int lost = lost_output().error; lost != 0 && lost != EPIPE && !as_json)
    print_out("fabricbench: cannot write standard error: {}\n", why(lost));
  const LostOutput lost = finish_output();
  if (lost.out != 0 && lost.out != EPIPE) print_error("fabricbench: cannot write standard output: {}\n", why(lost.out));
  return lost.out == 0 && lost.error == 0 ? exit_code : kExitUsage;
}

}  // namespace fb::cli
