#include "common/abi/texture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fb::abi {
namespace {

constexpr uint32_t kTextureMagic = 0x5854'4246;  // "FBTX"

// The descriptor's bytes.
struct DescriptorLayout {
  uint32_t magic;
  uint8_t surface, channels, channel_bytes, kind;
  uint8_t address_modes[3];
  uint8_t filter, mip_filter, normalized_coordinates, normalized_read, srgb;
  uint8_t layered, unused[3];
  uint32_t width, height, depth, levels;
  uint32_t unused_word;
  uint64_t address, pitch, plane;
  float border[4];
  float level_bias, least_level, largest_level;
  uint8_t reserved[36];
};
static_assert(sizeof(DescriptorLayout) == kTextureBytes);

// Larger than any device has; sums and products of such numbers fit in 64 bits.
constexpr uint32_t kMaxWidth = 1u << 28, kMaxRows = 1u << 17, kMaxPlanes = 1u << 15;
constexpr uint64_t kMaxPitch = uint64_t{1} << 33, kMaxPlane = uint64_t{1} << 46;

uint64_t round_up(uint64_t bytes) { return (bytes + kArrayPitch - 1) / kArrayPitch * kArrayPitch; }

}  // namespace

void lay_out_array(Texture& texture) {
  texture.pitch = round_up(uint64_t{texture.width} * texture.texel_bytes());
  texture.plane = texture.pitch * texture.height;
}

TextureLevel level_of(const Texture& texture, uint32_t k) {
  TextureLevel level{texture.width, texture.height, texture.depth, 0, texture.pitch, texture.plane};
  for (uint32_t l = 0; l < k; ++l) {
    level.offset += level.plane * level.depth;
    level.width = std::max(level.width / 2, 1u);
    level.height = std::max(level.height / 2, 1u);
    if (!texture.layered) level.depth = std::max(level.depth / 2, 1u);
    level.pitch = round_up(uint64_t{level.width} * texture.texel_bytes());
    level.plane = level.pitch * level.height;
  }
  return level;
}

uint64_t array_bytes(const Texture& texture) {
  const TextureLevel last = level_of(texture, texture.levels - 1);
  return last.offset + last.plane * last.depth;
}

std::string find_problem(const Texture& t) {
  if (t.channels != 1 && t.channels != 2 && t.channels != 4) return fmt::format("{} channels", t.channels);
  if (t.channel_bytes != 1 && t.channel_bytes != 2 && t.channel_bytes != 4)
    return fmt::format("channels of {} bytes", t.channel_bytes);
  if (t.kind > ChannelKind::floating) return "an unknown kind of channels";
  if (t.kind == ChannelKind::floating && t.channel_bytes == 1) return "floats of one byte";
  for (const AddressMode mode : t.address_modes) {
    if (mode > AddressMode::border) return "an unknown address mode";
  }
  if (t.filter > Filter::linear || t.mip_filter > Filter::linear) return "an unknown filter";
  if (t.width < 1 || t.width > kMaxWidth || t.height < 1 || t.height > kMaxRows || t.depth < 1 ||
      t.depth > kMaxPlanes) {
    return fmt::format("{} x {} x {} texels", t.width, t.height, t.depth);
  }
  if (t.levels < 1 || t.levels > kMaxMipLevels) return fmt::format("{} levels", t.levels);
  if (t.pitch > kMaxPitch || t.plane > kMaxPlane) return "rows or planes that are too far apart";
  if (t.address % t.texel_bytes() != 0 || t.pitch % t.texel_bytes() != 0 || t.plane % t.texel_bytes() != 0)
    return "texels that are not aligned to their size";
  return {};
}

void encode(const Texture& t, std::span<std::byte, kTextureBytes> to) {
  DescriptorLayout l{};
  l.magic = kTextureMagic;
  l.surface = t.surface;
  l.channels = t.channels;
  l.channel_bytes = t.channel_bytes;
  l.kind = static_cast<uint8_t>(t.kind);
  for (size_t k = 0; k < 3; ++k) l.address_modes[k] = static_cast<uint8_t>(t.address_modes[k]);
  l.filter = static_cast<uint8_t>(t.filter);
  l.mip_filter = static_cast<uint8_t>(t.mip_filter);
  l.normalized_coordinates = t.normalized_coordinates;
  l.normalized_read = t.normalized_read;
  l.srgb = t.srgb;
  l.layered = t.layered;
  l.width = t.width;
  l.height = t.height;
  l.depth = t.depth;
  l.levels = t.levels;
  l.address = t.address;
  l.pitch = t.pitch;
  l.plane = t.plane;
  std::ranges::copy(t.border, l.border);
  l.level_bias = t.level_bias;
  l.least_level = t.least_level;
  l.largest_level = t.largest_level;
  std::memcpy(to.data(), &l, sizeof l);
}

bool decode(std::span<const std::byte, kTextureBytes> from, Texture& t) {
  // Copied first: the rank that owns the memory may change it meanwhile.
  DescriptorLayout l;
  std::memcpy(&l, from.data(), sizeof l);
  if (l.magic != kTextureMagic) return false;
  t.surface = l.surface != 0;
  t.channels = l.channels;
  t.channel_bytes = l.channel_bytes;
  t.kind = static_cast<ChannelKind>(l.kind);
  for (size_t k = 0; k < 3; ++k) t.address_modes[k] = static_cast<AddressMode>(l.address_modes[k]);
  t.filter = static_cast<Filter>(l.filter);
  t.mip_filter = static_cast<Filter>(l.mip_filter);
  t.normalized_coordinates = l.normalized_coordinates != 0;
  t.normalized_read = l.normalized_read != 0;
  t.srgb = l.srgb != 0;
  t.layered = l.layered != 0;
  t.width = l.width;
  t.height = l.height;
  t.depth = l.depth;
  t.levels = l.levels;
  t.address = l.address;
  t.pitch = l.pitch;
  t.plane = l.plane;
  std::ranges::copy(l.border, t.border.begin());
  t.level_bias = l.level_bias;
  t.least_level = l.least_level;
  t.largest_level = l.largest_level;
  return true;
}

}  // namespace fb::abi
