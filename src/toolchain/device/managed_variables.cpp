#include "toolchain/device/managed_variables.h"

#include <set>

#include "common/base/strings.h"
#include "toolchain/device/annotations.h"

namespace fb::toolchain {

std::string mark_managed(std::string ptx, std::string_view llvm_ir) {
  const auto variables = variables_with_mark(llvm_ir, "fabricbench.managed");
  if (variables.empty()) return ptx;
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
