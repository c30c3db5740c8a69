#include "virtual_node/simt/tensor/texture_sampling.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "virtual_node/num/half.h"

namespace fb::simt {
namespace {

constexpr double kFar = 1 << 30;     // more texels than a texture has; beyond it, how far does not matter
constexpr double kWeightUnit = 256;  // 8 bits behind the point

double finite(double x) { return std::isnan(x) ? 0 : std::clamp(x, -kFar, kFar); }

// Wrapped and mirrored coordinates are folded into one period first.
double fold(double x, AddressMode mode) {
  const double whole = std::floor(x);
  if (mode == AddressMode::wrap) return x - whole;
  if (mode == AddressMode::mirror) return std::fmod(whole, 2) == 0 ? x - whole : 1 - (x - whole);
  return x;
}

int64_t address_texel(int64_t index, uint32_t size, AddressMode mode, bool normalized) {
  const int64_t n = size;
  if (index >= 0 && index < n) return index;
  if (mode == AddressMode::border) return -1;
  if (mode == AddressMode::wrap && normalized) return ((index % n) + n) % n;
  return std::clamp<int64_t>(index, 0, n - 1);
}

// The plane of a point, and its place in it.
struct Place {
  double x = 0, y = 0, z = 0;
  int64_t layer = -1;  // -1: the third dimension is a coordinate
};

Place place_of(const Texture& texture, TextureShape shape, const TexturePoint& point) {
  const auto layer = [&](int64_t wanted) { return std::clamp<int64_t>(wanted, 0, int64_t{texture.depth} - 1); };
  switch (shape) {
    case TextureShape::d1:
      return {point.x, 0.5, 0, 0};
    case TextureShape::a1d:
      return {point.x, 0.5, 0, layer(point.layer)};
    case TextureShape::d2:
      return {point.x, point.y, 0, 0};
    case TextureShape::a2d:
      return {point.x, point.y, 0, layer(point.layer)};
    case TextureShape::d3:
      return {point.x, point.y, point.z, -1};
    case TextureShape::cube:
    case TextureShape::acube: {
      const CubePoint at = find_face(point.x, point.y, point.z);
      const int64_t cube = shape == TextureShape::acube ? std::clamp<int64_t>(point.layer, 0, 1 << 20) : 0;
      return {at.x, at.y, 0, layer(6 * cube + at.face)};
    }
  }
  return {};
}

bool is_flat(TextureShape shape) { return shape == TextureShape::d1 || shape == TextureShape::a1d; }
bool is_cube(TextureShape shape) { return shape == TextureShape::cube || shape == TextureShape::acube; }

Neighbours one(int64_t index) { return {{index, index}, {1, 0}}; }

struct Box {
  Neighbours x, y, z;
};

Box find_box(const Texture& t, const TextureLevel& level, TextureShape shape, const TexturePoint& point, bool linear) {
  const Place at = place_of(t, shape, point);
  const bool normalized = (t.normalized_coordinates || is_cube(shape)) && !point.texels;
  const bool filtered = linear && !point.texels;
  const auto along = [&](double c, uint32_t size, size_t k) {
    // A filter at the edge of a face stays on it.
    const AddressMode mode = is_cube(shape) ? AddressMode::clamp : t.address_modes[k];
    return find_neighbours(c, size, mode, normalized, filtered);
  };
  return {along(at.x, level.width, 0), is_flat(shape) ? one(0) : along(at.y, level.height, 1),
          at.layer >= 0 ? one(at.layer) : along(at.z, level.depth, 2)};
}

Tap tap_at(const Texture& t, const TextureLevel& level, int64_t x, int64_t y, int64_t z, double weight) {
  if (x < 0 || y < 0 || z < 0) return {false, 0, weight};
  const uint64_t offset = level.offset + static_cast<uint64_t>(z) * level.plane +
                          static_cast<uint64_t>(y) * level.pitch + static_cast<uint64_t>(x) * t.texel_bytes();
  return {true, t.address + offset, weight};
}

void add_level(const Texture& t, uint32_t k, TextureShape shape, const TexturePoint& point, double weight, Taps& taps) {
  const TextureLevel level = level_of(t, k);
  const Box box = find_box(t, level, shape, point, t.filter == Filter::linear);
  for (size_t z = 0; z < 2; ++z) {
    for (size_t y = 0; y < 2; ++y) {
      for (size_t x = 0; x < 2; ++x) {
        const double w = weight * box.x.weight[x] * box.y.weight[y] * box.z.weight[z];
        if (w != 0) taps.list[taps.count++] = tap_at(t, level, box.x.index[x], box.y.index[y], box.z.index[z], w);
      }
    }
  }
}

template <class T>
T channel(const std::byte* texel, uint32_t c) {
  T value;
  std::memcpy(&value, texel + c * sizeof(T), sizeof(T));
  return value;
}

double from_srgb(double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); }

double number_of(const Texture& t, const std::byte* texel, uint32_t c) {
  switch (t.kind) {
    case ChannelKind::floating:
      return t.channel_bytes == 2 ? num::f16_to_f32(channel<uint16_t>(texel, c)) : channel<float>(texel, c);
    case ChannelKind::signed_int:
      if (t.channel_bytes == 1) return std::max(channel<int8_t>(texel, c) / 127.0, -1.0);
      if (t.channel_bytes == 2) return std::max(channel<int16_t>(texel, c) / 32767.0, -1.0);
      return channel<int32_t>(texel, c);
    case ChannelKind::unsigned_int:
      if (t.channel_bytes == 1) return channel<uint8_t>(texel, c) / 255.0;
      if (t.channel_bytes == 2) return channel<uint16_t>(texel, c) / 65535.0;
      return channel<uint32_t>(texel, c);
  }
  return 0;
}

}  // namespace

Neighbours find_neighbours(double x, uint32_t size, AddressMode mode, bool normalized, bool linear) {
  x = finite(x);
  const double at = normalized ? fold(x, mode) * size : x;
  if (!linear) return one(address_texel(static_cast<int64_t>(std::floor(at)), size, mode, normalized));
  const auto fixed = static_cast<int64_t>(std::floor((at - 0.5) * kWeightUnit + 0.5));
  const int64_t first = fixed >> 8;
  const double second = static_cast<double>(fixed & 255) / kWeightUnit;
  return {{address_texel(first, size, mode, normalized), address_texel(first + 1, size, mode, normalized)},
          {1 - second, second}};
}

CubePoint find_face(double x, double y, double z) {
  x = finite(x);
  y = finite(y);
  z = finite(z);
  const double ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
  uint32_t face = 0;
  double s = 0, t = 0, m = 0;
  if (ax > ay && ax > az) {
    face = x >= 0 ? 0 : 1;
    m = ax;
    s = x >= 0 ? -z : z;
    t = -y;
  } else if (ay >= ax && ay > az) {
    face = y >= 0 ? 2 : 3;
    m = ay;
    s = x;
    t = y >= 0 ? z : -z;
  } else {
    face = z >= 0 ? 4 : 5;
    m = az;
    s = z >= 0 ? x : -x;
    t = -y;
  }
  if (m == 0) return {face, 0.5, 0.5};
  return {face, (s / m + 1) / 2, (t / m + 1) / 2};
}

void find_taps(const Texture& t, TextureShape shape, const TexturePoint& point, double lod, Taps& taps) {
  taps.count = 0;
  if (t.levels == 1) return add_level(t, 0, shape, point, 1, taps);
  const double least = std::isfinite(t.least_level) ? t.least_level : 0;
  const double largest = std::isfinite(t.largest_level) ? t.largest_level : static_cast<double>(t.levels - 1);
  const double level = std::clamp(std::min(std::max(finite(lod) + finite(t.level_bias), least), largest), 0.0,
                                  static_cast<double>(t.levels - 1));
  if (t.mip_filter == Filter::point)
    return add_level(t, static_cast<uint32_t>(std::floor(level + 0.5)), shape, point, 1, taps);
  const auto fixed = static_cast<uint32_t>(std::floor(level * kWeightUnit + 0.5));
  const double second = (fixed & 255) / kWeightUnit;
  add_level(t, fixed >> 8, shape, point, 1 - second, taps);
  if (second != 0) add_level(t, (fixed >> 8) + 1, shape, point, second, taps);
}

void find_gathered(const Texture& t, TextureShape shape, const TexturePoint& point, Taps& taps) {
  const TextureLevel level = level_of(t, 0);
  const Box box = find_box(t, level, shape, point, true);
  // From the lower left one, counterclockwise.
  constexpr size_t kOrder[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  taps.count = 0;
  for (const auto& [x, y] : kOrder)
    taps.list[taps.count++] = tap_at(t, level, box.x.index[x], box.y.index[y], box.z.index[0], 1);
}

double lod_of_gradients(const Texture& t, const std::array<double, 3>& dx, const std::array<double, 3>& dy) {
  const double size[3] = {t.normalized_coordinates ? t.width : 1.0, t.normalized_coordinates ? t.height : 1.0,
                          t.normalized_coordinates && !t.layered ? t.depth : 1.0};
  const auto length = [&](const std::array<double, 3>& d) {
    return std::sqrt(std::pow(d[0] * size[0], 2) + std::pow(d[1] * size[1], 2) + std::pow(d[2] * size[2], 2));
  };
  const double longer = std::max(length(dx), length(dy));
  return longer > 0 ? std::log2(longer) : -kFar;
}

// Components that a texel lacks are 0, the fourth 1.
Components float_components(const Texture& t, const std::byte* texel) {
  Components c{0, 0, 0, 1};
  for (uint32_t k = 0; k < t.channels; ++k) {
    c[k] = number_of(t, texel, k);
    if (t.srgb && k < 3) c[k] = from_srgb(c[k]);
  }
  return c;
}

std::array<uint32_t, 4> integer_components(const Texture& t, const std::byte* texel) {
  const bool is_signed = t.kind == ChannelKind::signed_int;
  std::array<uint32_t, 4> c{0, 0, 0, 1};
  for (uint32_t k = 0; k < t.channels; ++k) {
    switch (t.channel_bytes) {
      case 1:
        c[k] = is_signed ? static_cast<uint32_t>(channel<int8_t>(texel, k)) : channel<uint8_t>(texel, k);
        break;
      case 2:
        c[k] = is_signed ? static_cast<uint32_t>(channel<int16_t>(texel, k)) : channel<uint16_t>(texel, k);
        break;
      default:
        c[k] = channel<uint32_t>(texel, k);
    }
  }
  return c;
}

}  // namespace fb::simt
