#include <fmt/format.h>

#include <algorithm>

#include "common/base/strings.h"
#include "judge/answer/answer.h"
#include "judge/answer/border.h"
#include "judge/catalog/markers.h"
#include "judge/catalog/source.h"

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

// Answers rely on the headers that a driver includes: it is shown to their authors.
std::string includes_of(std::string_view driver) {
  std::string text;
  for (const auto line : catalog::lines_of(driver)) {
    if (trim(line).starts_with("#include <")) text += std::string(trim(line)) + "\n";
  }
  return text;
}

std::string entry_of(std::string_view judged) {
  return line_directive(1, "entry.cu") + fmt::format("#include <fabricbench/entry.h>\nFABRICBENCH_ENTRY({})\n", judged);
}

}  // namespace

Result<Sources> assemble(const catalog::Problem& problem, const Answer& answer, std::string_view answer_name) {
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

  const std::string judged = line_directive(1, "template.cu") + *spliced + "\n";
  if (problem.driver.empty()) return Sources{.candidate = judged + entry_of("Solution")};
  const std::string shared = line_directive(1, "interface.cu") + "#include \"args.h\"\n" + shared_types(problem.driver);
  Sources sources;
  sources.candidate = includes_of(problem.driver) + shared + judged + line_directive(1, "interface.cu") +
                      candidate_side(problem.interface);
  sources.driver = includes_of(problem.driver) + shared + driver_side(problem.interface) +
                   line_directive(1, "driver.cu") + without_shared_types(problem.driver) + "\n" +
                   entry_of("Driver<FabricbenchSolution>");
  return sources;
}

}  // namespace fb::judge
