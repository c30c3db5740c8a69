#include "ranks/shim/cuda/driver/copy.h"

#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/memory/array.h"
#include "ranks/shim/cuda/memory/copy.h"

namespace fb::shim {
namespace {

// One end of a box as the program describes it.
struct End {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t x, y, z, pitch, height;
};

Expected<BoxEnd> box_at(const End& end, size_t width, size_t height, size_t depth) {
  uint64_t base = 0;
  switch (end.type) {
    case CU_MEMORYTYPE_HOST:
      base = reinterpret_cast<uint64_t>(end.host);
      break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      base = end.device;
      break;
    case CU_MEMORYTYPE_ARRAY: {
      const auto array = find_array(reinterpret_cast<cudaArray_t>(end.array));
      if (!array) return failure(array.error());
      return box_in_array(**array, end.x, end.y, end.z, width, height, depth);
    }
    default:
      return failure(cudaErrorInvalidValue);
  }
  // A box that has one row or one plane may leave the distance of rows or planes 0.
  const size_t pitch = end.pitch == 0 ? width : end.pitch, rows = end.height == 0 ? height : end.height;
  if (height > 1 && pitch < width) return failure(cudaErrorInvalidValue);
  return BoxEnd{reinterpret_cast<std::byte*>(base + end.x + pitch * (end.y + rows * end.z)), pitch, pitch * rows};
}

Expected<CopyWork> box_between(const End& to, const End& from, size_t width, size_t height, size_t depth) {
  const auto to_box = box_at(to, width, height, depth), from_box = box_at(from, width, height, depth);
  if (!to_box) return failure(to_box.error());
  if (!from_box) return failure(from_box.error());
  return CopyWork{.to = to_box->first,
                  .to_pitch = to_box->pitch,
                  .to_plane = to_box->plane,
                  .from = from_box->first,
                  .from_pitch = from_box->pitch,
                  .from_plane = from_box->plane,
                  .width = width,
                  .height = height,
                  .depth = depth,
                  .kind = cudaMemcpyDefault};
}

}  // namespace

Expected<CopyWork> to_box(const CUDA_MEMCPY2D* c) {
  if (!c) return failure(cudaErrorInvalidValue);
  const End to{c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes,
               c->dstY,          0,          c->dstPitch,  c->Height};
  const End from{c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes,
                 c->srcY,          0,          c->srcPitch,  c->Height};
  return box_between(to, from, c->WidthInBytes, c->Height, 1);
}

Expected<CopyWork> to_box(const CUDA_MEMCPY3D* c) {
  if (!c || c->srcLOD != 0 || c->dstLOD != 0) return failure(cudaErrorInvalidValue);
  const End to{c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes,
               c->dstY,          c->dstZ,    c->dstPitch,  c->dstHeight};
  const End from{c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes,
                 c->srcY,          c->srcZ,    c->srcPitch,  c->srcHeight};
  return box_between(to, from, c->WidthInBytes, c->Height, c->Depth);
}

namespace {

CUresult copy_line(CUdeviceptr to, CUdeviceptr from, size_t bytes, cudaMemcpyKind kind, CUstream stream, bool wait) {
  return in_context([&] { return copy(line(pointer_of(to), pointer_of(from), bytes, kind), stream, wait); });
}

template <class Description>
CUresult copy_box(const Description* description, CUstream stream, bool wait) {
  return in_context([&] {
    const auto box = to_box(description);
    return box ? copy(*box, stream, wait) : box.error();
  });
}

CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUresult fill_box(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t element, size_t width, size_t height,
                  CUstream stream, bool wait) {
  return in_context([&] {
    if (height > 1 && pitch < width * element) return cudaErrorInvalidValue;
    return fill({.to = pointer_of(to),
                 .pitch = height > 1 ? pitch : width * element,
                 .plane = pitch * height,
                 .width = width,
                 .height = height,
                 .depth = 1,
                 .value = value,
                 .element = element},
                stream, wait);
  });
}

}  // namespace
}  // namespace fb::shim

using namespace fb::shim;

// Copies

FB_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_line(to, from, bytes, cudaMemcpyDefault, nullptr, true);
}
FB_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_line(to, from, bytes, cudaMemcpyDefault, stream, false);
}
FB_API CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return copy_line(to, address_of(from), bytes, cudaMemcpyHostToDevice, nullptr, true);
}
FB_API CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy_line(to, address_of(from), bytes, cudaMemcpyHostToDevice, stream, false);
}
FB_API CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return copy_line(address_of(to), from, bytes, cudaMemcpyDeviceToHost, nullptr, true);
}
FB_API CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_line(address_of(to), from, bytes, cudaMemcpyDeviceToHost, stream, false);
}
FB_API CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy_line(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr, true);
}
FB_API CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_line(to, from, bytes, cudaMemcpyDeviceToDevice, stream, false);
}

FB_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                  size_t bytes, CUstream stream) {
  return in_context([&] {
    const int to_device = device_of(to_context), from_device = device_of(from_context);
    if (to_device < 0 || from_device < 0) return cudaErrorDeviceUninitialized;
    return as_runtime(
        [&] { return cudaMemcpyPeerAsync(pointer_of(to), to_device, pointer_of(from), from_device, bytes, stream); });
  });
}
FB_API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                             size_t bytes) {
  return in_context([&] {
    const int to_device = device_of(to_context), from_device = device_of(from_context);
    if (to_device < 0 || from_device < 0) return cudaErrorDeviceUninitialized;
    return as_runtime([&] { return cudaMemcpyPeer(pointer_of(to), to_device, pointer_of(from), from_device, bytes); });
  });
}

FB_API CUresult cuMemcpy2D(const CUDA_MEMCPY2D* box) { return copy_box(box, nullptr, true); }
FB_API CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* box) { return copy_box(box, nullptr, true); }
FB_API CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* box, CUstream stream) { return copy_box(box, stream, false); }
FB_API CUresult cuMemcpy3D(const CUDA_MEMCPY3D* box) { return copy_box(box, nullptr, true); }
FB_API CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* box, CUstream stream) { return copy_box(box, stream, false); }

FB_API CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                                   CUmemcpyAttributes* attributes, size_t*, size_t attribute_count, CUstream stream) {
  return in_context([&]() -> Error {
    if (!to || !from || !sizes || count == 0 || !attributes || attribute_count == 0 || attribute_count > count)
      return cudaErrorInvalidValue;
    // A batch has an order to keep with its stream, which the default stream can't promise.
    if (!stream) return cudaErrorInvalidValue;
    for (size_t k = 0; k < count; ++k) {
      const Error e = copy(line(pointer_of(to[k]), pointer_of(from[k]), sizes[k], cudaMemcpyDefault), stream, false);
      if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
  });
}

// Fills

#define FILL(bits, Type)                                                                                          \
  FB_API CUresult cuMemsetD##bits##Async(CUdeviceptr to, Type value, size_t count, CUstream stream) {             \
    return fill_box(to, 0, value, bits / 8, count, 1, stream, false);                                             \
  }                                                                                                               \
  FB_API CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, Type value, size_t width, size_t height, \
                                           CUstream stream) {                                                     \
    return fill_box(to, pitch, value, bits / 8, width, height, stream, false);                                    \
  }                                                                                                               \
  FB_API CUresult cuMemsetD##bits##_v2(CUdeviceptr to, Type value, size_t count) {                                \
    return fill_box(to, 0, value, bits / 8, count, 1, nullptr, true);                                             \
  }                                                                                                               \
  FB_API CUresult cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, Type value, size_t width, size_t height) { \
    return fill_box(to, pitch, value, bits / 8, width, height, nullptr, true);                                    \
  }
FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)
#undef FILL
