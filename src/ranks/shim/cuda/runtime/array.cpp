#include "ranks/shim/cuda/memory/array.h"

#include <algorithm>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/copy.h"

namespace shim = fb::shim;
using shim::record;

namespace {

cudaError_t allocate(cudaArray_t* array, const cudaChannelFormatDesc* format, const cudaExtent& extent,
                     unsigned int flags) {
  if (!array || !format) return cudaErrorInvalidValue;
  const auto made = shim::make_array(*format, extent, flags);
  if (!made) return made.error();
  *array = *made;
  return cudaSuccess;
}

shim::Expected<shim::BoxEnd> in_array(cudaArray_const_t handle, size_t x, size_t y, size_t width, size_t height) {
  const auto array = shim::find_array(handle);
  if (!array) return shim::failure(array.error());
  return shim::box_in_array(**array, x, y, 0, width, height, 1);
}

cudaError_t copy(const shim::BoxEnd& to, const shim::BoxEnd& from, size_t width, size_t height, cudaMemcpyKind kind,
                 cudaStream_t stream, bool synchronous) {
  return shim::copy({.to = to.first,
                     .to_pitch = to.pitch,
                     .to_plane = to.plane,
                     .from = from.first,
                     .from_pitch = from.pitch,
                     .from_plane = from.plane,
                     .width = width,
                     .height = height,
                     .depth = 1,
                     .kind = kind},
                    stream, synchronous);
}

shim::BoxEnd in_memory(const void* pointer, size_t pitch, size_t height) {
  return {static_cast<std::byte*>(const_cast<void*>(pointer)), pitch, pitch * height};
}

cudaError_t to_array(cudaArray_t array, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height,
                     cudaMemcpyKind kind, cudaStream_t stream, bool synchronous) {
  if (width > pitch) return cudaErrorInvalidPitchValue;
  const auto to = in_array(array, x, y, width, height);
  return to ? copy(*to, in_memory(from, pitch, height), width, height, kind, stream, synchronous) : to.error();
}

cudaError_t from_array(void* to, size_t pitch, cudaArray_const_t array, size_t x, size_t y, size_t width, size_t height,
                       cudaMemcpyKind kind, cudaStream_t stream, bool synchronous) {
  if (width > pitch) return cudaErrorInvalidPitchValue;
  const auto from = in_array(array, x, y, width, height);
  return from ? copy(in_memory(to, pitch, height), *from, width, height, kind, stream, synchronous) : from.error();
}

cudaError_t between_arrays(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                           size_t from_y, size_t width, size_t height, cudaMemcpyKind kind) {
  const auto to_end = in_array(to, to_x, to_y, width, height), from_end = in_array(from, from_x, from_y, width, height);
  if (!to_end) return to_end.error();
  if (!from_end) return from_end.error();
  return copy(*to_end, *from_end, width, height, kind, nullptr, true);
}

// Bytes that run on from row to row of an array: f(offset in the bytes, x, y, width, rows) for boxes of them.
template <class F>
cudaError_t each_run(cudaArray_const_t handle, size_t x, size_t y, size_t bytes, F f) {
  const auto array = shim::find_array(handle);
  if (!array) return array.error();
  const size_t row = (*array)->row_bytes();
  if (x >= row) return cudaErrorInvalidValue;
  for (size_t done = 0; done < bytes;) {
    const bool whole = x == 0 && bytes - done >= row;
    const size_t rows = whole ? (bytes - done) / row : 1;
    const size_t width = std::min(row - x, bytes - done);
    if (const cudaError_t e = f(done, x, y, width, rows); e != cudaSuccess) return e;
    done += width * rows;
    y += rows;
    x = 0;
  }
  return cudaSuccess;
}

cudaError_t run_to_array(cudaArray_t array, size_t x, size_t y, const void* from, size_t bytes, cudaMemcpyKind kind,
                         cudaStream_t stream, bool synchronous) {
  return each_run(array, x, y, bytes, [&](size_t done, size_t at, size_t row, size_t width, size_t rows) {
    return to_array(array, at, row, static_cast<const std::byte*>(from) + done, width, width, rows, kind, stream,
                    synchronous);
  });
}

cudaError_t run_from_array(void* to, cudaArray_const_t array, size_t x, size_t y, size_t bytes, cudaMemcpyKind kind,
                           cudaStream_t stream, bool synchronous) {
  return each_run(array, x, y, bytes, [&](size_t done, size_t at, size_t row, size_t width, size_t rows) {
    return from_array(static_cast<std::byte*>(to) + done, width, array, at, row, width, rows, kind, stream,
                      synchronous);
  });
}

}  // namespace

FB_API cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
FB_API cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t handle) {
  const auto array = shim::find_array(handle);
  if (!array || !format) return record(!array ? array.error() : cudaErrorInvalidValue);
  *format = (*array)->format;
  return cudaSuccess;
}

FB_API cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width, size_t height,
                                   unsigned int flags) {
  return record(allocate(array, format, {width, height, 0}, flags));
}
FB_API cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                                     unsigned int flags) {
  return record(allocate(array, format, extent, flags));
}
FB_API cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array, const cudaChannelFormatDesc* format,
                                            cudaExtent extent, unsigned int levels, unsigned int flags) {
  if (!array || !format) return record(cudaErrorInvalidValue);
  const auto made = shim::make_mipmapped_array(*format, extent, levels, flags);
  if (!made) return record(made.error());
  *array = *made;
  return cudaSuccess;
}
FB_API cudaError_t cudaFreeArray(cudaArray_t array) { return record(shim::free_array(array)); }
FB_API cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  return record(shim::free_mipmapped_array(array));
}
FB_API cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level, cudaMipmappedArray_const_t handle, unsigned int k) {
  const auto array = shim::find_mipmapped_array(handle);
  if (!array) return record(array.error());
  if (!level || k >= (*array)->levels.size()) return record(cudaErrorInvalidValue);
  *level = (*array)->levels[k];
  return cudaSuccess;
}
FB_API cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned int* flags,
                                    cudaArray_t handle) {
  const auto array = shim::find_array(handle);
  if (!array) return record(array.error());
  if (format) *format = (*array)->format;
  if (extent) *extent = (*array)->extent;
  if (flags) *flags = (*array)->flags;
  return cudaSuccess;
}

FB_API cudaError_t cudaMemcpy2DToArray(cudaArray_t array, size_t x, size_t y, const void* from, size_t pitch,
                                       size_t width, size_t height, cudaMemcpyKind kind) {
  return record(to_array(array, x, y, from, pitch, width, height, kind, nullptr, true));
}
FB_API cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t array, size_t x, size_t y, const void* from, size_t pitch,
                                            size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return record(to_array(array, x, y, from, pitch, width, height, kind, stream, false));
}
FB_API cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t array, size_t x, size_t y,
                                         size_t width, size_t height, cudaMemcpyKind kind) {
  return record(from_array(to, pitch, array, x, y, width, height, kind, nullptr, true));
}
FB_API cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t array, size_t x, size_t y,
                                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return record(from_array(to, pitch, array, x, y, width, height, kind, stream, false));
}
FB_API cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                            size_t from_x, size_t from_y, size_t width, size_t height,
                                            cudaMemcpyKind kind) {
  return record(between_arrays(to, to_x, to_y, from, from_x, from_y, width, height, kind));
}

FB_API cudaError_t cudaMemcpyToArray(cudaArray_t array, size_t x, size_t y, const void* from, size_t bytes,
                                     cudaMemcpyKind kind) {
  return record(run_to_array(array, x, y, from, bytes, kind, nullptr, true));
}
FB_API cudaError_t cudaMemcpyToArrayAsync(cudaArray_t array, size_t x, size_t y, const void* from, size_t bytes,
                                          cudaMemcpyKind kind, cudaStream_t stream) {
  return record(run_to_array(array, x, y, from, bytes, kind, stream, false));
}
FB_API cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t array, size_t x, size_t y, size_t bytes,
                                       cudaMemcpyKind kind) {
  return record(run_from_array(to, array, x, y, bytes, kind, nullptr, true));
}
FB_API cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t array, size_t x, size_t y, size_t bytes,
                                            cudaMemcpyKind kind, cudaStream_t stream) {
  return record(run_from_array(to, array, x, y, bytes, kind, stream, false));
}
FB_API cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                          size_t from_x, size_t from_y, size_t bytes, cudaMemcpyKind kind) {
  return record(between_arrays(to, to_x, to_y, from, from_x, from_y, bytes, 1, kind));
}
