#include "toolchain/device/wide_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

namespace fb::toolchain {
namespace {

// Larger copies are arrays and structs of many members, which nvcc does not vectorise either.
constexpr uint64_t kLargest = 64;

struct Pointer {
  std::string_view type;   // ptr, ptr addrspace(3)
  std::string_view value;  // %12, @x, a constant expression
  uint64_t alignment = 1;
};

struct Copy {
  Pointer to, from;
  uint64_t bytes = 0;
};

uint64_t number_in(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The arguments of a call; the text begins behind its "(". Constant expressions contain parentheses and commas.
std::vector<std::string_view> arguments_of(std::string_view text) {
  std::vector<std::string_view> found;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == ')')) {
      while (text[begin] == ' ') ++begin;
      found.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    }
    if (c == ')' || c == '}' || c == ']') {
      if (--depth < 0) break;
    }
  }
  return found;
}

// "ptr align 16 %12"
std::optional<Pointer> pointer_in(std::string_view argument) {
  constexpr std::string_view kAlign = " align ";
  const size_t align = argument.find(kAlign);
  if (!argument.starts_with("ptr") || align == std::string_view::npos) return std::nullopt;
  const size_t number = align + kAlign.size();
  const size_t value = argument.find(' ', number);
  if (value == std::string_view::npos) return std::nullopt;
  return Pointer{argument.substr(0, align), argument.substr(value + 1), number_in(argument.substr(number))};
}

std::optional<Copy> copy_in(std::string_view line) {
  constexpr std::string_view kCall = "call void @llvm.memcpy.";
  const size_t call = line.find(kCall);
  if (call == std::string_view::npos) return std::nullopt;
  const auto arguments = arguments_of(line.substr(line.find('(', call) + 1));
  if (arguments.size() != 4 || !arguments[2].starts_with("i64 ") || arguments[3] != "i1 false") return std::nullopt;
  const auto to = pointer_in(arguments[0]), from = pointer_in(arguments[1]);
  const uint64_t bytes = number_in(arguments[2].substr(sizeof "i64"));
  if (!to || !from || bytes == 0 || bytes > kLargest) return std::nullopt;
  return Copy{*to, *from, bytes};
}

// ", !dbg !12": the accesses keep the source line of the copy.
std::string_view location_in(std::string_view line) {
  const size_t begin = line.find(", !dbg !");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, std::min(line.find(',', begin + 1), line.size()) - begin);
}

}  // namespace

std::string widen_copies(std::string_view llvm_ir) {
  std::string text;
  text.reserve(llvm_ir.size() + llvm_ir.size() / 8);
  const auto out = std::back_inserter(text);
  uint64_t names = 0;
  while (!llvm_ir.empty()) {
    const size_t end = std::min(llvm_ir.find('\n'), llvm_ir.size() - 1) + 1;
    const auto line = llvm_ir.substr(0, end);
    llvm_ir.remove_prefix(end);
    const auto copy = copy_in(line);
    const uint64_t alignment = copy ? std::min(copy->to.alignment, copy->from.alignment) : 0;
    const uint64_t piece = alignment >= 16 && copy->bytes % 16 == 0 ? 16
                           : alignment >= 8 && copy->bytes % 8 == 0 ? 8
                                                                    : 0;
    if (piece == 0) {
      text += line;
      continue;
    }
    const auto location = location_in(line);
    const auto type = fmt::format("<{} x i32>", piece / 4);
    const auto address = [&](const Pointer& pointer, uint64_t offset) {
      const uint64_t name = names++;
      fmt::format_to(out, "  %wide{} = getelementptr i8, {} {}, i64 {}{}\n", name, pointer.type, pointer.value, offset,
                     location);
      return fmt::format("%wide{}", name);
    };
    std::vector<uint64_t> loaded;
    for (uint64_t at = 0; at < copy->bytes; at += piece) {
      const auto from = address(copy->from, at);
      loaded.push_back(names++);
      fmt::format_to(out, "  %wide{} = load {}, {} {}, align {}{}\n", loaded.back(), type, copy->from.type, from, piece,
                     location);
    }
    for (uint64_t at = 0; at < copy->bytes; at += piece) {
      const auto to = address(copy->to, at);
      fmt::format_to(out, "  store {} %wide{}, {} {}, align {}{}\n", type, loaded[at / piece], copy->to.type, to, piece,
                     location);
    }
  }
  return text;
}

}  // namespace fb::toolchain
