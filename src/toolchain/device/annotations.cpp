#include "toolchain/device/annotations.h"

#include <fmt/format.h>

#include <string>

namespace fb::toolchain {

std::set<std::string_view> constants_with_text(std::string_view llvm_ir, std::string_view mark) {
  const std::string literal = fmt::format("c\"{}\\00\"", mark);
  std::set<std::string_view> found;
  for (size_t at = llvm_ir.find(literal); at != std::string_view::npos; at = llvm_ir.find(literal, at + 1)) {
    const size_t newline = llvm_ir.rfind('\n', at);
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if (llvm_ir[line] == '@') found.insert(llvm_ir.substr(line, llvm_ir.find(' ', line) - line));
  }
  return found;
}

// { ptr addrspacecast (ptr addrspace(1) @name to ptr), ptr @text, … }
std::set<std::string> variables_with_mark(std::string_view llvm_ir, std::string_view mark) {
  const auto texts = constants_with_text(llvm_ir, mark);
  std::set<std::string> found;
  const size_t list = llvm_ir.find("\n@llvm.global.annotations = ");
  if (texts.empty() || list == std::string_view::npos) return found;
  std::string_view rest = llvm_ir.substr(list + 1, llvm_ir.find('\n', list + 1) - list - 1);
  constexpr std::string_view kVariable = "ptr addrspacecast (ptr addrspace(", kName = ") @", kText = "), ptr ";
  for (size_t at = rest.find(kVariable); at != std::string_view::npos; at = rest.find(kVariable)) {
    rest.remove_prefix(at + kVariable.size());
    const size_t begin = rest.find(kName);
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin + kName.size());
    const std::string_view name = rest.substr(0, rest.find(" to ptr"));
    const size_t text = rest.find(kText);
    if (text == std::string_view::npos) break;
    rest.remove_prefix(text + kText.size());
    if (texts.contains(rest.substr(0, rest.find(',')))) found.emplace(name);
  }
  return found;
}

}  // namespace fb::toolchain
