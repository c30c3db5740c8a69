#include "toolchain/source/source_overlay.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "common/base/strings.h"
#include "toolchain/source/asm_escapes.h"
#include "toolchain/source/cast_alignment.h"
#include "toolchain/source/nvcc_forms.h"
#include "toolchain/source/user_files.h"

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

// "file:line:column"
struct Place {
  std::string file;
  Location at;
};
std::optional<Place> parse_place(const std::string& text) {
  const size_t column = text.rfind(':');
  const size_t line = column == std::string::npos || column == 0 ? std::string::npos : text.rfind(':', column - 1);
  if (line == std::string::npos) return std::nullopt;
  const auto number = [&](size_t from) {
    uint32_t value = 0;
    std::from_chars(text.data() + from + 1, text.data() + text.size(), value);
    return value;
  };
  return Place{text.substr(0, line), {number(line), number(column)}};
}

// Of the places those in `text`, the content of `file`, by the lines that it has. Messages count lines as #line says.
std::vector<Location> places_in(std::string_view text, const std::string& file, const std::set<std::string>& places) {
  std::vector<Location> found;
  std::string name = file;
  uint32_t physical = 0, stated = 0;
  for (const auto line : split(text, '\n')) {
    ++physical;
    ++stated;
    if (line.starts_with("#line ")) {
      std::from_chars(line.data() + 6, line.data() + line.size(), stated);
      --stated;
      const size_t quote = line.find('"');
      if (quote != std::string_view::npos) name = line.substr(quote + 1, line.rfind('"') - quote - 1);
      continue;
    }
    for (const std::string& place : places) {
      const auto parsed = parse_place(place);
      if (!parsed || parsed->at.line != stated) continue;
      if (parsed->file == name || std::filesystem::absolute(parsed->file).lexically_normal() == name)
        found.push_back({physical, parsed->at.column});
    }
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

std::string overlay_text(const std::vector<Replacement>& replacements) {
  std::string entries;
  for (const auto& [original, contents] : replacements) {
    entries += fmt::format(R"({}{{"type": "file", "name": {}, "external-contents": {}}})", entries.empty() ? "" : ", ",
                           json_string(original), json_string(contents));
  }
  return fmt::format(R"({{"version": 0, "case-sensitive": true, "use-external-names": false, )"
                     R"("overlay-relative": false, "roots": [{}]}})",
                     entries);
}

std::vector<std::string> write_overlay(const std::string& source, const std::vector<std::string>& include_dirs,
                                       const std::string& folder, const OverlayForms& forms) {
  std::vector<Replacement> replacements;
  const auto files = find_user_files(source, include_dirs).files;
  DeclaredKernels kernels;
  for (size_t i = 0; forms.device_launches && i < files.size(); ++i) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(files[i], ignored)) kernels.add(read_file(files[i].string()));
  }
  for (size_t i = 0; i < files.size(); ++i) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(files[i], ignored)) continue;  // clang reports it
    const std::string text = read_file(files[i].string());
    std::string accepted = with_clang_forms(escape_asm(text));
    if (!forms.declared_casts) accepted = with_cast_alignment(accepted);
    if (forms.host_lambdas) accepted = with_host_lambdas(accepted);
    if (!forms.refused_places.empty()) {
      accepted = with_typenames(accepted, places_in(accepted, files[i].string(), forms.refused_places));
      accepted = with_raw_shared(accepted, places_in(accepted, files[i].string(), forms.refused_places));
    }
    if (forms.device_launches) accepted = with_device_launches(accepted, kernels);
    if (accepted == text) continue;
    const std::string changed = fmt::format("{}/changed_{}", folder, i);
    write_file(changed, accepted);
    replacements.push_back({files[i].string(), changed});
  }
  if (replacements.empty()) return {};
  const std::string overlay = folder + "/overlay.yaml";
  write_file(overlay, overlay_text(replacements));
  return {"-ivfsoverlay", overlay};
}

}  // namespace fb::toolchain
