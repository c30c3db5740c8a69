#include <algorithm>
#include <cstring>

#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/memory/array.h"
#include "ranks/shim/cuda/memory/copy.h"
#include "ranks/shim/cuda/memory/texture_object.h"

using namespace fb::shim;

namespace {

cudaArray_t handle_of(CUarray array) { return reinterpret_cast<cudaArray_t>(array); }
cudaMipmappedArray_t handle_of(CUmipmappedArray array) { return reinterpret_cast<cudaMipmappedArray_t>(array); }

struct FormatRow {
  CUarray_format format;
  int bits;
  cudaChannelFormatKind kind;
};
constexpr FormatRow kFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
    {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat},
};

Expected<cudaChannelFormatDesc> to_runtime(CUarray_format format, unsigned int channels) {
  const auto* row = std::ranges::find(kFormats, format, &FormatRow::format);
  if (row == std::end(kFormats) || (channels != 1 && channels != 2 && channels != 4))
    return failure(cudaErrorInvalidValue);
  return cudaChannelFormatDesc{row->bits, channels > 1 ? row->bits : 0, channels > 2 ? row->bits : 0,
                               channels > 3 ? row->bits : 0, row->kind};
}

CUarray_format format_of(const cudaChannelFormatDesc& format) {
  for (const FormatRow& row : kFormats) {
    if (row.bits == format.x && row.kind == format.f) return row.format;
  }
  return CU_AD_FORMAT_FLOAT;
}

Error make(CUarray* array, CUarray_format format, unsigned int channels, const cudaExtent& extent, unsigned int flags) {
  if (!array) return cudaErrorInvalidValue;
  const auto as_runtime_format = to_runtime(format, channels);
  if (!as_runtime_format) return as_runtime_format.error();
  const auto made = make_array(*as_runtime_format, extent, flags);
  if (!made) return made.error();
  *array = reinterpret_cast<CUarray>(*made);
  return cudaSuccess;
}

Expected<cudaResourceDesc> to_runtime(const CUDA_RESOURCE_DESC& d) {
  cudaResourceDesc resource{};
  switch (d.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      resource.resType = cudaResourceTypeArray;
      resource.res.array.array = handle_of(d.res.array.hArray);
      return resource;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      resource.resType = cudaResourceTypeMipmappedArray;
      resource.res.mipmap.mipmap = handle_of(d.res.mipmap.hMipmappedArray);
      return resource;
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto format = to_runtime(d.res.linear.format, d.res.linear.numChannels);
      if (!format) return failure(format.error());
      resource.resType = cudaResourceTypeLinear;
      resource.res.linear = {pointer_of(d.res.linear.devPtr), *format, d.res.linear.sizeInBytes};
      return resource;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& p = d.res.pitch2D;
      const auto format = to_runtime(p.format, p.numChannels);
      if (!format) return failure(format.error());
      resource.resType = cudaResourceTypePitch2D;
      resource.res.pitch2D = {pointer_of(p.devPtr), *format, p.width, p.height, p.pitchInBytes};
      return resource;
    }
    default:
      return failure(cudaErrorInvalidValue);
  }
}

unsigned int channel_count(const cudaChannelFormatDesc& f) { return f.w != 0 ? 4 : f.y != 0 ? 2 : 1; }

CUDA_RESOURCE_DESC to_driver(const cudaResourceDesc& r) {
  CUDA_RESOURCE_DESC d{};
  d.resType = static_cast<CUresourcetype>(r.resType);
  switch (r.resType) {
    case cudaResourceTypeArray:
      d.res.array.hArray = reinterpret_cast<CUarray>(r.res.array.array);
      break;
    case cudaResourceTypeMipmappedArray:
      d.res.mipmap.hMipmappedArray = reinterpret_cast<CUmipmappedArray>(r.res.mipmap.mipmap);
      break;
    case cudaResourceTypeLinear:
      d.res.linear.devPtr = reinterpret_cast<CUdeviceptr>(r.res.linear.devPtr);
      d.res.linear.format = format_of(r.res.linear.desc);
      d.res.linear.numChannels = channel_count(r.res.linear.desc);
      d.res.linear.sizeInBytes = r.res.linear.sizeInBytes;
      break;
    case cudaResourceTypePitch2D:
      d.res.pitch2D.devPtr = reinterpret_cast<CUdeviceptr>(r.res.pitch2D.devPtr);
      d.res.pitch2D.format = format_of(r.res.pitch2D.desc);
      d.res.pitch2D.numChannels = channel_count(r.res.pitch2D.desc);
      d.res.pitch2D.width = r.res.pitch2D.width;
      d.res.pitch2D.height = r.res.pitch2D.height;
      d.res.pitch2D.pitchInBytes = r.res.pitch2D.pitchInBytes;
      break;
  }
  return d;
}

// The driver's textures give integers as they are only if they are told to.
cudaTextureDesc to_runtime(const CUDA_TEXTURE_DESC& d, const cudaResourceDesc& resource) {
  cudaTextureDesc how{};
  for (size_t k = 0; k < 3; ++k) how.addressMode[k] = static_cast<cudaTextureAddressMode>(d.addressMode[k]);
  how.filterMode = static_cast<cudaTextureFilterMode>(d.filterMode);
  how.normalizedCoords = (d.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  how.sRGB = (d.flags & CU_TRSF_SRGB) != 0;
  how.seamlessCubemap = (d.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
  how.maxAnisotropy = d.maxAnisotropy;
  how.mipmapFilterMode = static_cast<cudaTextureFilterMode>(d.mipmapFilterMode);
  how.mipmapLevelBias = d.mipmapLevelBias;
  how.minMipmapLevelClamp = d.minMipmapLevelClamp;
  how.maxMipmapLevelClamp = d.maxMipmapLevelClamp;
  std::ranges::copy(d.borderColor, how.borderColor);
  cudaChannelFormatDesc format{};
  if (resource.resType == cudaResourceTypeArray) {
    if (const auto array = find_array(resource.res.array.array)) format = (*array)->format;
  } else if (resource.resType == cudaResourceTypeMipmappedArray) {
    if (const auto array = find_mipmapped_array(resource.res.mipmap.mipmap)) format = (*array)->all.format;
  } else if (resource.resType == cudaResourceTypeLinear) {
    format = resource.res.linear.desc;
  } else {
    format = resource.res.pitch2D.desc;
  }
  const bool small = format.f != cudaChannelFormatKindFloat && format.x < 32;
  how.readMode =
      small && (d.flags & CU_TRSF_READ_AS_INTEGER) == 0 ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
  return how;
}

CUDA_TEXTURE_DESC to_driver(const cudaTextureDesc& how) {
  CUDA_TEXTURE_DESC d{};
  for (size_t k = 0; k < 3; ++k) d.addressMode[k] = static_cast<CUaddress_mode>(how.addressMode[k]);
  d.filterMode = static_cast<CUfilter_mode>(how.filterMode);
  d.flags = (how.normalizedCoords != 0 ? CU_TRSF_NORMALIZED_COORDINATES : 0) | (how.sRGB != 0 ? CU_TRSF_SRGB : 0) |
            (how.readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0) |
            (how.seamlessCubemap != 0 ? CU_TRSF_SEAMLESS_CUBEMAP : 0);
  d.maxAnisotropy = how.maxAnisotropy;
  d.mipmapFilterMode = static_cast<CUfilter_mode>(how.mipmapFilterMode);
  d.mipmapLevelBias = how.mipmapLevelBias;
  d.minMipmapLevelClamp = how.minMipmapLevelClamp;
  d.maxMipmapLevelClamp = how.maxMipmapLevelClamp;
  std::ranges::copy(how.borderColor, d.borderColor);
  return d;
}

cudaResourceViewDesc to_runtime(const CUDA_RESOURCE_VIEW_DESC& d) {
  cudaResourceViewDesc view{};
  view.format = static_cast<cudaResourceViewFormat>(d.format);
  view.width = d.width;
  view.height = d.height;
  view.depth = d.depth;
  view.firstMipmapLevel = d.firstMipmapLevel;
  view.lastMipmapLevel = d.lastMipmapLevel;
  view.firstLayer = d.firstLayer;
  view.lastLayer = d.lastLayer;
  return view;
}

// A line of bytes in the first row of an array.
Expected<std::byte*> line_in_array(CUarray handle, size_t x, size_t bytes) {
  const auto array = find_array(handle_of(handle));
  if (!array) return failure(array.error());
  const auto box = box_in_array(**array, x, 0, 0, bytes, 1, 1);
  if (!box) return failure(box.error());
  return box->first;
}

CUresult copy_to_array(CUarray array, size_t x, const void* from, size_t bytes, cudaMemcpyKind kind, CUstream stream,
                       bool wait) {
  return in_context([&]() -> Error {
    const auto to = line_in_array(array, x, bytes);
    return to ? copy(line(*to, from, bytes, kind), stream, wait) : to.error();
  });
}

CUresult copy_from_array(void* to, CUarray array, size_t x, size_t bytes, cudaMemcpyKind kind, CUstream stream,
                         bool wait) {
  return in_context([&]() -> Error {
    const auto from = line_in_array(array, x, bytes);
    return from ? copy(line(to, *from, bytes, kind), stream, wait) : from.error();
  });
}

}  // namespace

// Arrays

FB_API CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* d) {
  return in_context([&] {
    if (!d) return cudaErrorInvalidValue;
    return make(array, d->Format, d->NumChannels, {d->Width, d->Height, 0}, 0);
  });
}
FB_API CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* d) {
  return in_context([&] {
    if (!d) return cudaErrorInvalidValue;
    return make(array, d->Format, d->NumChannels, {d->Width, d->Height, d->Depth}, d->Flags);
  });
}
FB_API CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* d, CUarray handle) {
  return in_context([&] {
    const auto array = find_array(handle_of(handle));
    if (!array || !d) return !array ? array.error() : cudaErrorInvalidValue;
    const Array& a = **array;
    *d = {a.extent.width, a.extent.height, format_of(a.format), channel_count(a.format)};
    return cudaSuccess;
  });
}
FB_API CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* d, CUarray handle) {
  return in_context([&] {
    const auto array = find_array(handle_of(handle));
    if (!array || !d) return !array ? array.error() : cudaErrorInvalidValue;
    const Array& a = **array;
    *d = {a.extent.width, a.extent.height, a.extent.depth, format_of(a.format), channel_count(a.format), a.flags};
    return cudaSuccess;
  });
}
FB_API CUresult cuArrayDestroy(CUarray array) {
  return in_context([&] { return array ? free_array(handle_of(array)) : cudaErrorInvalidResourceHandle; });
}

FB_API CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* d, unsigned int levels) {
  return in_context([&] {
    if (!array || !d) return cudaErrorInvalidValue;
    const auto format = to_runtime(d->Format, d->NumChannels);
    if (!format) return format.error();
    const auto made = make_mipmapped_array(*format, {d->Width, d->Height, d->Depth}, levels, d->Flags);
    if (!made) return made.error();
    *array = reinterpret_cast<CUmipmappedArray>(*made);
    return cudaSuccess;
  });
}
FB_API CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
  return in_context([&] { return array ? free_mipmapped_array(handle_of(array)) : cudaErrorInvalidResourceHandle; });
}
FB_API CUresult cuMipmappedArrayGetLevel(CUarray* level, CUmipmappedArray handle, unsigned int k) {
  return in_context([&] {
    const auto array = find_mipmapped_array(handle_of(handle));
    if (!array) return array.error();
    if (!level || k >= (*array)->levels.size()) return cudaErrorInvalidValue;
    *level = reinterpret_cast<CUarray>((*array)->levels[k]);
    return cudaSuccess;
  });
}

// Copies of lines

FB_API CUresult cuMemcpyHtoA_v2(CUarray to, size_t x, const void* from, size_t bytes) {
  return copy_to_array(to, x, from, bytes, cudaMemcpyHostToDevice, nullptr, true);
}
FB_API CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t x, const void* from, size_t bytes, CUstream stream) {
  return copy_to_array(to, x, from, bytes, cudaMemcpyHostToDevice, stream, false);
}
FB_API CUresult cuMemcpyDtoA_v2(CUarray to, size_t x, CUdeviceptr from, size_t bytes) {
  return copy_to_array(to, x, pointer_of(from), bytes, cudaMemcpyDeviceToDevice, nullptr, true);
}
FB_API CUresult cuMemcpyAtoH_v2(void* to, CUarray from, size_t x, size_t bytes) {
  return copy_from_array(to, from, x, bytes, cudaMemcpyDeviceToHost, nullptr, true);
}
FB_API CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t x, size_t bytes, CUstream stream) {
  return copy_from_array(to, from, x, bytes, cudaMemcpyDeviceToHost, stream, false);
}
FB_API CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t x, size_t bytes) {
  return copy_from_array(pointer_of(to), from, x, bytes, cudaMemcpyDeviceToDevice, nullptr, true);
}
FB_API CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_x, CUarray from, size_t from_x, size_t bytes) {
  return in_context([&]() -> Error {
    const auto target = line_in_array(to, to_x, bytes), source = line_in_array(from, from_x, bytes);
    if (!target || !source) return !target ? target.error() : source.error();
    return copy(line(*target, *source, bytes, cudaMemcpyDeviceToDevice), nullptr, true);
  });
}

// Texture objects

FB_API CUresult cuTexObjectCreate(CUtexObject* object, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* how,
                                  const CUDA_RESOURCE_VIEW_DESC* view) {
  return in_context([&] {
    if (!object || !resource || !how) return cudaErrorInvalidValue;
    const auto what = to_runtime(*resource);
    if (!what) return what.error();
    cudaResourceViewDesc part{};
    if (view) part = to_runtime(*view);
    return put(object, make_texture(*what, to_runtime(*how, *what), view ? &part : nullptr));
  });
}
FB_API CUresult cuTexObjectDestroy(CUtexObject object) {
  return in_context([&] { return destroy_texture(object); });
}
FB_API CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUtexObject object) {
  return in_context([&] {
    const auto found = find_texture(object);
    if (!resource || !found) return cudaErrorInvalidValue;
    *resource = to_driver(found->resource);
    return cudaSuccess;
  });
}
FB_API CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* how, CUtexObject object) {
  return in_context([&] {
    const auto found = find_texture(object);
    if (!how || !found) return cudaErrorInvalidValue;
    *how = to_driver(found->how);
    return cudaSuccess;
  });
}

// Surface objects

FB_API CUresult cuSurfObjectCreate(CUsurfObject* object, const CUDA_RESOURCE_DESC* resource) {
  return in_context([&] {
    if (!object || !resource) return cudaErrorInvalidValue;
    const auto what = to_runtime(*resource);
    return what ? put(object, make_surface(*what)) : what.error();
  });
}
FB_API CUresult cuSurfObjectDestroy(CUsurfObject object) {
  return in_context([&] { return destroy_surface(object); });
}
FB_API CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUsurfObject object) {
  return in_context([&] {
    const auto found = find_surface(object);
    if (!resource || !found) return cudaErrorInvalidValue;
    *resource = to_driver(found->resource);
    return cudaSuccess;
  });
}
