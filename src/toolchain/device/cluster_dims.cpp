#include "toolchain/device/cluster_dims.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "common/base/strings.h"

namespace fb::toolchain {
namespace {

struct EntryDeclaration {
  size_t begin;
  size_t end;
};

// A definition has "(" right after its name; a declaration has it on the next line, and ends in a line of ";".
EntryDeclaration find_entry_declaration(std::string_view ptx) {
  constexpr std::string_view kEntry = " .entry ";
  for (size_t at = ptx.find(kEntry); at != std::string_view::npos; at = ptx.find(kEntry, at + 1)) {
    const size_t line_end = ptx.find('\n', at);
    if (line_end == std::string_view::npos || ptx[line_end - 1] == '(') continue;
    const size_t close = ptx.find("\n;", line_end);
    if (close == std::string_view::npos) continue;
    return {ptx.rfind('\n', at) + 1, ptx.find('\n', close + 1) + 1};
  }
  return {std::string_view::npos, std::string_view::npos};
}

// The text after `begin` up to `end`; moves `text` behind it. Empty if there is none.
std::string_view take(std::string_view& text, std::string_view begin, std::string_view end) {
  const size_t from = text.find(begin);
  if (from == std::string_view::npos) return text = {};
  text.remove_prefix(from + begin.size());
  const size_t length = text.find(end);
  if (length == std::string_view::npos) return text = {};
  const auto found = text.substr(0, length);
  text.remove_prefix(length);
  return found;
}

std::string_view unquoted(std::string_view name) {
  return name.starts_with('"') ? name.substr(1, name.size() - 2) : name;
}

// Global name → its line's right-hand side.
std::map<std::string_view, std::string_view> read_globals(std::string_view ir) {
  std::map<std::string_view, std::string_view> globals;
  for (const auto line : split(ir, '\n')) {
    const size_t equals = line.find(" = ");
    if (line.starts_with('@') && equals != std::string_view::npos) {
      globals.emplace(line.substr(1, equals - 1), line.substr(equals + 3));
    }
  }
  return globals;
}

// "{ i32, i32 } { i32 2, i32 4 }, section …" → 2, 4, 1.
std::string read_dims(std::string_view constant) {
  std::vector<std::string> dims;
  take(constant, "{", "}");
  auto values = take(constant, "{", "}");
  for (auto value : split(values, ',')) dims.emplace_back(trim(trim(value).substr(sizeof "i32" - 1)));
  dims.resize(3, "1");
  return fmt::format("{}, {}, {}", dims[0], dims[1], dims[2]);
}

// Kernel → its dimensions. An annotation is { ptr @kernel, ptr @text, ptr @file, i32 line, ptr @arguments }.
std::map<std::string_view, std::string> read_annotations(std::string_view ir) {
  const auto globals = read_globals(ir);
  const auto list = globals.find("llvm.global.annotations");
  std::map<std::string_view, std::string> dims;
  if (list == globals.end()) return dims;
  std::string_view rest = list->second;
  while (true) {
    const auto kernel = take(rest, "{ ptr @", ",");
    if (kernel.empty()) return dims;
    const auto text = globals.find(take(rest, "ptr @", ","));
    take(rest, "i32 ", ",");
    const auto arguments = globals.find(take(rest, "ptr @", " }"));
    if (text == globals.end() || arguments == globals.end()) continue;
    if (text->second.find("c\"fabricbench.cluster_dims\\00\"") == std::string_view::npos) continue;
    dims.emplace(unquoted(kernel), read_dims(arguments->second));
  }
}

}  // namespace

std::string apply_cluster_dims(std::string ptx, std::string_view llvm_ir) {
  for (auto at = find_entry_declaration(ptx); at.begin != std::string::npos; at = find_entry_declaration(ptx)) {
    ptx.erase(at.begin, at.end - at.begin);
  }
  for (const auto& [kernel, dims] : read_annotations(llvm_ir)) {
    const size_t entry = ptx.find(fmt::format(" .entry {}(", kernel));
    if (entry == std::string::npos) continue;
    const size_t body = ptx.find("\n{", entry);
    if (body != std::string::npos) ptx.insert(body, fmt::format("\n.explicitcluster\n.reqnctapercluster {}", dims));
  }
  return ptx;
}

}  // namespace fb::toolchain
