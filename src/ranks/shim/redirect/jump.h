#pragma once

#include <cstddef>

namespace fb::redirect {

// Bytes that a jump takes; the compiler aligns functions to 16.
constexpr size_t kJumpBytes = 14;

// Makes `from` a jump to `to`. False: its page cannot be written.
bool write_jump(void* from, const void* to);

}  // namespace fb::redirect
