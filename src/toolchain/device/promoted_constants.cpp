#include "toolchain/device/promoted_constants.h"

#include <set>
#include <string_view>
#include <vector>

#include "common/base/strings.h"
#include "toolchain/device/annotations.h"
#include "toolchain/device/text_edits.h"

namespace fb::toolchain {
namespace {

constexpr std::string_view kConstantSpace = "addrspace(4)", kGlobalSpace = "addrspace(1)";

// `@name = dso_local addrspace(4) externally_initialized constant [4 x i32] …` → "name"; others: "".
std::string_view promoted_name(std::string_view line) {
  const size_t assigned = line.find(" = ");
  const size_t constant = line.find(" constant ");
  if (!line.starts_with('@') || assigned == std::string_view::npos || constant == std::string_view::npos) return {};
  const std::string_view attributes = line.substr(assigned, constant - assigned);
  const bool reached = attributes.find(" internal ") == std::string_view::npos &&
                       attributes.find(" private ") == std::string_view::npos &&
                       attributes.find(" external ") == std::string_view::npos;
  return reached && attributes.find(kConstantSpace) != std::string_view::npos ? line.substr(1, assigned - 1)
                                                                              : std::string_view();
}

}  // namespace

std::string with_global_constants(std::string llvm_ir) {
  const auto stated = variables_with_mark(llvm_ir, "fabricbench.constant");
  std::set<std::string_view> moved;
  std::vector<TextEdit> edits;
  for (const std::string_view line : split(llvm_ir, '\n')) {
    const std::string_view name = promoted_name(line);
    if (name.empty() || stated.contains(std::string(name))) continue;
    moved.insert(name);
    edits.push_back({static_cast<size_t>(line.data() - llvm_ir.data()) + line.find(kConstantSpace),
                     kConstantSpace.size(), std::string(kGlobalSpace)});
  }
  if (moved.empty()) return llvm_ir;
  constexpr std::string_view kUse = "ptr addrspace(4) @";
  for (size_t at = llvm_ir.find(kUse); at != std::string::npos; at = llvm_ir.find(kUse, at + 1)) {
    const size_t name = at + kUse.size();
    const size_t end = llvm_ir.find_first_of(" ,)]}\n", name);
    if (moved.contains(std::string_view(llvm_ir).substr(name, end - name)))
      edits.push_back({at + sizeof "ptr", kConstantSpace.size(), std::string(kGlobalSpace)});
  }
  return apply_edits(llvm_ir, edits);
}

}  // namespace fb::toolchain
