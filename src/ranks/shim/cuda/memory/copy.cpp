#include "ranks/shim/cuda/memory/copy.h"

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/send_copy.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/submit.h"

namespace fb::shim {
namespace {

// Unified addressing lets any pointer be either end, except where the direction says what the pointer cannot be.
Error check_direction(MemoryType to, MemoryType from, cudaMemcpyKind kind) {
  const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  const bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  if (kind == cudaMemcpyDefault) return cudaSuccess;
  if (to_host ? to == MemoryType::device : to == MemoryType::pageable) return cudaErrorInvalidValue;
  if (from_host ? from == MemoryType::device : from == MemoryType::pageable) return cudaErrorInvalidValue;
  return cudaSuccess;
}

}  // namespace

Error copy(const CopyWork& box, cudaStream_t handle, bool synchronous) {
  if (box.kind < cudaMemcpyHostToHost || box.kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  if (const Error e = Session::get().connect(); e != cudaSuccess) return e;
  if (box.width == 0 || box.height == 0 || box.depth == 0) return cudaSuccess;
  if (!box.to || !box.from) return cudaErrorInvalidValue;
  const MemoryType to = memory_type_of(box.to), from = memory_type_of(box.from);
  if (const Error e = check_direction(to, from, box.kind); e != cudaSuccess) return e;
  if (synchronous) {
    if (const Error e = check_default_stream(**stream); e != cudaSuccess) return e;
    if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
  }
  const bool wait = synchronous && !(to == MemoryType::device && from == MemoryType::device);
  return submit(**stream, box, wait);
}

Error fill(const MemsetWork& box, cudaStream_t handle, bool synchronous) {
  const auto stream = find_stream(handle);
  if (!stream) return stream.error();
  if (const Error e = Session::get().connect(); e != cudaSuccess) return e;
  if (box.width == 0 || box.height == 0 || box.depth == 0) return cudaSuccess;
  const MemoryType to = memory_type_of(box.to);
  if (!box.to || to == MemoryType::pageable) return cudaErrorInvalidValue;
  if (reinterpret_cast<uint64_t>(box.to) % box.element != 0) return cudaErrorInvalidValue;
  if (synchronous) {
    if (const Error e = check_default_stream(**stream); e != cudaSuccess) return e;
    if (const Error e = check_unsafe_call(); e != cudaSuccess) return e;
  }
  return submit(**stream, box, synchronous && to != MemoryType::device);
}

}  // namespace fb::shim
