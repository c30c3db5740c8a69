#include "ranks/shim/cuda/memory/array.h"

#include <algorithm>
#include <bit>

#include "ranks/shim/cuda/core/registry.h"
#include "ranks/shim/cuda/memory/memory.h"

namespace fb::shim {
namespace {

Registry<cudaArray_t, Array>& arrays() {
  static auto* const all = new Registry<cudaArray_t, Array>;
  return *all;
}
Registry<cudaMipmappedArray_t, MipmappedArray>& mipmapped_arrays() {
  static auto* const all = new Registry<cudaMipmappedArray_t, MipmappedArray>;
  return *all;
}

// Formats that name their channels themselves: normalized integers.
bool is_normalized(cudaChannelFormatKind kind) {
  return kind >= cudaChannelFormatKindUnsignedNormalized8X1 && kind <= cudaChannelFormatKindSignedNormalized16X4;
}

// Sizes that the flags allow: a cubemap is square and has six faces, layers need a count.
bool is_allowed(const cudaExtent& e, unsigned int flags) {
  constexpr unsigned int kKnown = cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap |
                                  cudaArrayTextureGather | cudaArrayColorAttachment;
  if ((flags & ~kKnown) != 0 || e.width == 0) return false;
  constexpr size_t kLargest[3] = {131072, 65536, 16384};
  if (e.width > kLargest[0] || e.height > kLargest[1] || e.depth > kLargest[2]) return false;
  if ((flags & cudaArrayCubemap) != 0) {
    const bool faces = (flags & cudaArrayLayered) != 0 ? e.depth > 0 && e.depth % 6 == 0 : e.depth == 6;
    return faces && e.width == e.height;
  }
  if ((flags & cudaArrayLayered) != 0) return e.depth > 0;
  return e.depth == 0 || e.height > 0;
}

Expected<Array> describe_array(const cudaChannelFormatDesc& format, const cudaExtent& extent, unsigned int levels,
                               unsigned int flags) {
  const auto channels = channels_of(format);
  if (!channels) return failure(channels.error());
  if (!is_allowed(extent, flags)) return failure(cudaErrorInvalidValue);
  Array array;
  array.format = format;
  array.extent = extent;
  array.flags = flags;
  set_channels(array.image, *channels);
  array.image.width = static_cast<uint32_t>(extent.width);
  array.image.height = static_cast<uint32_t>(std::max<size_t>(extent.height, 1));
  array.image.depth = static_cast<uint32_t>(std::max<size_t>(extent.depth, 1));
  array.image.layered = (flags & (cudaArrayLayered | cudaArrayCubemap)) != 0;
  array.image.levels = levels;
  abi::lay_out_array(array.image);
  return array;
}

Error allocate_texels(Array& array) {
  const auto address = allocate_device(abi::array_bytes(array.image));
  if (!address) return address.error();
  array.image.address = *address;
  return cudaSuccess;
}

Array level_view(const Array& all, uint32_t k) {
  Array level = all;
  const abi::TextureLevel at = abi::level_of(all.image, k);
  const auto halved = [k](size_t n) { return n == 0 ? 0 : std::max<size_t>(n >> k, 1); };
  level.extent.width = halved(all.extent.width);
  level.extent.height = halved(all.extent.height);
  if (!all.image.layered) level.extent.depth = halved(all.extent.depth);
  level.image.width = at.width;
  level.image.height = at.height;
  level.image.depth = at.depth;
  level.image.levels = 1;
  level.image.address += at.offset;
  level.image.pitch = at.pitch;
  level.image.plane = at.plane;
  level.is_level = true;
  return level;
}

}  // namespace

Expected<Channels> channels_of(const cudaChannelFormatDesc& f) {
  Channels channels;
  const int bits[4] = {f.x, f.y, f.z, f.w};
  if (f.x != 8 && f.x != 16 && f.x != 32) return failure(cudaErrorInvalidChannelDescriptor);
  uint8_t count = 1;
  while (count < 4 && bits[count] != 0) ++count;
  for (uint8_t k = 0; k < 4; ++k) {
    if (bits[k] != (k < count ? f.x : 0)) return failure(cudaErrorInvalidChannelDescriptor);
  }
  if (count == 3) return failure(cudaErrorInvalidChannelDescriptor);
  channels.count = count;
  channels.bytes = static_cast<uint8_t>(f.x / 8);
  if (is_normalized(f.f)) {
    channels.normalized = true;
    channels.kind =
        f.f < cudaChannelFormatKindSignedNormalized8X1 ? abi::ChannelKind::unsigned_int : abi::ChannelKind::signed_int;
    return channels;
  }
  switch (f.f) {
    case cudaChannelFormatKindSigned:
      channels.kind = abi::ChannelKind::signed_int;
      return channels;
    case cudaChannelFormatKindUnsigned:
      channels.kind = abi::ChannelKind::unsigned_int;
      return channels;
    case cudaChannelFormatKindFloat:
      if (f.x == 8) return failure(cudaErrorInvalidChannelDescriptor);
      channels.kind = abi::ChannelKind::floating;
      return channels;
    default:
      return failure(cudaErrorInvalidChannelDescriptor);
  }
}

void set_channels(abi::Texture& image, const Channels& channels) {
  image.channels = channels.count;
  image.channel_bytes = channels.bytes;
  image.kind = channels.kind;
  image.normalized_read = channels.normalized;
}

Expected<cudaArray_t> make_array(const cudaChannelFormatDesc& format, const cudaExtent& extent, unsigned int flags) {
  auto array = describe_array(format, extent, 1, flags);
  if (!array) return failure(array.error());
  if (const Error e = allocate_texels(*array); e != cudaSuccess) return failure(e);
  return arrays().add(std::make_shared<Array>(*array));
}

Expected<cudaMipmappedArray_t> make_mipmapped_array(const cudaChannelFormatDesc& format, const cudaExtent& extent,
                                                    unsigned int levels, unsigned int flags) {
  if (levels == 0) return failure(cudaErrorInvalidValue);
  size_t largest = std::max(extent.width, extent.height);
  if ((flags & cudaArrayLayered) == 0) largest = std::max(largest, extent.depth);
  // Levels end where one texel is left.
  const auto most = static_cast<unsigned int>(std::bit_width(largest));
  auto all = describe_array(format, extent, std::min({levels, most, abi::kMaxMipLevels}), flags);
  if (!all) return failure(all.error());
  if (const Error e = allocate_texels(*all); e != cudaSuccess) return failure(e);
  const auto made = std::make_shared<MipmappedArray>();
  made->all = *all;
  for (uint32_t k = 0; k < all->image.levels; ++k)
    made->levels.push_back(arrays().add(std::make_shared<Array>(level_view(*all, k))));
  return mipmapped_arrays().add(made);
}

Error free_array(cudaArray_t handle) {
  if (!handle) return cudaSuccess;
  const auto found = arrays().find(handle);
  if (!found || found->is_level) return cudaErrorInvalidResourceHandle;
  arrays().take(handle);
  return free_device(reinterpret_cast<void*>(found->image.address));
}

Error free_mipmapped_array(cudaMipmappedArray_t handle) {
  if (!handle) return cudaSuccess;
  const auto found = mipmapped_arrays().take(handle);
  if (!found) return cudaErrorInvalidResourceHandle;
  for (const cudaArray_t level : found->levels) arrays().take(level);
  return free_device(reinterpret_cast<void*>(found->all.image.address));
}

Expected<ArrayPtr> find_array(cudaArray_const_t handle) {
  auto found = arrays().find(const_cast<cudaArray_t>(handle));
  if (!found) return failure(cudaErrorInvalidResourceHandle);
  return found;
}

Expected<MipmappedArrayPtr> find_mipmapped_array(cudaMipmappedArray_const_t handle) {
  auto found = mipmapped_arrays().find(const_cast<cudaMipmappedArray_t>(handle));
  if (!found) return failure(cudaErrorInvalidResourceHandle);
  return found;
}

Expected<BoxEnd> box_in_array(const Array& array, size_t x, size_t y, size_t z, size_t width, size_t height,
                              size_t depth) {
  const auto fits = [](size_t from, size_t count, size_t size) { return from <= size && count <= size - from; };
  const abi::Texture& image = array.image;
  if (!fits(x, width, array.row_bytes()) || !fits(y, height, image.height) || !fits(z, depth, image.depth))
    return failure(cudaErrorInvalidValue);
  auto* first = reinterpret_cast<std::byte*>(image.address + z * image.plane + y * image.pitch + x);
  return BoxEnd{first, image.pitch, image.plane};
}

}  // namespace fb::shim
