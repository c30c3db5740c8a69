#include "toolchain/source_overlay.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/strings.h"
#include "toolchain/asm_escapes.h"
#include "toolchain/nvcc_forms.h"
#include "toolchain/user_files.h"

namespace fb::toolchain {
namespace {

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// Of the places "file:line:column", those in `file`. A file may be named relative to the working directory.
std::vector<Location> places_in(const std::string& file, const std::set<std::string>& places) {
  std::vector<Location> found;
  for (const std::string& place : places) {
    const size_t column = place.rfind(':');
    const size_t line = column == std::string::npos ? column : place.rfind(':', column - 1);
    if (line == std::string::npos) continue;
    const auto named = std::filesystem::absolute(place.substr(0, line)).lexically_normal().string();
    if (named != file) continue;
    found.push_back({static_cast<uint32_t>(std::stoul(place.substr(line + 1))),
                     static_cast<uint32_t>(std::stoul(place.substr(column + 1)))});
  }
  return found;
}

}  // namespace

std::string with_host_lambdas(std::string_view text) {
  constexpr std::string_view kDevice = "__device__";
  std::string out;
  size_t copied = 0;
  for (size_t at = text.find(kDevice); at != std::string_view::npos; at = text.find(kDevice, at + 1)) {
    const size_t before = text.find_last_not_of(" \t\n", at == 0 ? 0 : at - 1);
    if (before == std::string_view::npos || text[before] != ']' || (before > 0 && text[before - 1] == ']')) continue;
    out += text.substr(copied, at - copied);
    out += "__host__ ";
    copied = at;
  }
  return out += text.substr(copied);
}

std::vector<std::string> write_overlay(const std::string& source, const std::vector<std::string>& include_dirs,
                                       const std::string& folder, bool host_lambdas,
                                       const std::set<std::string>& raw_shared) {
  std::string entries;
  const auto files = find_user_files(source, include_dirs).files;
  for (size_t i = 0; i < files.size(); ++i) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(files[i], ignored)) continue;  // clang reports it
    const std::string text = read_file(files[i].string());
    std::string accepted = with_clang_forms(escape_asm(text));
    if (host_lambdas) accepted = with_host_lambdas(accepted);
    if (!raw_shared.empty()) accepted = with_raw_shared(accepted, places_in(files[i].string(), raw_shared));
    if (accepted == text) continue;
    const std::string changed = fmt::format("{}/changed_{}", folder, i);
    write_file(changed, accepted);
    entries += fmt::format(R"({}{{"type": "file", "name": {}, "external-contents": {}}})", entries.empty() ? "" : ", ",
                           json_string(files[i].string()), json_string(changed));
  }
  if (entries.empty()) return {};
  const std::string overlay = folder + "/overlay.yaml";
  write_file(overlay, fmt::format(R"({{"version": 0, "case-sensitive": true, "use-external-names": false, )"
                                  R"("overlay-relative": false, "roots": [{}]}})",
                                  entries));
  return {"-ivfsoverlay", overlay};
}

}  // namespace fb::toolchain
