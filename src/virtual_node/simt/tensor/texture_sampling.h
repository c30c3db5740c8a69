#pragma once

// Which texels a texture read combines, and with which weights: the rules of the CUDA programming guide, "Texture
// fetching". Weights of linear filters are fixed-point numbers with 8 bits behind the point. Nothing here reads memory.

#include <array>
#include <cstdint>

#include "common/abi/texture.h"

namespace fb::simt {

using abi::AddressMode;
using abi::ChannelKind;
using abi::Filter;
using abi::Texture;
using abi::TextureLevel;

// How an instruction names a texel: tex.1d … tex.acube.
enum class TextureShape : uint8_t { d1, d2, d3, a1d, a2d, cube, acube };

// Coordinates of one thread. Those in front of x, the layer, are integers.
struct TexturePoint {
  double x = 0, y = 0, z = 0;
  int64_t layer = 0;
  bool texels = false;  // integer coordinates: texels, never filtered
};

// One texel of a level, or what lies outside.
struct Tap {
  bool inside = false;
  uint64_t address = 0;
  double weight = 1;
};

// Two levels of eight texels.
inline constexpr uint32_t kMaxTaps = 16;
struct Taps {
  std::array<Tap, kMaxTaps> list;
  uint32_t count = 0;
};

// The two neighbours along one dimension; index -1: outside, where the border colour is.
struct Neighbours {
  std::array<int64_t, 2> index{0, 0};
  std::array<double, 2> weight{1, 0};
};
Neighbours find_neighbours(double x, uint32_t size, AddressMode mode, bool normalized, bool linear);

// A direction as a face of a cube, 0 to 5, and coordinates on it between 0 and 1.
struct CubePoint {
  uint32_t face = 0;
  double x = 0, y = 0;
};
CubePoint find_face(double x, double y, double z);

// The texels at a point; `lod` matters where there are several levels.
void find_taps(const Texture& texture, TextureShape shape, const TexturePoint& point, double lod, Taps& taps);
// The four texels that a linear filter of the first level would combine, in tld4's order.
void find_gathered(const Texture& texture, TextureShape shape, const TexturePoint& point, Taps& taps);

// The level of detail of tex.grad: the logarithm of the longer gradient, in texels.
double lod_of_gradients(const Texture& texture, const std::array<double, 3>& dx, const std::array<double, 3>& dy);

// The four components of a texel: as numbers, or as the bits that an integer result has.
using Components = std::array<double, 4>;
Components float_components(const Texture& texture, const std::byte* texel);
std::array<uint32_t, 4> integer_components(const Texture& texture, const std::byte* texel);

}  // namespace fb::simt
