#pragma once

#include <cstddef>
#include <span>

namespace fb::fatbin {

// Expands one LZ4 block, which must fill `into` exactly. False: it does not, or the block is malformed.
bool expand_lz4(std::span<const std::byte> block, std::span<std::byte> into);

}  // namespace fb::fatbin
