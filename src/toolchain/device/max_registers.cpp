#include "toolchain/device/max_registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace fb::toolchain {

std::string with_max_registers(std::string ptx, uint32_t count) {
  if (count == 0) return ptx;
  constexpr std::string_view kEntry = ".entry ";
  constexpr std::array<std::string_view, 4> kOwnBounds = {".maxntid", ".reqntid", ".minnctapersm", ".maxnreg"};
  const std::string directive = fmt::format("\n.maxnreg {}\n", count);
  for (size_t at = ptx.find(kEntry); at != std::string::npos; at = ptx.find(kEntry, at + 1)) {
    // Directives stand between the parameters, if there are any, and the body.
    const size_t body = ptx.find_first_of("{;", at);
    if (body == std::string::npos || ptx[body] == ';') continue;
    const auto head = std::string_view(ptx).substr(at, body - at);
    if (std::ranges::any_of(kOwnBounds, [&](auto word) { return head.find(word) != std::string_view::npos; })) continue;
    ptx.insert(body, directive);
  }
  return ptx;
}

}  // namespace fb::toolchain
