#pragma once

// Reductions into memory element by element, for copies that reduce (cp.reduce.async.bulk, red.async).

#include <cstddef>
#include <cstdint>

#include "common/ptx/module.h"

namespace fb::simt {

enum class ReduceOp : uint8_t { add, min, max, inc, dec, and_, or_, xor_ };

// to[k] = to[k] op from[k] for `count` elements; the ranges do not overlap.
using Reduce = void (*)(std::byte* to, const std::byte* from, uint64_t count);

// Null: PTX has no such reduction. `flush` (f32 add only): subnormals become zero, as atomics on global memory do.
Reduce find_reduce(ReduceOp op, ptx::Type type, bool flush = false);

// The reduction an instruction names.
ReduceOp reduce_op(const ptx::Instruction& inst);

}  // namespace fb::simt
