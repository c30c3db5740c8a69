#include "virtual_node/simt/tensor/texture.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "common/ptx/traits.h"
#include "virtual_node/simt/async/async_issue.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/mask.h"
#include "virtual_node/simt/shared_ref.h"
#include "virtual_node/simt/tensor/texture_sampling.h"

namespace fb::simt {
namespace {

using ptx::Mod;

constexpr uint32_t kMaxTexel = 16;  // bytes

// Descriptors

Texture load_texture(Warp& w, const Inst& i, uint32_t lane, mem::Address handle) {
  const char* what = ptx::traits(source_of(w, i)).writes ? "surface" : "texture";
  const auto fail = [&](const std::string& text) {
    w.trap(TrapKind::invalid_operand, i, lane, fmt::format("the {} object {:#x}: {}", what, handle, text), handle);
  };
  const std::byte* at =
      handle % abi::kTextureBytes == 0 && mem::is_global(handle) ? w.find_global(handle, abi::kTextureBytes) : nullptr;
  Texture texture;
  if (!at || !abi::decode(std::span<const std::byte, abi::kTextureBytes>(at, abi::kTextureBytes), texture))
    fail("there is none");
  if (const std::string problem = abi::find_problem(texture); !problem.empty()) fail(problem);
  return texture;
}

// Calls f(texture, lanes) for the lanes of each handle.
template <class F>
void each_texture(Warp& w, const Inst& i, int k, F f) {
  for (Mask rest = w.exec; rest != 0;) {
    const uint32_t first = first_of(rest);
    const mem::Address handle = first_address(w, i, k, first);
    Mask same = 0;
    for (Mask m = rest; m != 0; m &= m - 1) {
      if (first_address(w, i, k, first_of(m)) == handle) same |= Mask{1} << first_of(m);
    }
    f(load_texture(w, i, first, handle), same);
    rest &= ~same;
  }
}

// Coordinates

TextureShape shape_of(const ptx::Instruction& inst) {
  if (inst.has(Mod::dim_1d)) return TextureShape::d1;
  if (inst.has(Mod::dim_2d)) return TextureShape::d2;
  if (inst.has(Mod::dim_3d)) return TextureShape::d3;
  if (inst.has(Mod::a1d)) return TextureShape::a1d;
  if (inst.has(Mod::a2d)) return TextureShape::a2d;
  return inst.has(Mod::cube) ? TextureShape::cube : TextureShape::acube;
}

bool has_layer(TextureShape shape) {
  return shape == TextureShape::a1d || shape == TextureShape::a2d || shape == TextureShape::acube;
}

uint32_t dimensions_of(TextureShape shape) {
  switch (shape) {
    case TextureShape::d1:
    case TextureShape::a1d:
      return 1;
    case TextureShape::d2:
    case TextureShape::a2d:
      return 2;
    default:
      return 3;
  }
}

// The rows of an instruction's coordinates, which stand behind the rows of its results.
struct Coordinates {
  Coordinates(const Warp& warp, const Inst& inst, TextureShape s, uint32_t first, bool integers)
      : w(warp), i(inst), shape(s), at(first), texels(integers) {}

  double number(uint32_t lane, uint32_t k) const {
    const int32_t row = i.list[at + k];
    return texels ? w.src<int32_t>(row)[lane] : static_cast<double>(w.src<float>(row)[lane]);
  }
  TexturePoint of(uint32_t lane) const {
    TexturePoint point;
    uint32_t k = 0;
    if (has_layer(shape)) point.layer = w.src<int32_t>(i.list[at + k++])[lane];
    const uint32_t dimensions = dimensions_of(shape);
    point.x = number(lane, k);
    if (dimensions > 1) point.y = number(lane, k + 1);
    if (dimensions > 2) point.z = number(lane, k + 2);
    point.texels = texels;
    return point;
  }

  const Warp& w;
  const Inst& i;
  TextureShape shape;
  uint32_t at;
  bool texels;
};

// Texels

struct LaneBytesOf {
  std::byte bytes[kLanes][kMaxTexel];
};

// Reads `bytes` at each lane's address, with everything that an ordinary load does for its observers.
void load_lanes(Warp& w, const Inst& i, Mask lanes, const mem::Address* a, uint32_t bytes, LaneBytesOf& to) {
  if (lanes == 0) return;
  if (w.listener())
    w.listener()->on_access(
        w, {AccessKind::load, order_of(i), scope_of(i), Proxy::generic, static_cast<uint8_t>(bytes), lanes, a, &i});
  const std::byte* const* old = std::exchange(w.old_bytes, nullptr);
  if (old) w.note_effect();
  each_lane(lanes, [&](uint32_t l) {
    const std::byte* from = w.resolve(i, ptx::Space::global, l, a[l], bytes);
    if (old && old[l]) {
      from = old[l];
    } else if (w.recording) {
      w.note_read(from, a[l], bytes, i);
    }
    std::memcpy(to.bytes[l], from, bytes);
  });
}

void store_lanes(Warp& w, const Inst& i, Mask lanes, const mem::Address* a, uint32_t bytes, const LaneBytesOf& from) {
  if (lanes == 0) return;
  if (w.listener())
    w.listener()->on_access(
        w, {AccessKind::store, order_of(i), scope_of(i), Proxy::generic, static_cast<uint8_t>(bytes), lanes, a, &i});
  w.note_effect();
  each_lane(lanes, [&](uint32_t l) {
    std::byte* to = w.resolve(i, ptx::Space::global, l, a[l], bytes);
    if (w.judges_polling() && std::memcmp(to, from.bytes[l], bytes) != 0) w.note_change();
    std::memcpy(to, from.bytes[l], bytes);
    w.environment().watch().written(to, bytes);
  });
}

// Results

void write_component(Warp& w, const Inst& i, uint32_t c, uint32_t lane, uint32_t bits) {
  w.row<uint32_t>(i.list[i.op[0] + static_cast<int32_t>(c)])[lane] = bits;
}

uint32_t bits_of_float(double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }

// Floats are combined; integers are never filtered.
bool gives_floats(const Texture& texture) { return texture.kind == ChannelKind::floating || texture.normalized_read; }

uint32_t border_bits(const Texture& t, uint32_t c) {
  return gives_floats(t) ? bits_of_float(t.border[c]) : static_cast<uint32_t>(static_cast<int64_t>(t.border[c]));
}

// The components of one texel, or of what lies outside.
std::array<uint32_t, 4> texel_bits(const Texture& t, const Tap& tap, const std::byte* texel) {
  std::array<uint32_t, 4> bits{};
  if (!tap.inside) {
    for (uint32_t c = 0; c < 4; ++c) bits[c] = border_bits(t, c);
  } else if (gives_floats(t)) {
    const Components components = float_components(t, texel);
    for (uint32_t c = 0; c < 4; ++c) bits[c] = bits_of_float(components[c]);
  } else {
    bits = integer_components(t, texel);
  }
  return bits;
}

void add_texel(const Texture& t, const Tap& tap, const std::byte* texel, Components& sum) {
  const Components one =
      tap.inside ? float_components(t, texel) : Components{t.border[0], t.border[1], t.border[2], t.border[3]};
  for (uint32_t c = 0; c < 4; ++c) sum[c] += tap.weight * one[c];
}

// Texels of all lanes, tap by tap.
template <class F>
void each_tap(Warp& w, const Inst& i, const Texture& t, Mask lanes, const Taps* taps, F f) {
  uint32_t most = 0;
  each_lane(lanes, [&](uint32_t l) { most = std::max(most, taps[l].count); });
  LaneBytesOf texels;
  for (uint32_t k = 0; k < most; ++k) {
    mem::Address addresses[kLanes] = {};
    Mask inside = 0;
    each_lane(lanes, [&](uint32_t l) {
      if (k >= taps[l].count || !taps[l].list[k].inside) return;
      addresses[l] = taps[l].list[k].address;
      inside |= Mask{1} << l;
    });
    load_lanes(w, i, inside, addresses, t.texel_bytes(), texels);
    each_lane(lanes, [&](uint32_t l) {
      if (k < taps[l].count) f(l, k, taps[l].list[k], texels.bytes[l]);
    });
  }
}

void write_texture(Warp& w, const Inst& i, const Texture& t, Mask lanes, const Taps* taps) {
  Components sums[kLanes] = {};
  each_tap(w, i, t, lanes, taps, [&](uint32_t l, uint32_t k, const Tap& tap, const std::byte* texel) {
    if (taps[l].count == 1 || !gives_floats(t)) {
      if (k > 0) return;
      const auto bits = texel_bits(t, tap, texel);
      for (uint32_t c = 0; c < 4; ++c) write_component(w, i, c, l, bits[c]);
      return;
    }
    add_texel(t, tap, texel, sums[l]);
    if (k + 1 < taps[l].count) return;
    for (uint32_t c = 0; c < 4; ++c) write_component(w, i, c, l, bits_of_float(sums[l][c]));
  });
}

// tex.level and tex.grad; the level of the others is 0.
class Detail {
 public:
  Detail(const Warp& w, const Inst& i, const ptx::Instruction& inst) : w_(w), i_(i), inst_(inst) {}

  double of(const Texture& t, uint32_t lane) const {
    if (inst_.form == ptx::Form::tex_level) {
      if (inst_.type(1) == ptx::Type::s32) return w_.src<int32_t>(i_.op[3])[lane];
      return static_cast<double>(w_.src<float>(i_.op[3])[lane]);
    }
    if (inst_.form != ptx::Form::tex_grad) return 0;
    return lod_of_gradients(t, gradient(3, lane), gradient(4, lane));
  }

 private:
  std::array<double, 3> gradient(int k, uint32_t lane) const {
    const uint32_t count = dimensions_of(shape_of(inst_));
    std::array<double, 3> d{};
    for (uint32_t c = 0; c < count; ++c)
      d[c] = static_cast<double>(w_.src<float>(i_.list[i_.op[k] + static_cast<int32_t>(c)])[lane]);
    return d;
  }

  const Warp& w_;
  const Inst& i_;
  const ptx::Instruction& inst_;
};

constexpr uint32_t kResults = 4;

// All texels are there: nothing is sparse.
void say_resident(Warp& w, const Inst& i) {
  if (i.op[1] != kAbsent) w.set_predicate(i.op[1], w.exec);
}

// Surfaces

// Registers may be wider than the elements.
void write_element(Warp& w, int32_t row, uint32_t width, uint32_t lane, uint64_t value) {
  std::memcpy(w.row<std::byte>(row) + size_t{lane} * width, &value, width);
}

uint64_t read_element(const Warp& w, int32_t row, uint32_t width, uint32_t lane) {
  uint64_t value = 0;
  std::memcpy(&value, w.src<std::byte>(row) + size_t{lane} * width, width);
  return value;
}

struct SurfaceAccess {
  explicit SurfaceAccess(const ptx::Instruction& inst)
      : shape(shape_of(inst)),
        element(ptx::bytes_of(inst.type())),
        count(inst.has(Mod::v4)   ? 4
              : inst.has(Mod::v2) ? 2
                                  : 1),
        clamps(inst.has(Mod::clamp)),
        traps(inst.has(Mod::trap_outside)) {}

  uint32_t bytes() const { return element * count; }

  TextureShape shape;
  uint32_t element, count;
  bool clamps, traps;
};

// The address of a surface's bytes; false: outside, where nothing is.
bool find_surface_bytes(Warp& w, const Inst& i, uint32_t lane, const SurfaceAccess& access, const Texture& t,
                        const TexturePoint& point, mem::Address& address) {
  const auto bytes = int64_t{access.bytes()};
  int64_t x = static_cast<int64_t>(point.x);
  int64_t y = access.shape == TextureShape::d1 || access.shape == TextureShape::a1d ? 0 : static_cast<int64_t>(point.y);
  int64_t z = has_layer(access.shape)            ? point.layer
              : access.shape == TextureShape::d3 ? static_cast<int64_t>(point.z)
                                                 : 0;
  const int64_t row = int64_t{t.width} * t.texel_bytes();
  const bool inside = x >= 0 && x + bytes <= row && y >= 0 && y < t.height && z >= 0 && z < t.depth;
  if (!inside) {
    if (access.traps) {
      w.trap(TrapKind::out_of_bounds, i, lane,
             fmt::format("{} bytes at byte {}, row {}, plane {} of a surface of {} bytes, {} rows, {} planes", bytes, x,
                         y, z, row, t.height, t.depth));
    }
    if (!access.clamps || bytes > row) return false;
    x = std::clamp<int64_t>(x, 0, row - bytes);
    y = std::clamp<int64_t>(y, 0, int64_t{t.height} - 1);
    z = std::clamp<int64_t>(z, 0, int64_t{t.depth} - 1);
  }
  address =
      t.address + static_cast<uint64_t>(z) * t.plane + static_cast<uint64_t>(y) * t.pitch + static_cast<uint64_t>(x);
  return true;
}

void check_surface(Warp& w, const Inst& i, uint32_t lane, const Texture& t) {
  if (!t.surface) w.trap(TrapKind::invalid_operand, i, lane, "a texture object is used as a surface object");
}

// Lanes whose bytes are inside, and where they are.
Mask find_surface_lanes(Warp& w, const Inst& i, const SurfaceAccess& access, const Texture& t, Mask lanes,
                        const Coordinates& coordinates, mem::Address* addresses) {
  check_surface(w, i, first_of(lanes), t);
  Mask inside = 0;
  each_lane(lanes, [&](uint32_t l) {
    if (find_surface_bytes(w, i, l, access, t, coordinates.of(l), addresses[l])) inside |= Mask{1} << l;
  });
  return inside;
}

}  // namespace

const Inst* read_texture(Warp& w, const Inst& i) {
  const ptx::Instruction& inst = source_of(w, i);
  const Coordinates coordinates(w, i, shape_of(inst), kResults, inst.type(1) == ptx::Type::s32);
  const Detail detail(w, i, inst);
  each_texture(w, i, 2, [&](const Texture& t, Mask lanes) {
    Taps taps[kLanes];
    each_lane(lanes, [&](uint32_t l) { find_taps(t, coordinates.shape, coordinates.of(l), detail.of(t, l), taps[l]); });
    write_texture(w, i, t, lanes, taps);
  });
  say_resident(w, i);
  return &i + 1;
}

const Inst* gather_texels(Warp& w, const Inst& i) {
  const ptx::Instruction& inst = source_of(w, i);
  const Coordinates coordinates(w, i, shape_of(inst), kResults, false);
  const uint32_t component = inst.has(Mod::r) ? 0 : inst.has(Mod::g) ? 1 : inst.has(Mod::b) ? 2 : 3;
  each_texture(w, i, 2, [&](const Texture& t, Mask lanes) {
    Taps taps[kLanes];
    each_lane(lanes, [&](uint32_t l) { find_gathered(t, coordinates.shape, coordinates.of(l), taps[l]); });
    // Coordinates are read before a result is written: registers may be the same.
    each_tap(w, i, t, lanes, taps, [&](uint32_t l, uint32_t k, const Tap& tap, const std::byte* texel) {
      write_component(w, i, k, l, texel_bits(t, tap, texel)[component]);
    });
  });
  say_resident(w, i);
  return &i + 1;
}

const Inst* load_surface(Warp& w, const Inst& i) {
  const ptx::Instruction& inst = source_of(w, i);
  const SurfaceAccess access(inst);
  const Coordinates coordinates(w, i, access.shape, access.count, true);
  each_texture(w, i, 1, [&](const Texture& t, Mask lanes) {
    mem::Address addresses[kLanes] = {};
    LaneBytesOf texels{};
    const Mask inside = find_surface_lanes(w, i, access, t, lanes, coordinates, addresses);
    load_lanes(w, i, inside, addresses, access.bytes(), texels);
    each_lane(lanes, [&](uint32_t l) {
      for (uint32_t n = 0; n < access.count; ++n) {
        uint64_t value = 0;
        std::memcpy(&value, texels.bytes[l] + size_t{n} * access.element, access.element);
        write_element(w, i.list[i.op[0] + static_cast<int32_t>(n)], i.width[0], l, value);
      }
    });
  });
  return &i + 1;
}

const Inst* store_surface(Warp& w, const Inst& i) {
  const ptx::Instruction& inst = source_of(w, i);
  const SurfaceAccess access(inst);
  const Coordinates coordinates(w, i, access.shape, 0, true);
  each_texture(w, i, 0, [&](const Texture& t, Mask lanes) {
    mem::Address addresses[kLanes] = {};
    LaneBytesOf texels{};
    each_lane(lanes, [&](uint32_t l) {
      for (uint32_t n = 0; n < access.count; ++n) {
        const uint64_t value = read_element(w, i.list[i.op[1] + static_cast<int32_t>(n)], i.width[1], l);
        std::memcpy(texels.bytes[l] + size_t{n} * access.element, &value, access.element);
      }
    });
    const Mask inside = find_surface_lanes(w, i, access, t, lanes, coordinates, addresses);
    store_lanes(w, i, inside, addresses, access.bytes(), texels);
  });
  return &i + 1;
}

const Inst* query_texture(Warp& w, const Inst& i) {
  const ptx::Instruction& inst = source_of(w, i);
  each_texture(w, i, 1, [&](const Texture& t, Mask lanes) {
    const uint32_t value = inst.has(Mod::width)        ? t.width
                           : inst.has(Mod::height)     ? t.height
                           : inst.has(Mod::depth)      ? (t.layered ? 0 : t.depth)
                           : inst.has(Mod::array_size) ? (t.layered ? t.depth : 0)
                                                       : t.levels;
    each_lane(lanes, [&](uint32_t l) { w.row<uint32_t>(i.op[0])[l] = value; });
  });
  return &i + 1;
}

}  // namespace fb::simt
