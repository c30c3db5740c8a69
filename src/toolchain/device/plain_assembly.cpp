#include "toolchain/device/plain_assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>

#include "common/base/strings.h"

namespace fb::toolchain {
namespace {

constexpr std::string_view kConvergent = "convergent ";

// Assembly without side effects may be executed where it was not asked for, as soon as it is not convergent: not for
// addresses that a test has not passed.
bool may_be_early(std::string_view call, std::string_view assembly) {
  return call.find(" sideeffect ") == std::string_view::npos && assembly.find('[') != std::string_view::npos;
}

// Instructions that lanes execute together.
bool concerns_warp(std::string_view assembly) {
  constexpr std::array<std::string_view, 10> kWords = {".sync", "bar.",   "barrier", "activemask", "shfl.",
                                                       "vote.", "match.", "elect.",  "call",       "setmaxnreg"};
  return std::ranges::any_of(kWords, [&](auto word) { return assembly.find(word) != std::string_view::npos; });
}

// "attributes #7 = { convergent nounwind }" → 7; nothing: another line, or a group without that word.
struct Group {
  uint32_t number = 0;
  std::string_view text;  // "{ … }"
};
Group group_in(std::string_view line) {
  constexpr std::string_view kBegin = "attributes #";
  if (!line.starts_with(kBegin)) return {};
  Group group;
  std::from_chars(line.data() + kBegin.size(), line.data() + line.size(), group.number);
  group.text = line.substr(std::min(line.find('{'), line.size()));
  return group;
}

}  // namespace

std::string with_plain_assembly(std::string_view llvm_ir) {
  std::map<uint32_t, std::string> plain;  // group → its text without that word
  uint32_t largest = 0;
  for (const auto line : split(llvm_ir, '\n')) {
    const Group group = group_in(line);
    if (group.text.empty()) continue;
    largest = std::max(largest, group.number);
    const size_t at = group.text.find(kConvergent);
    if (at == std::string_view::npos) continue;
    plain[group.number] =
        std::string(group.text.substr(0, at)) + std::string(group.text.substr(at + kConvergent.size()));
  }
  std::string text;
  text.reserve(llvm_ir.size() + llvm_ir.size() / 64);
  while (!llvm_ir.empty()) {
    const size_t end = std::min(llvm_ir.find('\n'), llvm_ir.size() - 1) + 1;
    const auto line = llvm_ir.substr(0, end);
    llvm_ir.remove_prefix(end);
    // "  %4 = call float asm "cvt.f32.f16 $0, $1;", "=f,h"(i16 %3) #7, !dbg !9"
    const size_t call = line.find(" asm ");
    const size_t quote = call == std::string_view::npos ? call : line.find('"', call);
    const size_t behind = quote == std::string_view::npos ? quote : line.find('"', quote + 1);
    const size_t mark = behind == std::string_view::npos ? behind : line.rfind(") #");
    uint32_t number = 0;
    if (mark != std::string_view::npos) std::from_chars(line.data() + mark + 3, line.data() + line.size(), number);
    const auto assembly = mark == std::string_view::npos ? line : line.substr(quote, behind - quote);
    if (mark == std::string_view::npos || !plain.contains(number) || concerns_warp(assembly) ||
        may_be_early(line.substr(call, quote - call), assembly)) {
      text += line;
      continue;
    }
    const size_t after = line.find_first_not_of("0123456789", mark + 3);
    text += line.substr(0, mark + 3);
    text += std::to_string(largest + 1 + number);
    text += line.substr(std::min(after, line.size()));
  }
  for (const auto& [number, words] : plain) text += fmt::format("attributes #{} = {}\n", largest + 1 + number, words);
  return text;
}

}  // namespace fb::toolchain
