#include "toolchain/device/check_ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iomanip>
#include <map>
#include <optional>
#include <sstream>

#include "common/base/strings.h"
#include "common/ptx/link/link.h"
#include "common/ptx/parse/parser.h"

namespace fb::toolchain {
namespace {

struct SourcePlace {
  std::string file;
  uint32_t line = 0;
};

// The last .loc before a line of the text (1-based).
std::optional<SourcePlace> source_place_of(std::string_view ptx, uint32_t line) {
  std::map<uint32_t, std::string> files;  // by number; they may stand behind the code
  uint32_t file = 0, source_line = 0;
  uint32_t at = 0;
  for (const auto text : split(ptx, '\n')) {
    ++at;
    std::istringstream words{std::string(text)};
    std::string directive;
    words >> directive;
    if (directive == ".file") {
      uint32_t number = 0;
      std::string name;
      if (words >> number >> std::quoted(name)) files[number] = std::move(name);
    } else if (directive == ".loc" && at < line) {
      words >> file >> source_line;
    }
  }
  if (!files.contains(file)) return std::nullopt;
  return SourcePlace{files[file], source_line};
}

// Instructions of the manual that the form table lacks, or has a part of: video, textures and surfaces, tensor cores.
constexpr auto kBeyond = std::to_array<std::string_view>({"tex",        "tld4",      "txq",
                                                          "suld",       "sust",      "sured",
                                                          "suq",        "istypep",   "vadd",
                                                          "vsub",       "vmin",      "vmax",
                                                          "vshl",       "vshr",      "vmad",
                                                          "vset",       "vadd2",     "vsub2",
                                                          "vavrg2",     "vabsdiff2", "vmin2",
                                                          "vmax2",      "vset2",     "vadd4",
                                                          "vsub4",      "vmin4",     "vavrg4",
                                                          "vabsdiff4",  "vmax4",     "vset4",
                                                          "tcgen05",    "wgmma",     "wmma",
                                                          "vabsdiff",   "mma",       "cvt",
                                                          "setmaxnreg", "tensormap", "clusterlaunchcontrol"});

// Whether a line that the parser does not accept may still be PTX: its instruction is one of those.
bool is_of_the_manual(std::string_view line) {
  if (line.starts_with('@')) line = trim(line.substr(std::min(line.find(' '), line.size())));
  const std::string_view opcode = line.substr(0, line.find_first_of(". \t;"));
  return line.substr(opcode.size()).starts_with('.') && std::ranges::find(kBeyond, opcode) != kBeyond.end();
}

}  // namespace

Result<std::vector<std::string>> check_ptx(std::string_view ptx) {
  auto parsed = ptx::parse(ptx);
  std::vector<std::string> unknown;
  if (parsed) return unknown;
  Errors errors;
  const auto lines = split(ptx, '\n');
  for (const Diagnostic& d : parsed.error().list) {
    const auto place = source_place_of(ptx, d.at.line);
    const std::string_view line = d.at.line >= 1 && d.at.line <= lines.size() ? trim(lines[d.at.line - 1]) : "";
    std::string text =
        place ? fmt::format("{}:{}: PTX: {}", place->file, place->line, d.message) : fmt::format("PTX: {}", d.message);
    if (is_of_the_manual(line)) {
      unknown.push_back(std::move(text));
      continue;
    }
    const bool said = std::ranges::any_of(errors.list, [&](const Diagnostic& e) { return e.message == text; });
    if (!said) errors.list.push_back({{}, std::move(text)});
  }
  if (errors.list.empty()) return unknown;
  return std::unexpected(std::move(errors));
}

Result<void> check_link(std::string_view candidate, std::string_view driver) {
  auto of_candidate = ptx::parse(candidate);
  auto of_driver = ptx::parse(driver);
  if (!of_candidate || !of_driver) return error("the device code is no PTX");
  auto linked = ptx::link(std::move(*of_candidate), std::move(*of_driver));
  if (!linked) return std::unexpected(std::move(linked.error()));
  return {};
}

std::vector<uint64_t> words_of_variable(std::string_view ptx, std::string_view variable) {
  const auto parsed = ptx::parse(ptx);
  const ptx::Variable* found = parsed ? parsed->find_variable(variable) : nullptr;
  std::vector<uint64_t> words(found ? found->init.size() / sizeof(uint64_t) : 0);
  if (!words.empty()) std::memcpy(words.data(), found->init.data(), words.size() * sizeof(uint64_t));
  return words;
}

}  // namespace fb::toolchain
