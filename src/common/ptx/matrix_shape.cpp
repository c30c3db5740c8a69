#include "common/ptx/matrix_shape.h"

#include <array>
#include <charconv>
#include <cstddef>

namespace fb::ptx {
namespace {

// "m16n8k16", else none.
std::optional<MatrixShape> read_shape(std::string_view word) {
  MatrixShape shape;
  const char *at = word.data(), *end = word.data() + word.size();
  for (const auto& [letter, value] : {std::pair{'m', &shape.m}, {'n', &shape.n}, {'k', &shape.k}}) {
    if (at == end || *at != letter) return std::nullopt;
    const auto [next, problem] = std::from_chars(at + 1, end, *value);
    if (problem != std::errc{}) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return shape;
}

constexpr size_t kModCount = static_cast<size_t>(Mod::count_);

const std::array<std::optional<MatrixShape>, kModCount>& shapes() {
  static const auto kShapes = [] {
    std::array<std::optional<MatrixShape>, kModCount> all;
    for (size_t k = 0; k < kModCount; ++k) all[k] = read_shape(to_string(static_cast<Mod>(k)));
    return all;
  }();
  return kShapes;
}

}  // namespace

std::optional<MatrixShape> matrix_shape(const Instruction& instruction) {
  for (size_t k = 0; k < kModCount; ++k) {
    if (instruction.mods[k] && shapes()[k]) return shapes()[k];
  }
  return std::nullopt;
}

}  // namespace fb::ptx
