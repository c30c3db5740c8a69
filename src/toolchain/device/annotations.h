#pragma once

// Marks that macros of the SDK leave in clang's output: __attribute__((annotate("fabricbench.…"))).

#include <set>
#include <string>
#include <string_view>

namespace fb::toolchain {

// The constants of LLVM IR which hold the text `mark`: of `@.str.3 = … c"fabricbench.managed\00"` it is "@.str.3".
std::set<std::string_view> constants_with_text(std::string_view llvm_ir, std::string_view mark);

// The variables of the device that have this mark, without "@".
std::set<std::string> variables_with_mark(std::string_view llvm_ir, std::string_view mark);

}  // namespace fb::toolchain
