#pragma once

// What is known of the types of elements in collectives and products of matrices.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/wire/messages.h"

namespace fb::wire {

struct ElementFacts {
  uint64_t size;
  std::string_view name;
  bool is_float;
};
// By number.
inline constexpr std::array<ElementFacts, 12> kElementTypes = {{{1, "i8", false},
                                                                {1, "u8", false},
                                                                {4, "i32", false},
                                                                {4, "u32", false},
                                                                {8, "i64", false},
                                                                {8, "u64", false},
                                                                {2, "f16", true},
                                                                {4, "f32", true},
                                                                {8, "f64", true},
                                                                {2, "bf16", true},
                                                                {1, "e4m3", true},
                                                                {1, "e5m2", true}}};

constexpr uint64_t size_of(ElementType type) { return kElementTypes[static_cast<size_t>(type)].size; }
constexpr std::string_view name_of(ElementType type) { return kElementTypes[static_cast<size_t>(type)].name; }
constexpr bool is_float(ElementType type) { return kElementTypes[static_cast<size_t>(type)].is_float; }

}  // namespace fb::wire
