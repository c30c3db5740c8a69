#include "toolchain/annotations.h"

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

}  // namespace fb::toolchain
