#include "toolchain/device/grid_constants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <vector>

#include "common/base/strings.h"
#include "toolchain/device/annotations.h"

namespace fb::toolchain {
namespace {

constexpr std::string_view kAnnotation = "call void @llvm.var.annotation.p0.p0(ptr ";
constexpr std::string_view kList = "\n!nvvm.annotations = !{";

struct Marked {
  std::string_view kernel;         // with its @
  std::vector<size_t> parameters;  // from 1
};

// "define … @name(ptr noundef byval(%T) align 4 %0, i32 noundef %1) …" → names of the parameters: "%0", "%1".
std::vector<std::string_view> parameters_of(std::string_view define) {
  std::vector<std::string_view> names;
  int depth = 0;
  size_t word = 0;
  for (size_t i = define.find('('); i < define.size(); ++i) {
    const char c = define[i];
    if (depth == 1 && (c == ',' || c == ')')) names.push_back(define.substr(word, i - word));
    if (c == '(' && ++depth == 1) word = i + 1;
    if (c == ')' && --depth == 0) break;
    if (depth == 1 && (c == ' ' || c == ',')) word = i + 1;
  }
  return names;
}

std::vector<Marked> find_marked(std::string_view ir, const std::set<std::string_view>& texts) {
  std::vector<Marked> found;
  std::vector<std::string_view> parameters;
  for (const auto line : split(ir, '\n')) {
    if (line.starts_with("define ")) {
      const size_t name = line.find('@');
      found.push_back({line.substr(name, line.find('(', name) - name), {}});
      parameters = parameters_of(line.substr(name));
    }
    const size_t call = line.find(kAnnotation);
    if (call == std::string_view::npos || found.empty()) continue;
    const auto arguments = split(line.substr(call + kAnnotation.size()), ',');
    if (arguments.size() < 2 || !texts.contains(trim(arguments[1]).substr(sizeof "ptr"))) continue;
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (parameters[p] == arguments[0]) found.back().parameters.push_back(p + 1);
    }
  }
  std::erase_if(found, [](const Marked& m) { return m.parameters.empty(); });
  return found;
}

}  // namespace

std::string mark_grid_constants(std::string ir) {
  const auto texts = constants_with_text(ir, "fabricbench.grid_constant");
  if (texts.empty()) return ir;
  const size_t list = ir.find(kList);
  if (list == std::string::npos) return ir;
  std::string marks, nodes;
  // Numbers that no other node of the text has.
  size_t number = 0;
  for (size_t at = ir.find("\n!"); at != std::string::npos; at = ir.find("\n!", at + 1)) ++number;
  number += 1000;
  for (const Marked& m : find_marked(ir, texts)) {
    marks += fmt::format("!{}, ", number);
    nodes += fmt::format("!{} = !{{ptr {}, !\"grid_constant\", !{}}}\n!{} = !{{i32 {}}}\n", number, m.kernel,
                         number + 1, number + 1, fmt::join(m.parameters, ", i32 "));
    number += 2;
  }
  ir.insert(list + kList.size(), marks);
  if (!ir.ends_with('\n')) ir += '\n';
  return ir += nodes;
}

}  // namespace fb::toolchain
