#pragma once

// Texture and surface objects: descriptors (common/abi/texture.h) in host memory that the machine shares. Making one is
// no work for a stream.

#include <cuda_runtime_api.h>

#include <memory>

#include "common/abi/texture.h"
#include "ranks/shim/cuda/core/error.h"

namespace fb::shim {

struct TextureObject {
  cudaResourceDesc resource{};
  cudaTextureDesc how{};  // of a texture
  cudaResourceViewDesc view{};
  bool has_view = false;
};

Expected<cudaTextureObject_t> make_texture(const cudaResourceDesc& resource, const cudaTextureDesc& how,
                                           const cudaResourceViewDesc* view);
Expected<cudaSurfaceObject_t> make_surface(const cudaResourceDesc& resource);
Error destroy_texture(cudaTextureObject_t object);
Error destroy_surface(cudaSurfaceObject_t object);
// Null: there is none.
std::shared_ptr<const TextureObject> find_texture(cudaTextureObject_t object);
std::shared_ptr<const TextureObject> find_surface(cudaSurfaceObject_t object);

}  // namespace fb::shim
