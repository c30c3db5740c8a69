#include "ranks/shim/cuda/memory/copy.h"

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/array.h"
#include "ranks/shim/cuda/runtime/boxes.h"

namespace shim = fb::shim;
using shim::record;

namespace {

cudaError_t copy_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                    cudaMemcpyKind kind, cudaStream_t stream, bool synchronous) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  const shim::CopyWork box{.to = to,
                           .to_pitch = to_pitch,
                           .to_plane = to_pitch * height,
                           .from = from,
                           .from_pitch = from_pitch,
                           .from_plane = from_pitch * height,
                           .width = width,
                           .height = height,
                           .depth = 1,
                           .kind = kind};
  return shim::copy(box, stream, synchronous);
}

cudaError_t copy_3d(const cudaMemcpy3DParms* parameters, cudaStream_t stream, bool synchronous) {
  if (!parameters) return cudaErrorInvalidValue;
  const auto box = shim::to_box(*parameters);
  return box ? shim::copy(*box, stream, synchronous) : box.error();
}

cudaError_t copy_3d_between(const cudaMemcpy3DPeerParms* p, cudaStream_t stream, bool synchronous) {
  if (!p) return cudaErrorInvalidValue;
  const cudaMemcpy3DParms plain{.srcArray = p->srcArray,
                                .srcPos = p->srcPos,
                                .srcPtr = p->srcPtr,
                                .dstArray = p->dstArray,
                                .dstPos = p->dstPos,
                                .dstPtr = p->dstPtr,
                                .extent = p->extent,
                                .kind = cudaMemcpyDefault};
  for (const int device : {p->srcDevice, p->dstDevice}) {
    if (const auto e = shim::check_device(device); e != cudaSuccess) return e;
  }
  return copy_3d(&plain, stream, synchronous);
}

// The addresses say which devices they belong to; the numbers are checked for their own sake.
cudaError_t copy_between(void* to, int to_device, const void* from, int from_device, size_t bytes, cudaStream_t stream,
                         bool synchronous) {
  for (const int device : {to_device, from_device}) {
    if (const auto e = shim::check_device(device); e != cudaSuccess) return e;
  }
  return shim::copy(shim::line(to, from, bytes, cudaMemcpyDefault), stream, synchronous);
}

// Where a symbol's bytes are.
shim::Expected<std::byte*> symbol_at(const void* symbol, size_t bytes, size_t offset) {
  const auto facts = shim::find_symbol(symbol);
  if (!facts) return shim::failure(facts.error());
  if (offset > facts->bytes || bytes > facts->bytes - offset) return shim::failure(cudaErrorInvalidValue);
  return reinterpret_cast<std::byte*>(facts->address + offset);
}

cudaError_t copy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                           cudaStream_t stream, bool synchronous) {
  if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
  const auto to = symbol_at(symbol, bytes, offset);
  return to ? shim::copy(shim::line(*to, from, bytes, kind), stream, synchronous) : to.error();
}

cudaError_t copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                             cudaStream_t stream, bool synchronous) {
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
  const auto from = symbol_at(symbol, bytes, offset);
  return from ? shim::copy(shim::line(to, *from, bytes, kind), stream, synchronous) : from.error();
}

cudaError_t fill(void* to, size_t pitch, size_t plane, int value, size_t width, size_t height, size_t depth,
                 cudaStream_t stream, bool synchronous) {
  if (height > 1 && width > pitch) return cudaErrorInvalidValue;
  return shim::fill({.to = to,
                     .pitch = pitch,
                     .plane = plane,
                     .width = width,
                     .height = height,
                     .depth = depth,
                     .value = static_cast<uint32_t>(value) & 0xff,
                     .element = 1},
                    stream, synchronous);
}

cudaError_t fill_3d(const cudaPitchedPtr& to, int value, const cudaExtent& extent, cudaStream_t stream,
                    bool synchronous) {
  return fill(to.ptr, to.pitch, to.pitch * to.ysize, value, extent.width, extent.height, extent.depth, stream,
              synchronous);
}

cudaError_t copy_batch(const void* const* to, const void* const* from, const size_t* sizes, size_t count,
                       size_t attribute_count, cudaStream_t stream) {
  if (!to || !from || !sizes || count == 0 || attribute_count > count) return cudaErrorInvalidValue;
  // The default stream takes no batches.
  if (!stream || stream == cudaStreamLegacy) return cudaErrorInvalidValue;
  for (size_t k = 0; k < count; ++k) {
    const auto e =
        shim::copy(shim::line(const_cast<void*>(to[k]), from[k], sizes[k], cudaMemcpyDefault), stream, false);
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

}  // namespace

namespace fb::shim {

namespace {

// One end of a copy of `width` bytes × rows × planes. Offsets in arrays count elements, those in memory bytes.
Expected<BoxEnd> end_of(cudaArray_t array, const cudaPitchedPtr& pointer, const cudaPos& pos, size_t width,
                        const cudaExtent& extent) {
  if (array) {
    const auto found = find_array(array);
    if (!found) return failure(found.error());
    const size_t x = pos.x * (*found)->image.texel_bytes();
    return box_in_array(**found, x, pos.y, pos.z, width, extent.height, extent.depth);
  }
  if (width > 0 && extent.height > 0 && extent.depth > 0) {
    if (!pointer.ptr) return failure(cudaErrorInvalidValue);
    if (width + pos.x > pointer.pitch) return failure(cudaErrorInvalidPitchValue);
  }
  return BoxEnd{static_cast<std::byte*>(pointer.ptr) + (pos.z * pointer.ysize + pos.y) * pointer.pitch + pos.x,
                pointer.pitch, pointer.pitch * pointer.ysize};
}

}  // namespace

Expected<CopyWork> to_box(const cudaMemcpy3DParms& p) {
  size_t element = 1;  // widths count elements where an array takes part
  for (const cudaArray_t handle : {p.srcArray, p.dstArray}) {
    if (!handle) continue;
    const auto array = find_array(handle);
    if (!array) return failure(array.error());
    if (element != 1 && element != (*array)->image.texel_bytes()) return failure(cudaErrorInvalidValue);
    element = (*array)->image.texel_bytes();
  }
  const size_t width = p.extent.width * element;
  const auto to = end_of(p.dstArray, p.dstPtr, p.dstPos, width, p.extent);
  if (!to) return failure(to.error());
  const auto from = end_of(p.srcArray, p.srcPtr, p.srcPos, width, p.extent);
  if (!from) return failure(from.error());
  return CopyWork{.to = to->first,
                  .to_pitch = to->pitch,
                  .to_plane = to->plane,
                  .from = from->first,
                  .from_pitch = from->pitch,
                  .from_plane = from->plane,
                  .width = width,
                  .height = p.extent.height,
                  .depth = p.extent.depth,
                  .kind = p.kind};
}

}  // namespace fb::shim

FB_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return record(shim::copy(shim::line(to, from, bytes, kind), nullptr, true));
}
FB_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return record(shim::copy(shim::line(to, from, bytes, kind), stream, false));
}
FB_API cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return record(copy_between(to, to_device, from, from_device, bytes, nullptr, true));
}
FB_API cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                       cudaStream_t stream) {
  return record(copy_between(to, to_device, from, from_device, bytes, stream, false));
}
FB_API cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
  return record(copy_2d(to, to_pitch, from, from_pitch, width, height, kind, nullptr, true));
}
FB_API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return record(copy_2d(to, to_pitch, from, from_pitch, width, height, kind, stream, false));
}
FB_API cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return record(copy_3d(parameters, nullptr, true));
}
FB_API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return record(copy_3d(parameters, stream, false));
}
FB_API cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  return record(copy_3d_between(parameters, nullptr, true));
}
FB_API cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  return record(copy_3d_between(parameters, stream, false));
}
FB_API cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                                        cudaMemcpyAttributes*, size_t*, size_t attribute_count, cudaStream_t stream) {
  return record(copy_batch(to, from, sizes, count, attribute_count, stream));
}

FB_API cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return record(fill(to, bytes, bytes, value, bytes, 1, 1, nullptr, true));
}
FB_API cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return record(fill(to, bytes, bytes, value, bytes, 1, 1, stream, false));
}
FB_API cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return record(fill(to, pitch, pitch * height, value, width, height, 1, nullptr, true));
}
FB_API cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                     cudaStream_t stream) {
  return record(fill(to, pitch, pitch * height, value, width, height, 1, stream, false));
}
FB_API cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return record(fill_3d(to, value, extent, nullptr, true));
}
FB_API cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return record(fill_3d(to, value, extent, stream, false));
}

FB_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind) {
  return record(copy_to_symbol(symbol, from, bytes, offset, kind, nullptr, true));
}
FB_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                           cudaMemcpyKind kind, cudaStream_t stream) {
  return record(copy_to_symbol(symbol, from, bytes, offset, kind, stream, false));
}
FB_API cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                        cudaMemcpyKind kind) {
  return record(copy_from_symbol(to, symbol, bytes, offset, kind, nullptr, true));
}
FB_API cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind, cudaStream_t stream) {
  return record(copy_from_symbol(to, symbol, bytes, offset, kind, stream, false));
}
