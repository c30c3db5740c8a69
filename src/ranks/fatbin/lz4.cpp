#include "ranks/fatbin/lz4.h"

#include <cstdint>
#include <cstring>

namespace fb::fatbin {
namespace {

constexpr size_t kLeastMatch = 4;

// A length of 15 in its half of the token goes on in the bytes behind it, until one is below 255.
bool read_length(std::span<const std::byte>& block, size_t& length) {
  if (length != 15) return true;
  uint8_t more = 0;
  do {
    if (block.empty()) return false;
    more = std::to_integer<uint8_t>(block.front());
    block = block.subspan(1);
    length += more;
  } while (more == 255);
  return true;
}

}  // namespace

bool expand_lz4(std::span<const std::byte> block, std::span<std::byte> into) {
  size_t made = 0;
  while (!block.empty()) {
    const auto token = std::to_integer<uint8_t>(block.front());
    block = block.subspan(1);
    size_t literals = token >> 4;
    if (!read_length(block, literals) || literals > block.size() || literals > into.size() - made) return false;
    if (literals > 0) std::memcpy(into.data() + made, block.data(), literals);
    made += literals;
    block = block.subspan(literals);
    if (block.empty()) break;  // the last sequence has literals alone
    if (block.size() < 2) return false;
    const size_t distance = std::to_integer<size_t>(block[0]) | std::to_integer<size_t>(block[1]) << 8;
    block = block.subspan(2);
    size_t match = token & 15;
    if (!read_length(block, match)) return false;
    match += kLeastMatch;
    if (distance == 0 || distance > made || match > into.size() - made) return false;
    // Byte by byte: a match may overlap what it makes.
    for (size_t k = 0; k < match; ++k, ++made) into[made] = into[made - distance];
  }
  return made == into.size();
}

}  // namespace fb::fatbin
