#include "virtual_node/simt/tensor/tensor_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"

namespace fb::simt {
namespace {

constexpr uint32_t kPiece = 16;  // what swizzling moves
constexpr size_t kLongestRow = 256 * 8;

// Part [0, end) of a dimension that the coordinates begin, begin + step, … hit.
bool inside(int64_t at, uint64_t end) { return at >= 0 && static_cast<uint64_t>(at) < end; }

void copy_row_in(const TensorBox& box, const SharedRef& to, uint32_t offset, const std::byte* row) {
  if (box.swizzle == TensorSwizzle::none) {
    std::memcpy(to.host + offset, row, box.row_bytes);
    return;
  }
  for (uint32_t k = 0; k < box.row_bytes; k += kPiece) {
    const uint32_t a = to.offset + offset + k;
    std::memcpy(to.host + (static_cast<int64_t>(swizzled(box.swizzle, a)) - to.offset), row + k, kPiece);
  }
}

void copy_row_out(const TensorBox& box, const SharedRef& from, uint32_t offset, std::byte* row) {
  if (box.swizzle == TensorSwizzle::none) {
    std::memcpy(row, from.host + offset, box.row_bytes);
    return;
  }
  for (uint32_t k = 0; k < box.row_bytes; k += kPiece) {
    const uint32_t a = from.offset + offset + k;
    std::memcpy(row + k, from.host + (static_cast<int64_t>(swizzled(box.swizzle, a)) - from.offset), kPiece);
  }
}

}  // namespace

MapRef resolve_tensor_map(Warp& w, const Inst& i, uint32_t lane, ptx::Space space, mem::Address a) {
  // Maps are aligned to 64 bytes: two halves.
  std::byte* host = w.resolve(i, space, lane, a, kTensorMapBytes / 2);
  if (w.resolve(i, space, lane, a + kTensorMapBytes / 2, kTensorMapBytes / 2) != host + kTensorMapBytes / 2) {
    w.trap(TrapKind::invalid_operand, i, lane, fmt::format("the tensor map at {:#x} lies in two allocations", a), a);
  }
  return {host, a};
}

TensorMap MapRef::load(Warp& w, const Inst& i, uint32_t lane) const {
  TensorMap map;
  if (!decode(std::span<const std::byte, kTensorMapBytes>(host, kTensorMapBytes), map)) {
    w.trap(TrapKind::invalid_operand, i, lane, fmt::format("there is no tensor map at {:#x}", address), address);
  }
  return map;
}

void MapRef::store(Warp& w, const TensorMap& map) const {
  encode(map, std::span<std::byte, kTensorMapBytes>(host, kTensorMapBytes));
  w.mark_initialised(host, kTensorMapBytes);
  w.environment().watch().written(host, kTensorMapBytes);
}

Reduce find_tensor_reduce(ReduceOp op, TensorType type) {
  const ptx::Type t = arithmetic_type(type);
  const bool integer = ptx::kind_of(t) == ptx::TypeKind::unsigned_int || ptx::kind_of(t) == ptx::TypeKind::signed_int;
  if (integer && (op == ReduceOp::and_ || op == ReduceOp::or_ || op == ReduceOp::xor_)) {
    return find_reduce(op, ptx::bits_of(t) == 64 ? ptx::Type::b64 : ptx::bits_of(t) == 32 ? ptx::Type::b32 : t);
  }
  return find_reduce(op, t, true);
}

TensorMap load_tensor_map(Warp& w, const Inst& i, uint32_t lane, mem::Address a, uint32_t rank) {
  const TensorMap map = resolve_tensor_map(w, i, lane, ptx::Space::generic, a).load(w, i, lane);
  if (const std::string problem = find_problem(map); !problem.empty()) {
    w.trap(TrapKind::invalid_operand, i, lane, fmt::format("the tensor map at {:#x}: {}", a, problem), a);
  }
  if (map.rank != rank) {
    w.trap(TrapKind::invalid_operand, i, lane,
           fmt::format("the tensor map at {:#x} has {} dimensions, the instruction {}", a, map.rank, rank), a);
  }
  return map;
}

TensorBox find_box(Warp& w, const Inst& i, uint32_t lane, const TensorMap& map, const int32_t* coordinates) {
  TensorBox box;
  const uint32_t element = bytes_of(map.type);
  box.type = map.type;
  box.swizzle = map.swizzle;
  box.row_bytes = map.box[0] * element;
  box.bytes = box_bytes(map);
  if (box.bytes >= 1u << 24) w.trap(TrapKind::invalid_operand, i, lane, "the box is larger than shared memory");
  // What all rows have in common: the part of the innermost dimension inside the tensor.
  const int64_t first = std::max<int64_t>(coordinates[0], 0);
  const int64_t last = std::min<int64_t>(int64_t{coordinates[0]} + map.box[0], static_cast<int64_t>(map.dims[0]));
  const auto begin = static_cast<uint32_t>(std::min<int64_t>(first - coordinates[0], map.box[0])) * element;
  const auto bytes = static_cast<uint32_t>(std::max<int64_t>(last - first, 0)) * element;

  const uint32_t rows = box.bytes / box.row_bytes;
  box.rows.resize(rows);
  for (uint32_t r = 0; r < rows; ++r) {
    TensorRow& row = box.rows[r];
    bool in = bytes != 0;
    mem::Address a = map.address + static_cast<uint64_t>(first) * element;
    uint32_t rest = r;
    for (uint32_t k = 1; k < map.rank; ++k) {
      const uint32_t count = box_elements(map, k);
      const int64_t at = int64_t{coordinates[k]} + int64_t{rest % count} * map.element_strides[k];
      rest /= count;
      in = in && inside(at, map.dims[k]);
      a += static_cast<uint64_t>(at) * map.strides[k - 1];
    }
    if (!in) continue;
    row = {resolve_global(w, i, lane, a, bytes, 1), a, begin, bytes};
  }
  return box;
}

void load_box(const TensorBox& box, const SharedRef& to) {
  std::array<std::byte, kLongestRow> buffer;
  uint32_t offset = 0;
  for (const TensorRow& row : box.rows) {
    if (row.bytes != box.row_bytes) std::memset(buffer.data(), 0, box.row_bytes);
    if (row.bytes != 0) std::memcpy(buffer.data() + row.begin, row.global, row.bytes);
    copy_row_in(box, to, offset, buffer.data());
    offset += box.row_bytes;
  }
  shared_written(*to.owner, to.host, box.bytes);
}

void store_box(const TensorBox& box, const SharedRef& from, Reduce reduce, Watch& watch) {
  std::array<std::byte, kLongestRow> buffer;
  uint32_t offset = 0;
  for (const TensorRow& row : box.rows) {
    if (row.bytes != 0) {
      copy_row_out(box, from, offset, buffer.data());
      if (reduce) {
        reduce(row.global, buffer.data() + row.begin, row.bytes / bytes_of(box.type));
      } else {
        std::memcpy(row.global, buffer.data() + row.begin, row.bytes);
      }
      watch.written(row.global, row.bytes);
    }
    offset += box.row_bytes;
  }
}

}  // namespace fb::simt
