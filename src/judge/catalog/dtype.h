#pragma once

// The number formats of tensors.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fb::catalog {

// In the order of fabricbench::oracle::DType (sdk/include/fabricbench/oracle.h): the judge passes the number.
enum class DType : uint8_t { f32, f16, bf16, f64, i32, u32, i64, u64, u8 };
inline constexpr size_t kDTypes = 9;

size_t size_of(DType type);
std::string_view name_of(DType type);
// As a field of Args spells it: "__nv_bfloat16".
std::string_view cuda_type_of(DType type);
bool is_float(DType type);
bool is_signed(DType type);
std::optional<DType> dtype_from(std::string_view name);

}  // namespace fb::catalog
