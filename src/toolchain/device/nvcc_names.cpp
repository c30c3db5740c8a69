#include "toolchain/device/nvcc_names.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <unordered_map>

#include "common/base/strings.h"
#include "toolchain/device/ptx_names.h"

namespace fb::toolchain {
namespace {

constexpr std::string_view kAnonymous = "_GLOBAL__N_";
constexpr std::string_view kOfFile = "_INTERNAL_";

// A component of a mangled name at `at`, "4mine": where its text begins and ends. Nothing: end is 0.
struct Component {
  size_t begin = 0, end = 0;
};
Component component_at(std::string_view name, size_t at) {
  size_t length = 0;
  const auto [end, code] = std::from_chars(name.data() + at, name.data() + name.size(), length);
  if (code != std::errc()) return {};
  const auto begin = static_cast<size_t>(end - name.data());
  if (length == 0 || begin + length > name.size()) return {};
  return {begin, begin + length};
}

// Anonymous namespaces as clang calls them, and no component for the file.
std::string without_file(std::string_view name) {
  std::string out;
  for (size_t at = 0; at < name.size();) {
    const bool starts = is_digit(name[at]) && (at == 0 || !is_digit(name[at - 1]));
    const Component found = starts ? component_at(name, at) : Component{};
    const auto text = name.substr(found.begin, found.end - found.begin);
    if (text.starts_with(kAnonymous)) {
      out += "12_GLOBAL__N_1";
      at = found.end;
    } else if (text.starts_with(kOfFile)) {
      at = found.end;
    } else if (found.end != 0) {
      out += name.substr(at, found.end - at);
      at = found.end;
    } else {
      out += name[at++];
    }
  }
  return out;
}

// An L before the last component of the name itself: internal linkage.
std::string internal(const std::string& name) {
  if (!name.starts_with("_Z")) return fmt::format("_ZL{}{}", name.size(), name);
  const bool nested = name.starts_with("_ZN");
  size_t last = 0;
  for (size_t at = nested ? 3 : 2; at < name.size() && is_digit(name[at]);) {
    last = at;
    at = component_at(name, at).end;
    if (!nested || at == 0) break;
  }
  return last == 0 ? name : name.substr(0, last) + "L" + name.substr(last);
}

// ".entry _Z4statPi(", ".global .align 4 .b8 mine[16];": what only this file sees. Empty: another line.
std::string_view internal_name(std::string_view line) {
  const bool kernel = line.starts_with(".entry ");
  if (!kernel && !line.starts_with(".global ") && !line.starts_with(".const ")) return {};
  size_t end = line.find_first_of(kernel ? "(" : "[=;");
  if (end == std::string_view::npos) end = line.size();
  while (end > 0 && !in_name(line[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && in_name(line[begin - 1])) --begin;
  return line.substr(begin, end - begin);
}

}  // namespace

std::string with_clang_names(const std::string& ptx) {
  std::unordered_map<std::string, std::string> renamed;
  for (const auto line : split(ptx, '\n')) {
    const std::string name(internal_name(line));
    if (name.empty() || name.starts_with("$") || name.starts_with("__cuda") || name.starts_with("_ZZ")) continue;
    const std::string plain = without_file(name);
    renamed[name] = plain.find("12_GLOBAL__N_1") == std::string::npos ? internal(plain) : plain;
  }
  std::string out;
  out.reserve(ptx.size());
  for (size_t at = 0; at < ptx.size();) {
    size_t end = at;
    while (end < ptx.size() && in_name(ptx[end]) && ptx[end] != '.') ++end;
    if (end == at) {
      out += ptx[at++];
      continue;
    }
    const auto found = renamed.find(ptx.substr(at, end - at));
    out += found == renamed.end() ? ptx.substr(at, end - at) : found->second;
    at = end;
  }
  return out;
}

}  // namespace fb::toolchain
