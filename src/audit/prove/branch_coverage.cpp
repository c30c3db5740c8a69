#include "audit/prove/branch_coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "common/base/demangle.h"
#include "common/base/strings.h"

namespace fb::prove {
namespace {

// The text of a source line of the problem; empty: it is a line of the SDK or of the compiler's own.
std::string_view line_of(const catalog::Problem& problem, const std::string& file, uint32_t line) {
  const std::string& text = file == kReferenceFile ? problem.reference : problem.driver;
  const auto lines = split(text, '\n');
  const bool ours = file == kReferenceFile || file == kDriverFile;
  return ours && line >= 1 && line <= lines.size() ? trim(lines[line - 1]) : std::string_view();
}

struct Ways {
  bool is_kernel = false, jumped = false, fell_through = false;
};

}  // namespace

Coverage cover(const catalog::Problem& problem, const std::vector<record::BranchWays>& branches) {
  // A device function that is inlined everywhere is still in the PTX, and never called.
  std::set<std::string_view> called;
  for (const record::BranchWays& b : branches) {
    if (b.text.empty() || b.jumped || b.fell_through) called.insert(b.function);
  }
  // Loops are unrolled and rotated: several branches of one line are one branch of the source.
  std::map<std::tuple<std::string_view, std::string_view, uint32_t>, Ways> lines;
  for (const record::BranchWays& b : branches) {
    const bool is_kernel = b.text.empty();
    if (!called.contains(b.function) || line_of(problem, b.file, b.line).empty()) continue;
    Ways& ways = lines[{b.function, b.file, is_kernel ? 0 : b.line}];
    ways.is_kernel = is_kernel;
    ways.jumped |= b.jumped;
    ways.fell_through |= b.fell_through;
  }
  Coverage found{.branches = lines.size()};
  std::vector<bool> used(problem.unreached.size());
  for (const auto& [place, ways] : lines) {
    if (ways.jumped && ways.fell_through) continue;
    const auto& [function, file, line] = place;
    const std::string_view text = ways.is_kernel ? std::string_view() : line_of(problem, std::string(file), line);
    const std::string kernel = demangle(std::string(function));
    bool argued = false;
    for (size_t k = 0; k < used.size(); ++k) {
      const std::string& part = problem.unreached[k].line;
      if (!(ways.is_kernel ? kernel.contains(part) : text.contains(part))) continue;
      argued = used[k] = true;
    }
    if (argued) {
      ++found.argued;
    } else if (ways.is_kernel) {
      found.missing += fmt::format("kernel {} is never launched\n", kernel);
    } else {
      found.missing +=
          fmt::format("{}:{}: in {}: `{}`: {}\n", file == kReferenceFile ? "reference.cu" : file, line, kernel, text,
                      !ways.jumped && !ways.fell_through ? "never comes here"
                      : ways.jumped                      ? "the branch is always taken"
                                                         : "the branch is never taken");
    }
  }
  if (!found.missing.empty())
    found.missing +=
        "Add sizes or worlds at which these branches go the other way too, or argue in [[unreached]] of "
        "problem.toml.\n";
  for (size_t k = 0; k < used.size(); ++k) {
    if (!used[k])
      found.missing += fmt::format(
          "[[unreached]] `{}` argues about nothing: all its branches go both ways, or there is "
          "no such line\n",
          problem.unreached[k].line);
  }
  return found;
}

}  // namespace fb::prove
