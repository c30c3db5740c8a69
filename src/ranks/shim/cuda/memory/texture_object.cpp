#include "ranks/shim/cuda/memory/texture_object.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/array.h"
#include "ranks/shim/cuda/memory/host_memory.h"
#include "ranks/shim/cuda/memory/host_ranges.h"

namespace fb::shim {
namespace {

using abi::Texture;

constexpr size_t kSlabBytes = 64 << 10;
constexpr uint64_t kAddressAlignment = 512, kPitchAlignment = 32;  // what the device's attributes say

// The descriptors of this process. A slot that is free holds zeros, so that a stale handle is known as such.
class Descriptors {
 public:
  Expected<uint64_t> add(const Texture& texture, std::shared_ptr<const TextureObject> object) {
    const std::lock_guard lock(mutex_);
    if (generation_ != Session::get().generation()) free_.clear();
    generation_ = Session::get().generation();
    if (free_.empty()) {
      if (const Error e = grow(); e != cudaSuccess) return failure(e);
    }
    const uint64_t slot = free_.back();
    free_.pop_back();
    encode(texture, bytes_at(slot));
    live_[slot] = {std::move(object), texture.surface, thread().device};
    return slot;
  }

  Error remove(uint64_t slot, bool surface) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(slot);
    if (found == live_.end() || found->second.surface != surface) return cudaErrorInvalidValue;
    live_.erase(found);
    const auto bytes = bytes_at(slot);
    std::ranges::fill(bytes, std::byte{0});
    // Last in, first out would give a stale handle a new meaning at once.
    free_.insert(free_.begin(), slot);
    return cudaSuccess;
  }

  std::shared_ptr<const TextureObject> find(uint64_t slot, bool surface) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(slot);
    return found != live_.end() && found->second.surface == surface ? found->second.object : nullptr;
  }

  // Nothing: there is none.
  std::optional<int> device_of(uint64_t slot, bool surface) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(slot);
    if (found == live_.end() || found->second.surface != surface) return std::nullopt;
    return found->second.device;
  }

 private:
  struct Live {
    std::shared_ptr<const TextureObject> object;
    bool surface = false;
    int device = 0;  // that was current when it was made: its kernels run there
  };

  static std::span<std::byte, abi::kTextureBytes> bytes_at(uint64_t slot) {
    return std::span<std::byte, abi::kTextureBytes>(reinterpret_cast<std::byte*>(slot), abi::kTextureBytes);
  }

  Error grow() {
    const auto slab = allocate_host_always(kSlabBytes, wire::MemoryKind::host, 0);
    if (!slab) return slab.error();
    const auto begin = reinterpret_cast<uint64_t>(*slab);
    for (uint64_t at = kSlabBytes; at > 0; at -= abi::kTextureBytes) free_.push_back(begin + at - abi::kTextureBytes);
    return cudaSuccess;
  }

  std::mutex mutex_;
  std::vector<uint64_t> free_;
  std::unordered_map<uint64_t, Live> live_;
  uint32_t generation_ = 0;
};

Descriptors& descriptors() {
  static auto* const all = new Descriptors;
  return *all;
}

Expected<Texture> image_of_linear(const cudaResourceDesc& resource) {
  const auto& linear = resource.res.linear;
  const auto channels = channels_of(linear.desc);
  if (!channels) return failure(channels.error());
  Texture image;
  set_channels(image, *channels);
  image.address = reinterpret_cast<uint64_t>(linear.devPtr);
  const size_t texels = linear.sizeInBytes / image.texel_bytes();
  constexpr size_t kMost = size_t{1} << 28;
  if (!linear.devPtr || texels == 0 || texels > kMost || image.address % kAddressAlignment != 0)
    return failure(cudaErrorInvalidValue);
  image.width = static_cast<uint32_t>(texels);
  image.pitch = image.plane = size_t{texels} * image.texel_bytes();
  return image;
}

Expected<Texture> image_of_pitched(const cudaResourceDesc& resource) {
  const auto& pitched = resource.res.pitch2D;
  const auto channels = channels_of(pitched.desc);
  if (!channels) return failure(channels.error());
  Texture image;
  set_channels(image, *channels);
  image.address = reinterpret_cast<uint64_t>(pitched.devPtr);
  constexpr size_t kMostWidth = 131072, kMostHeight = 65000, kMostPitch = 2097120;
  if (!pitched.devPtr || pitched.width == 0 || pitched.width > kMostWidth || pitched.height == 0 ||
      pitched.height > kMostHeight || pitched.pitchInBytes > kMostPitch)
    return failure(cudaErrorInvalidValue);
  if (image.address % kAddressAlignment != 0 || pitched.pitchInBytes % kPitchAlignment != 0 ||
      pitched.pitchInBytes < pitched.width * image.texel_bytes())
    return failure(cudaErrorInvalidValue);
  image.width = static_cast<uint32_t>(pitched.width);
  image.height = static_cast<uint32_t>(pitched.height);
  image.pitch = pitched.pitchInBytes;
  image.plane = image.pitch * image.height;
  return image;
}

Expected<Texture> image_of(const cudaResourceDesc& resource) {
  switch (resource.resType) {
    case cudaResourceTypeArray: {
      const auto array = find_array(resource.res.array.array);
      if (!array) return failure(array.error());
      return (*array)->image;
    }
    case cudaResourceTypeMipmappedArray: {
      const auto array = find_mipmapped_array(resource.res.mipmap.mipmap);
      if (!array) return failure(array.error());
      return (*array)->all.image;
    }
    case cudaResourceTypeLinear:
      return image_of_linear(resource);
    case cudaResourceTypePitch2D:
      return image_of_pitched(resource);
  }
  return failure(cudaErrorInvalidValue);
}

bool is_mode(cudaTextureAddressMode mode) { return mode >= cudaAddressModeWrap && mode <= cudaAddressModeBorder; }
bool is_filter(cudaTextureFilterMode mode) { return mode == cudaFilterModePoint || mode == cudaFilterModeLinear; }

// Wrapping and mirroring need normalized coordinates; without them they mean clamping.
abi::AddressMode mode_of(const cudaTextureDesc& how, size_t k) {
  const auto mode = static_cast<abi::AddressMode>(how.addressMode[k]);
  const bool folds = mode == abi::AddressMode::wrap || mode == abi::AddressMode::mirror;
  return folds && !how.normalizedCoords ? abi::AddressMode::clamp : mode;
}

Error apply(const cudaTextureDesc& how, cudaResourceType type, Texture& image) {
  for (const auto mode : how.addressMode) {
    if (!is_mode(mode)) return cudaErrorInvalidValue;
  }
  if (!is_filter(how.filterMode) || !is_filter(how.mipmapFilterMode)) return cudaErrorInvalidValue;
  if (how.readMode != cudaReadModeElementType && how.readMode != cudaReadModeNormalizedFloat)
    return cudaErrorInvalidValue;
  const bool integers = image.kind != abi::ChannelKind::floating && !image.normalized_read;
  if (integers && how.readMode == cudaReadModeNormalizedFloat) {
    if (image.channel_bytes == 4) return cudaErrorInvalidNormSetting;
    image.normalized_read = true;
  }
  if (integers && !image.normalized_read && how.filterMode == cudaFilterModeLinear)
    return cudaErrorInvalidFilterSetting;
  if (type == cudaResourceTypeMipmappedArray && !how.normalizedCoords) return cudaErrorInvalidValue;
  image.normalized_coordinates = how.normalizedCoords != 0;
  image.srgb = how.sRGB != 0 && image.channel_bytes == 1;
  image.filter = static_cast<abi::Filter>(how.filterMode);
  image.mip_filter = static_cast<abi::Filter>(how.mipmapFilterMode);
  for (size_t k = 0; k < 3; ++k) image.address_modes[k] = mode_of(how, k);
  std::ranges::copy(how.borderColor, image.border.begin());
  image.level_bias = how.mipmapLevelBias;
  image.least_level = how.minMipmapLevelClamp;
  image.largest_level = how.maxMipmapLevelClamp;
  if (type == cudaResourceTypeLinear) {
    // Texels by number: what is outside is zero.
    image.normalized_coordinates = false;
    image.filter = abi::Filter::point;
    image.address_modes.fill(abi::AddressMode::border);
    image.border.fill(0);
  }
  return cudaSuccess;
}

// A part of an array's levels and layers; other formats of the same texels are not supported.
Error apply(const cudaResourceViewDesc& view, const cudaResourceDesc& resource, Texture& image) {
  if (resource.resType == cudaResourceTypeLinear || resource.resType == cudaResourceTypePitch2D)
    return cudaErrorInvalidValue;
  const uint32_t last_level = std::max(view.lastMipmapLevel, view.firstMipmapLevel);
  if (last_level >= image.levels) return cudaErrorInvalidValue;
  if (view.format == cudaResViewFormatNone || view.format > cudaResViewFormatFloat4) return cudaErrorNotSupported;
  if (image.layered) {
    const uint32_t last_layer = std::max(view.lastLayer, view.firstLayer);
    if (last_layer >= image.depth) return cudaErrorInvalidValue;
    if (image.levels > 1 && (view.firstLayer > 0 || last_layer + 1 < image.depth)) return cudaErrorNotSupported;
    image.address += view.firstLayer * image.plane;
    if (image.levels == 1) image.depth = last_layer - view.firstLayer + 1;
  }
  const uint32_t count = last_level - view.firstMipmapLevel + 1;
  const abi::TextureLevel first = abi::level_of(image, view.firstMipmapLevel);
  image.address += first.offset;
  image.width = first.width;
  image.height = first.height;
  image.depth = first.depth;
  image.pitch = first.pitch;
  image.plane = first.plane;
  image.levels = count;
  return cudaSuccess;
}

}  // namespace

Expected<cudaTextureObject_t> make_texture(const cudaResourceDesc& resource, const cudaTextureDesc& how,
                                           const cudaResourceViewDesc* view) {
  auto image = image_of(resource);
  if (!image) return failure(image.error());
  if (view) {
    if (const Error e = apply(*view, resource, *image); e != cudaSuccess) return failure(e);
  }
  if (const Error e = apply(how, resource.resType, *image); e != cudaSuccess) return failure(e);
  if (!find_problem(*image).empty()) return failure(cudaErrorInvalidValue);
  auto object = std::make_shared<TextureObject>();
  object->resource = resource;
  object->how = how;
  object->has_view = view != nullptr;
  if (view) object->view = *view;
  return descriptors().add(*image, std::move(object));
}

Expected<cudaSurfaceObject_t> make_surface(const cudaResourceDesc& resource) {
  if (resource.resType != cudaResourceTypeArray) return failure(cudaErrorInvalidValue);
  auto image = image_of(resource);
  if (!image) return failure(image.error());
  if (((*find_array(resource.res.array.array))->flags & cudaArraySurfaceLoadStore) == 0)
    return failure(cudaErrorInvalidValue);
  image->surface = true;
  auto object = std::make_shared<TextureObject>();
  object->resource = resource;
  return descriptors().add(*image, std::move(object));
}

namespace {

// Kernels that were launched before may still read the descriptor: programs rely on that, as with memory that they
// free.
Error destroy(uint64_t object, bool surface) {
  if (object == 0) return cudaSuccess;
  const auto device = descriptors().device_of(object, surface);
  if (!device) return cudaErrorInvalidValue;
  call_on<wire::Kind::device_wait>(*device, {.device = static_cast<uint32_t>(*device), .zero = 0});
  return descriptors().remove(object, surface);
}

}  // namespace

Error destroy_texture(cudaTextureObject_t object) { return destroy(object, false); }
Error destroy_surface(cudaSurfaceObject_t object) { return destroy(object, true); }

std::shared_ptr<const TextureObject> find_texture(cudaTextureObject_t object) {
  return descriptors().find(object, false);
}
std::shared_ptr<const TextureObject> find_surface(cudaSurfaceObject_t object) {
  return descriptors().find(object, true);
}

}  // namespace fb::shim
