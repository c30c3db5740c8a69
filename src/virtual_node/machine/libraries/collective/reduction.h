#pragma once

// Reductions of NCCL, byte for byte: elements of several ranks become one, in a stated order of additions.
//
// Rings and trees add two elements at each hop and round to the type; the switch and kernels on windows add in f32 and
// round once. Additions follow the order of `inputs`. A scaled sum multiplies each element by its rank's scalar first,
// rounded to the type. The average of floats is a scaled sum by 1/n, rounded to the type; that of integers is the sum,
// which wraps around, divided by n towards zero. Minima and maxima ignore NaN where the other element is a number. fp8
// saturates.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/wire/element_type.h"
#include "common/wire/messages.h"

namespace fb::machine {

std::string_view name_of(wire::ReduceOp op);  // "sum"
// Whether the switch adds this type with this operation.
bool switch_reduces(wire::ElementType type, wire::ReduceOp op);

enum class Accumulation : uint8_t { rounded_at_each_hop, in_f32 };

struct ReductionInput {
  const std::byte* elements = nullptr;
  uint64_t scalar = 0;  // scaled_sum: its bits in the type
};

struct Reduction {
  wire::ElementType type{};
  wire::ReduceOp op{};
  Accumulation accumulation{};
  uint32_t ranks = 1;  // of the average
};

// `count` elements of all inputs; `out` may be one of the inputs.
void reduce(const Reduction& how, std::span<const ReductionInput> inputs, std::byte* out, uint64_t count);

}  // namespace fb::machine
