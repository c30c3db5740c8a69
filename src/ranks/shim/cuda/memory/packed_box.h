#pragma once

// Boxes of bytes in this process's own memory.

#include <cstddef>
#include <vector>

#include "ranks/shim/cuda/streams/work.h"

namespace fb::shim {

inline size_t box_bytes(const CopyWork& box) { return box.width * box.height * box.depth; }

// The same bytes with as few rows as possible.
CopyWork flatten(CopyWork box);

// Row by row between the box's source, or its destination, and packed bytes.
void pack(const CopyWork& box, std::byte* into);
void unpack(const CopyWork& box, const std::byte* from);
void copy_box(const CopyWork& box);

// Boxes of at most `most` bytes that together are this one, in order.
std::vector<CopyWork> split(const CopyWork& box, size_t most);

}  // namespace fb::shim
