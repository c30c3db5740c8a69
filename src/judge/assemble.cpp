#include <fmt/format.h>

#include <algorithm>

#include "catalog/source.h"
#include "judge/answer.h"

namespace fb::judge {
namespace {

uint32_t count_lines(std::string_view text) { return static_cast<uint32_t>(std::ranges::count(text, '\n')); }

std::string line_directive(uint32_t line, std::string_view file) {
  std::string name;
  for (const char c : file) {
    if (c == '"' || c == '\\') name += '\\';
    name += c == '\n' ? ' ' : c;
  }
  return fmt::format("#line {} \"{}\"\n", line, name);
}

}  // namespace

Result<std::string> assemble(const catalog::Problem& problem, const Answer& answer, std::string_view answer_name) {
  const auto shown = catalog::make_template(problem);
  if (!shown) return std::unexpected(shown.error());
  const auto regions = catalog::regions_of(*shown);
  if (!regions) return std::unexpected(regions.error());

  auto texts = answer.regions;
  for (size_t i = 0; i < texts.size(); ++i) {
    auto& [name, text] = texts[i];
    const auto region = std::ranges::find(*regions, name, &catalog::Region::name);
    const uint32_t end = region == regions->end() ? 1 : region->line + 1 + count_lines(region->solution);
    if (!text.empty() && text.back() != '\n') text += '\n';
    text.insert(0, line_directive(answer.first_lines[i], answer_name)).append(line_directive(end, "template.cu"));
  }
  const auto spliced = catalog::splice(problem, texts);
  if (!spliced) return std::unexpected(spliced.error());

  std::string source;
  if (!problem.driver.empty()) {
    source += line_directive(1, "driver.cu") + problem.driver + "\n";
    // An answer that could name the driver could put a specialisation of its own in its place.
    source += "template <class Solution>\nusing FabricbenchJudged = Driver<Solution>;\n#pragma GCC poison Driver\n";
  }
  source += line_directive(1, "template.cu") + *spliced + "\n" + line_directive(1, "entry.cu");
  source += "#include <fabricbench/entry.h>\n";
  source +=
      problem.driver.empty() ? "FABRICBENCH_ENTRY(Solution)\n" : "FABRICBENCH_ENTRY(FabricbenchJudged<Solution>)\n";
  return source;
}

}  // namespace fb::judge
