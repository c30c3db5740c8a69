#include "ranks/shim/cuda/streams/wire_work.h"

namespace fb::shim {

wire::Launch to_wire(const KernelWork& kernel, wire::StreamRef stream, wire::Id function) {
  wire::Launch request;
  request.stream = stream;
  request.function = function;
  const unsigned int grid[3] = {kernel.grid.x, kernel.grid.y, kernel.grid.z};
  const unsigned int block[3] = {kernel.block.x, kernel.block.y, kernel.block.z};
  std::ranges::copy(grid, request.grid);
  std::ranges::copy(block, request.block);
  std::ranges::copy(kernel.cluster, request.cluster);
  request.flags = kernel.flags;
  request.dynamic_shared_bytes = kernel.shared_bytes;
  kernel.where.copy(request.where, sizeof request.where - 1);
  return request;
}

wire::Memset to_wire(const MemsetWork& box, wire::StreamRef stream) {
  return {.stream = stream,
          .to = reinterpret_cast<uint64_t>(box.to),
          .pitch = box.pitch,
          .plane = box.plane,
          .width = box.width,
          .height = box.height,
          .depth = box.depth,
          .value = box.value,
          .element = box.element};
}

wire::StreamValue to_wire(const ValueWork& work, wire::StreamRef stream) {
  return {.stream = stream, .address = work.address, .value = work.value, .bytes = work.bytes, .compare = work.compare};
}

wire::Copy to_wire(const CopyWork& box, wire::StreamRef stream) {
  return {.stream = stream,
          .to = reinterpret_cast<uint64_t>(box.to),
          .to_pitch = box.to_pitch,
          .to_plane = box.to_plane,
          .from = reinterpret_cast<uint64_t>(box.from),
          .from_pitch = box.from_pitch,
          .from_plane = box.from_plane,
          .width = box.width,
          .height = box.height,
          .depth = box.depth};
}

}  // namespace fb::shim
