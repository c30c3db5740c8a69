#pragma once

#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/streams/work.h"

namespace fb::shim {

// The kind of memory that an address belongs to, for copies.
enum class MemoryType { pageable, host, managed, device };
MemoryType memory_type_of(const void* pointer);

// What submit() does with a copy on a stream that does not capture.
Error send_copy(Stream& stream, const CopyWork& box, bool wait);

}  // namespace fb::shim
