#include "toolchain/device/ptxas_facts.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <map>

#include "common/base/strings.h"
#include "common/ptx/assembled.h"

namespace fb::toolchain {
namespace {

// The number before (or behind) a word of a line; 0 where the word is not there.
uint32_t number_before(std::string_view line, std::string_view word) {
  const size_t at = line.find(word);
  if (at == std::string_view::npos) return 0;
  const size_t begin = line.find_last_not_of("0123456789", at - 1);
  uint32_t value = 0;
  std::from_chars(line.data() + begin + 1, line.data() + at, value);
  return value;
}

//   ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90a'
//   ptxas info    : Function properties for _Z1kPf
//       0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
//   ptxas info    : Used 40 registers, used 1 barriers
std::map<std::string, ptx::Assembled, std::less<>> read_facts(std::string_view said) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::map<std::string, ptx::Assembled, std::less<>> facts;
  ptx::Assembled* kernel = nullptr;
  for (const std::string_view line : split(said, '\n')) {
    if (const size_t at = line.find(kEntry); at != std::string_view::npos) {
      const std::string_view rest = line.substr(at + kEntry.size());
      kernel = &facts[std::string(rest.substr(0, rest.find('\'')))];
    } else if (kernel && line.find("spill stores") != std::string_view::npos && kernel->registers == 0) {
      kernel->spill_store_bytes = number_before(line, " bytes spill stores");
      kernel->spill_load_bytes = number_before(line, " bytes spill loads");
    } else if (kernel && line.find("Used ") != std::string_view::npos) {
      kernel->registers = number_before(line, " registers");
    }
  }
  return facts;
}

// A program's own would be believed.
std::string without_facts(std::string ptx) {
  const std::string pragma = fmt::format(".pragma \"{}", ptx::kAssembledPragma);
  for (size_t at = 0; (at = ptx.find(pragma, at)) != std::string::npos;) {
    const size_t end = ptx.find(';', at);
    ptx.erase(at, end == std::string::npos ? end : end + 1 - at);
  }
  return ptx;
}

}  // namespace

std::string with_ptxas_facts(const std::string& ptx, std::string_view said) {
  const auto facts = read_facts(said);
  std::string text = without_facts(ptx);
  constexpr std::string_view kEntry = ".entry ";
  for (size_t at = text.find(kEntry); at != std::string::npos; at = text.find(kEntry, at + 1)) {
    const size_t begin = at + kEntry.size(), end = text.find_first_of("(\n {", begin);
    const size_t body = text.find_first_of("{;", begin);
    if (body == std::string::npos || text[body] == ';') continue;
    const auto fact = facts.find(std::string_view(text).substr(begin, end - begin));
    if (fact == facts.end() || fact->second.registers == 0) continue;
    text.insert(body, fmt::format(".pragma \"{} {} {} {}\";\n", ptx::kAssembledPragma, fact->second.registers,
                                  fact->second.spill_store_bytes, fact->second.spill_load_bytes));
  }
  return text;
}

}  // namespace fb::toolchain
