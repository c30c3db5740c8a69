#include "judge/catalog/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace fb::catalog {
namespace {

Collective row(std::string_view name, int passes, bool whole) {
  return {name, whole ? "1" : fmt::format("{} * (world - 1) / world", std::max(1, passes))};
}

}  // namespace

std::span<const Collective> collectives() {
  static const std::vector<Collective> kRows = {
#define NCCL_OP(name, passes, whole) row(#name, passes, whole),
#include "common/api/nccl_ops.def"
  };
  return kRows;
}

const Collective* find_collective(std::string_view name) {
  const auto rows = collectives();
  const auto found = std::ranges::find(rows, name, &Collective::name);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace fb::catalog
