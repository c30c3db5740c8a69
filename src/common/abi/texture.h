#pragma once

// The 128-byte descriptor of a texture or surface object. The object's handle is the address of its descriptor, in host
// memory that ranks share with the machine: ranks write it (cudaCreateTextureObject), texture instructions read it.
// Texels lie in ordinary device memory, row after row. A descriptor therefore gives a kernel no byte that it could not
// load with an ordinary instruction: the addresses that come out are checked as any other address is.
//
// Numbers of address modes and filters are those of texture_types.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fb::abi {

inline constexpr size_t kTextureBytes = 128;
inline constexpr uint32_t kMaxMipLevels = 16;

enum class AddressMode : uint8_t { wrap, clamp, mirror, border };
enum class Filter : uint8_t { point, linear };
enum class ChannelKind : uint8_t { signed_int, unsigned_int, floating };

struct Texture {
  bool surface = false;
  uint8_t channels = 1;       // 1, 2 or 4
  uint8_t channel_bytes = 4;  // 1, 2 or 4
  ChannelKind kind = ChannelKind::floating;
  std::array<AddressMode, 3> address_modes{};
  Filter filter = Filter::point;
  Filter mip_filter = Filter::point;
  bool normalized_coordinates = false;
  bool normalized_read = false;  // integers become floats between 0 (or -1) and 1
  bool srgb = false;
  bool layered = false;  // depth counts layers; faces of a cubemap are six of them
  // Texels of the first level.
  uint32_t width = 1, height = 1, depth = 1;
  uint32_t levels = 1;
  uint64_t address = 0;
  uint64_t pitch = 0;  // bytes between rows and between planes of the first level
  uint64_t plane = 0;
  std::array<float, 4> border{};
  float level_bias = 0, least_level = 0, largest_level = 0;

  uint32_t texel_bytes() const { return uint32_t{channels} * channel_bytes; }
  friend bool operator==(const Texture&, const Texture&) = default;
};

// Where a level of a texture lies, behind Texture::address.
struct TextureLevel {
  uint32_t width = 1, height = 1, depth = 1;
  uint64_t offset = 0, pitch = 0, plane = 0;
};

// Level k below `levels`. Rows of arrays begin at multiples of kArrayPitch, levels follow each other.
inline constexpr uint64_t kArrayPitch = 64;
TextureLevel level_of(const Texture& texture, uint32_t k);
// pitch and plane of the first level of an array.
void lay_out_array(Texture& texture);
// Bytes of all levels.
uint64_t array_bytes(const Texture& texture);

// Empty if instructions can use the descriptor, else what is wrong with it.
std::string find_problem(const Texture& texture);

void encode(const Texture& texture, std::span<std::byte, kTextureBytes> to);
// False if the bytes are no descriptor: never one, or one that was destroyed.
bool decode(std::span<const std::byte, kTextureBytes> from, Texture& texture);

}  // namespace fb::abi
