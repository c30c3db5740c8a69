#include "toolchain/device/relocatable.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "toolchain/device/ptx_names.h"

namespace fb::toolchain {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Replaces `from` where it is a whole name.
void rename(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    const size_t end = at + from.size();
    const bool whole = (at == 0 || !in_name(text[at - 1])) && (end >= text.size() || !in_name(text[end]));
    if (whole) text.replace(at, from.size(), to);
    at += whole ? to.size() : from.size();
  }
}

}  // namespace

std::string with_unique_module_id(std::string object, std::string_view unique_id) {
  constexpr std::string_view kWrapper = "__fatbinwrap__nv_";
  const size_t at = object.find(kWrapper);
  if (at == std::string::npos) return object;
  const size_t begin = at + kWrapper.size() - std::string_view("__nv_").size();
  size_t end = at + kWrapper.size();
  while (end < object.size() && std::isxdigit(static_cast<unsigned char>(object[end])) != 0) ++end;
  const std::string old = object.substr(begin, end - begin);
  std::string fresh = "__nv_";
  while (fresh.size() < old.size()) fresh += unique_id.substr(0, old.size() - fresh.size());
  replace_all(object, old, fresh);
  return object;
}

std::string with_suffixed_names(std::string ptx) {
  std::vector<std::pair<std::string, std::string>> renamed;
  constexpr std::string_view kExtern = "\n.extern .";
  for (size_t at = ptx.find(kExtern); at != std::string::npos; at = ptx.find(kExtern, at + 1)) {
    const size_t end = ptx.find(';', at);
    if (end == std::string::npos) break;
    std::string line = ptx.substr(at + 1, end - at - 1);
    if (line.starts_with(".extern .func")) continue;
    if (const size_t bracket = line.find('['); bracket != std::string::npos) line.resize(bracket);
    const std::string name = line.substr(line.find_last_of(" \t") + 1);
    const size_t defined = ptx.find(name + "__static__");
    if (name.empty() || defined == std::string::npos) continue;
    size_t stop = defined + name.size();
    while (stop < ptx.size() && in_name(ptx[stop])) ++stop;
    renamed.emplace_back(name, ptx.substr(defined, stop - defined));
  }
  for (const auto& [from, to] : renamed) rename(ptx, from, to);
  return ptx;
}

std::string without_list_of_uses(std::string ptx) {
  const size_t name = ptx.find("__clang_gpu_used_external");
  if (name == std::string::npos) return ptx;
  const size_t begin = ptx.rfind('\n', name) + 1, end = ptx.find(';', name);
  if (ptx.compare(begin, 7, ".global") != 0 || end == std::string::npos) return ptx;
  return ptx.erase(begin, end + 1 - begin);
}

std::string with_declared_kernels(std::string ptx) {
  std::string declarations;
  constexpr std::string_view kEntry = " .entry ";
  for (size_t at = ptx.find(kEntry); at != std::string::npos; at = ptx.find(kEntry, at + 1)) {
    const size_t name = at + kEntry.size(), parenthesis = ptx.find('(', name), end = ptx.find(')', name);
    if (end == std::string::npos) break;
    const std::string address = ", " + ptx.substr(name, parenthesis - name) + ";";
    if (ptx.find(address) > at) continue;
    const size_t line = ptx.rfind('\n', at) + 1;
    declarations += ptx.substr(line, end + 1 - line) + "\n;\n";
  }
  if (declarations.empty()) return ptx;
  constexpr std::string_view kSize = ".address_size 64\n";
  const size_t head = ptx.find(kSize);
  return head == std::string::npos ? ptx : ptx.insert(head + kSize.size(), declarations);
}

std::string with_file_name(std::string ptx, std::string_view source) {
  if (ptx.find("\t.file\t") != std::string::npos) return ptx;
  return ptx + fmt::format("\t.file\t1 \"{}\"\n", source);
}

}  // namespace fb::toolchain
