#include "judge/standalone/driver_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "common/base/strings.h"
#include "judge/answer/border.h"
#include "judge/catalog/markers.h"

namespace fb::standalone {
namespace {

bool is_include(std::string_view line) { return trim(line).starts_with("#include "); }

}  // namespace

std::string interface_header(const catalog::Problem& problem) {
  std::string text = "#pragma once\n\n// What driver and solution share.\n\n";
  for (const auto line : catalog::lines_of(problem.driver)) {
    if (is_include(line)) text += fmt::format("{}\n", trim(line));
  }
  return text + "\n#include <type_traits>\n#include <utility>\n\n" + judge::shared_types(problem.driver);
}

std::string driver_source(const catalog::Problem& problem) {
  const catalog::Interface& interface = problem.interface;
  std::string text =
      "// Included by harness/entry.cu, behind a solution: calls it as problem.toml says, and is what is measured.\n\n"
      "class FabricbenchSolution : public ::Solution {\n public:\n  using ::Solution::Solution;\n";
  for (const std::string& object : interface.objects()) {
    const auto made = std::ranges::find(interface.host, object, &catalog::InterfaceFunction::result);
    std::vector<std::string> arguments;
    for (const auto& parameter : made->parameters)
      arguments.push_back(fmt::format("std::declval<{}>()", parameter.type));
    text += fmt::format("  using {} = std::remove_cvref_t<decltype(std::declval<::Solution&>().{}({}))>;\n", object,
                        made->name, fmt::join(arguments, ", "));
  }
  text += "};\n\n";
  const std::string driver = judge::without_shared_types(problem.driver);
  for (const auto line : catalog::lines_of(driver)) {
    if (!is_include(line)) text += fmt::format("{}\n", line);
  }
  return text;
}

}  // namespace fb::standalone
