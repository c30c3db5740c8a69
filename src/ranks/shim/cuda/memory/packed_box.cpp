#include "ranks/shim/cuda/memory/packed_box.h"

#include <algorithm>
#include <cstring>

namespace fb::shim {
namespace {

void for_each_row(const CopyWork& box, auto&& visit) {
  for (size_t z = 0; z < box.depth; ++z) {
    for (size_t y = 0; y < box.height; ++y) {
      visit(static_cast<std::byte*>(box.to) + z * box.to_plane + y * box.to_pitch,
            static_cast<const std::byte*>(box.from) + z * box.from_plane + y * box.from_pitch);
    }
  }
}

}  // namespace

CopyWork flatten(CopyWork box) {
  const bool rows_touch = box.height == 1 || (box.to_pitch == box.width && box.from_pitch == box.width);
  const size_t plane = box.width * box.height;
  const bool planes_touch = box.depth == 1 || (box.to_plane == plane && box.from_plane == plane);
  if (rows_touch && planes_touch) {
    box.width *= box.height * box.depth;
    box.height = box.depth = 1;
    box.to_pitch = box.from_pitch = box.to_plane = box.from_plane = box.width;
  }
  return box;
}

void pack(const CopyWork& box, std::byte* into) {
  for_each_row(box, [&](std::byte*, const std::byte* from) {
    std::memcpy(into, from, box.width);
    into += box.width;
  });
}

void unpack(const CopyWork& box, const std::byte* from) {
  for_each_row(box, [&](std::byte* to, const std::byte*) {
    std::memcpy(to, from, box.width);
    from += box.width;
  });
}

void copy_box(const CopyWork& box) {
  for_each_row(box, [&](std::byte* to, const std::byte* from) { std::memmove(to, from, box.width); });
}

std::vector<CopyWork> split(const CopyWork& box, size_t most) {
  const size_t columns = std::min(box.width, most);
  const size_t rows = columns < box.width ? 1 : std::min(box.height, most / columns);
  std::vector<CopyWork> pieces;
  for (size_t z = 0; z < box.depth; ++z) {
    for (size_t y = 0; y < box.height; y += rows) {
      for (size_t x = 0; x < box.width; x += columns) {
        CopyWork piece = box;
        piece.to = static_cast<std::byte*>(box.to) + z * box.to_plane + y * box.to_pitch + x;
        piece.from = static_cast<const std::byte*>(box.from) + z * box.from_plane + y * box.from_pitch + x;
        piece.width = std::min(columns, box.width - x);
        piece.height = std::min(rows, box.height - y);
        piece.depth = 1;
        pieces.push_back(piece);
      }
    }
  }
  return pieces;
}

}  // namespace fb::shim
