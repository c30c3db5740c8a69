#include "judge/catalog/dtype.h"

#include <array>

#include "common/base/check.h"

namespace fb::catalog {
namespace {

struct Row {
  std::string_view name, cuda_type;
  size_t size;
  bool floating, with_sign;
};

constexpr std::array<Row, kDTypes> kRows = {{
    {"f32", "float", 4, true, true},
    {"f16", "__half", 2, true, true},
    {"bf16", "__nv_bfloat16", 2, true, true},
    {"f64", "double", 8, true, true},
    {"i32", "int32_t", 4, false, true},
    {"u32", "uint32_t", 4, false, false},
    {"i64", "int64_t", 8, false, true},
    {"u64", "uint64_t", 8, false, false},
    {"u8", "uint8_t", 1, false, false},
}};

const Row& row(DType type) {
  const auto index = static_cast<size_t>(type);
  FB_CHECK(index < kRows.size());
  return kRows[index];
}

}  // namespace

size_t size_of(DType type) { return row(type).size; }
std::string_view name_of(DType type) { return row(type).name; }
std::string_view cuda_type_of(DType type) { return row(type).cuda_type; }
bool is_float(DType type) { return row(type).floating; }
bool is_signed(DType type) { return row(type).with_sign; }

std::optional<DType> dtype_from(std::string_view name) {
  for (size_t k = 0; k < kRows.size(); ++k) {
    if (kRows[k].name == name) return static_cast<DType>(k);
  }
  return std::nullopt;
}

}  // namespace fb::catalog
