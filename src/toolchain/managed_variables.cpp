#include "toolchain/managed_variables.h"

#include <set>

#include "base/strings.h"
#include "toolchain/annotations.h"

namespace fb::toolchain {
namespace {

// { ptr addrspacecast (ptr addrspace(1) @name to ptr), ptr @text, … }
std::set<std::string> find_variables(std::string_view ir, const std::set<std::string_view>& texts) {
  std::set<std::string> found;
  const size_t list = ir.find("\n@llvm.global.annotations = ");
  if (list == std::string_view::npos) return found;
  std::string_view rest = ir.substr(list + 1, ir.find('\n', list + 1) - list - 1);
  constexpr std::string_view kVariable = "ptr addrspacecast (ptr addrspace(1) @", kText = "), ptr ";
  for (size_t at = rest.find(kVariable); at != std::string_view::npos; at = rest.find(kVariable)) {
    rest.remove_prefix(at + kVariable.size());
    const std::string_view name = rest.substr(0, rest.find(" to ptr"));
    const size_t text = rest.find(kText);
    if (text == std::string_view::npos) break;
    rest.remove_prefix(text + kText.size());
    if (texts.contains(rest.substr(0, rest.find(',')))) found.emplace(name);
  }
  return found;
}

}  // namespace

std::string mark_managed(std::string ptx, std::string_view llvm_ir) {
  const auto texts = constants_with_text(llvm_ir, "fabricbench.managed");
  if (texts.empty()) return ptx;
  const auto variables = find_variables(llvm_ir, texts);
  constexpr std::string_view kGlobal = ".global ";
  for (size_t at = ptx.find(kGlobal); at != std::string::npos; at = ptx.find(kGlobal, at + 1)) {
    if (at > 0 && ptx[at - 1] != '\n' && ptx[at - 1] != ' ') continue;  // an instruction
    const std::string_view line = std::string_view(ptx).substr(at, ptx.find_first_of("=;[\n", at) - at);
    const std::string_view declaration = trim(line);
    const size_t space = declaration.rfind(' ');
    if (variables.contains(std::string(declaration.substr(space + 1))))
      ptx.insert(at + kGlobal.size(), ".attribute(.managed) ");
  }
  return ptx;
}

}  // namespace fb::toolchain
