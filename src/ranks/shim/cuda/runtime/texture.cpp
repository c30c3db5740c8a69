#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/array.h"
#include "ranks/shim/cuda/memory/texture_object.h"

namespace shim = fb::shim;
using shim::record;

namespace {

// Gives the program a part of an object, if there is such an object.
template <class Part, class Get>
cudaError_t put_part(Part* part, const std::shared_ptr<const shim::TextureObject>& object, Get get) {
  if (!part || !object) return cudaErrorInvalidValue;
  *part = get(*object);
  return cudaSuccess;
}

}  // namespace

FB_API cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                           const cudaTextureDesc* how, const cudaResourceViewDesc* view) {
  if (!object || !resource || !how) return record(cudaErrorInvalidValue);
  const auto made = shim::make_texture(*resource, *how, view);
  if (!made) return record(made.error());
  *object = *made;
  return cudaSuccess;
}
FB_API cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  return record(shim::destroy_texture(object));
}
FB_API cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t object) {
  return record(put_part(resource, shim::find_texture(object), [](const auto& o) { return o.resource; }));
}
FB_API cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* how, cudaTextureObject_t object) {
  return record(put_part(how, shim::find_texture(object), [](const auto& o) { return o.how; }));
}
FB_API cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view, cudaTextureObject_t object) {
  const auto found = shim::find_texture(object);
  if (!found || !found->has_view) return record(cudaErrorInvalidValue);
  return record(put_part(view, found, [](const auto& o) { return o.view; }));
}

FB_API cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  if (!object || !resource) return record(cudaErrorInvalidValue);
  const auto made = shim::make_surface(*resource);
  if (!made) return record(made.error());
  *object = *made;
  return cudaSuccess;
}
FB_API cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
  return record(shim::destroy_surface(object));
}
FB_API cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, cudaSurfaceObject_t object) {
  return record(put_part(resource, shim::find_surface(object), [](const auto& o) { return o.resource; }));
}

FB_API cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* texels, const cudaChannelFormatDesc* format,
                                                        int device) {
  if (!texels || !format) return record(cudaErrorInvalidValue);
  if (const auto e = shim::check_device(device); e != cudaSuccess) return record(e);
  const auto channels = shim::channels_of(*format);
  if (!channels) return record(channels.error());
  *texels = size_t{1} << 28;
  return cudaSuccess;
}
