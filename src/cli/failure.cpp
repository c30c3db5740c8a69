#include "cli/failure.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace fb::cli {
namespace {

bool as_json = false;

}  // namespace

void report_failures_as_json() { as_json = true; }
bool failures_are_json() { return as_json; }

int fail(const std::vector<std::string>& messages) {
  if (as_json) {
    const nlohmann::ordered_json value = {{"schema", 1}, {"error", {{"messages", messages}}}};
    fmt::print("{}\n", value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    for (const std::string& message : messages) fmt::print(stderr, "fabricbench: {}\n", message);
  }
  return kExitUsage;
}

void warn(const Errors& errors) {
  for (const Diagnostic& diagnostic : errors.list) fmt::print(stderr, "fabricbench: {}\n", diagnostic.message);
}

int fail(const std::string& message) { return fail(std::vector{message}); }

int fail(const Errors& errors) {
  std::vector<std::string> messages;
  for (const Diagnostic& diagnostic : errors.list) messages.push_back(diagnostic.message);
  return fail(messages);
}

}  // namespace fb::cli
