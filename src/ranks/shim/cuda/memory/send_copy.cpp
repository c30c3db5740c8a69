#include "ranks/shim/cuda/memory/send_copy.h"

#include <cstring>
#include <span>
#include <vector>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/host_memory.h"
#include "ranks/shim/cuda/memory/packed_box.h"
#include "ranks/shim/cuda/streams/wire_work.h"
#include "ranks/shim/where/where.h"

namespace fb::shim {
namespace {

Error send_between_addresses(Stream& stream, const CopyWork& box, bool wait) {
  wire::Copy request = to_wire(box, stream.ref());
  request.wait = wait ? 1 : 0;
  // Races with copies are reported with the line of the call.
  char line[56] = {};
  line_of(caller_outside(), line);
  return call_on<wire::Kind::copy>(stream.device, request, nullptr, std::as_bytes(std::span(line, std::strlen(line))));
}

// One end travels in the message.
Error send_with_blob(Stream& stream, const CopyWork& box, bool from_pageable, bool wait) {
  wire::Copy request = to_wire(box, stream.ref());
  request.pageable = 1;
  if (from_pageable) {
    request.from = 0;
    request.from_pitch = box.width;
    request.from_plane = box.width * box.height;
    request.wait = wait ? 1 : 0;
    std::vector<std::byte> bytes(box_bytes(box));
    pack(box, bytes.data());
    return call_on<wire::Kind::copy>(stream.device, request, nullptr, bytes);
  }
  request.to = 0;
  request.to_pitch = box.width;
  request.to_plane = box.width * box.height;
  request.wait = 1;
  std::vector<std::byte> bytes;
  const Error e = call_on<wire::Kind::copy>(stream.device, request, nullptr, {}, &bytes);
  if (e != cudaSuccess) return e;
  if (bytes.size() != box_bytes(box)) return cudaErrorUnknown;
  unpack(box, bytes.data());
  return cudaSuccess;
}

Error send_staged_piece(Stream& stream, const CopyWork& piece, bool from_pageable, std::byte* staging) {
  CopyWork staged = piece;
  if (from_pageable) {
    pack(piece, staging);
    staged.from = staging;
    staged.from_pitch = piece.width;
    staged.from_plane = piece.width * piece.height;
  } else {
    staged.to = staging;
    staged.to_pitch = piece.width;
    staged.to_plane = piece.width * piece.height;
  }
  wire::Copy request = to_wire(staged, stream.ref());
  request.pageable = 1;
  request.wait = 1;
  const Error e = call_on<wire::Kind::copy>(stream.device, request);
  if (e == cudaSuccess && !from_pageable) unpack(piece, staging);
  return e;
}

// Through pinned memory, piece by piece, each waited for because the next uses the same bytes.
Error send_staged(Stream& stream, const CopyWork& box, bool from_pageable) {
  const Staging staging;
  if (!staging.data()) return cudaErrorMemoryAllocation;
  for (const CopyWork& piece : split(box, Staging::kBytes)) {
    const Error e = send_staged_piece(stream, piece, from_pageable, staging.data());
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

}  // namespace

MemoryType memory_type_of(const void* pointer) {
  const auto range = find_host_range(pointer);
  if (range) return range->kind == wire::MemoryKind::managed ? MemoryType::managed : MemoryType::host;
  return Session::get().owns(reinterpret_cast<uint64_t>(pointer)) ? MemoryType::device : MemoryType::pageable;
}

Error send_copy(Stream& stream, const CopyWork& wanted, bool wait) {
  const CopyWork box = flatten(wanted);
  const bool to_pageable = memory_type_of(box.to) == MemoryType::pageable;
  const bool from_pageable = memory_type_of(box.from) == MemoryType::pageable;
  if (to_pageable && from_pageable) {
    // No device takes part; what matters is the order with the stream's work.
    if (const Error e = call_on<wire::Kind::stream_wait>(stream.device, stream.ref()); e != cudaSuccess) return e;
    copy_box(box);
    return cudaSuccess;
  }
  if (!to_pageable && !from_pageable) return send_between_addresses(stream, box, wait);
  if (box_bytes(box) <= wire::kLargestBlob) return send_with_blob(stream, box, from_pageable, wait);
  return send_staged(stream, box, from_pageable);
}

}  // namespace fb::shim
