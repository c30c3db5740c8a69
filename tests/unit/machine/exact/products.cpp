#include "machine/exact/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <string_view>

#include "machine/exact/exact_numbers.h"

namespace fb::products {
namespace {

struct Element {
  std::string_view name;
  uint32_t bits;
  int least, greatest;  // whole numbers that are used as factors
  uint32_t packed = 0;  // bits of an element where 16 of them lie without gaps in 16 bytes; 0: as `bits` says
};

constexpr Element kF64{"f64", 64, -8, 8}, kTf32{"tf32", 32, -8, 8}, kF16{"f16", 16, -8, 8}, kBf16{"bf16", 16, -8, 8},
    kE4m3{"e4m3", 8, -8, 8}, kE5m2{"e5m2", 8, -8, 8}, kS8{"s8", 8, -128, 127}, kU8{"u8", 8, 0, 255},
    kS4{"s4", 4, -8, 7}, kU4{"u4", 4, 0, 15}, kB1{"b1", 1, 0, 1};
// Any bits of these are small numbers.
constexpr Element kE3m2{"e3m2", 8, -8, 8, 6}, kE2m3{"e2m3", 8, -8, 8, 6}, kE2m1{"e2m1", 8, -8, 8, 4};

// Two in a byte.
constexpr Element kPackedE2m1{"e2m1", 4, -8, 8};

bool is_integer(const Element& e) { return !cases::format_of(e.name); }

const cases::Format& format(const Element& e) { return *cases::format_of(e.name); }

uint64_t code_of(const Element& e, int value) {
  if (is_integer(e)) return static_cast<uint64_t>(value) & ((uint64_t{1} << e.bits) - 1);
  const uint64_t code = cases::add(format(e), cases::Round::zero, value, 0);
  return e.bits == 32 ? code << 13 : code;
}

// Of any bits: also of a sum.
double value_of(const Element& e, uint64_t code) {
  if (!is_integer(e)) return cases::value_of(format(e), e.bits == 32 ? code >> 13 : code);
  const auto value = static_cast<double>(code);
  return e.least < 0 && (code >> (e.bits - 1) & 1) != 0 ? value - static_cast<double>(uint64_t{1} << e.bits) : value;
}

// Elements side by side in words of 32 bits.
using Words = std::vector<uint32_t>;

uint64_t get(const Words& words, const Element& e, uint64_t index) {
  if (e.bits == 64) return words[2 * index] | uint64_t{words[2 * index + 1]} << 32;
  const uint64_t bit = index * e.bits;
  return words[bit / 32] >> (bit % 32) & (e.bits == 32 ? ~uint32_t{0} : (uint32_t{1} << e.bits) - 1);
}

void fill(Words& words, size_t begin, size_t end, const Element& e, Rng& rng, bool exact) {
  const bool any = !exact || is_integer(e) || e.packed != 0 || e.bits == 4;
  std::array<uint64_t, 7> codes{};  // of -3 … 3
  for (int k = 0; !any && k < 7; ++k) codes[static_cast<size_t>(k)] = code_of(e, k - 3);
  const auto draw = [&] { return codes[rng.below(7)]; };
  for (size_t k = begin; k < end; ++k) {
    words[k] = static_cast<uint32_t>(rng.next());
    if (any) continue;
    if (e.bits == 64) {
      const uint64_t code = draw();
      words[k] = static_cast<uint32_t>(k % 2 == begin % 2 ? 0 : code >> 32);
      continue;
    }
    words[k] = 0;
    for (uint32_t at = 0; at < 32; at += e.bits) words[k] |= static_cast<uint32_t>(draw()) << at;
  }
}

// The accumulator: f16 and f32 are floats, f64 too, s32 wraps or saturates.
struct Sum {
  std::string_view name;
  uint32_t bits;
};
constexpr Sum kSumF16{"f16", 16}, kSumF32{"f32", 32}, kSumF64{"f64", 64}, kSumS32{"s32", 32};

uint64_t finish(const Sum& to, double value, bool saturate) {
  if (to.name == "s32") {
    if (saturate) value = std::clamp(value, -2147483648.0, 2147483647.0);
    return static_cast<uint32_t>(static_cast<int64_t>(value));
  }
  // Exact; a sum that is zero came from +0.
  if (to.bits == 64) return std::bit_cast<uint64_t>(value + 0.0);
  if (to.bits == 32) return std::bit_cast<uint32_t>(static_cast<float>(value + 0.0));
  return cases::add(*cases::format_of(to.name), cases::Round::nearest_even, value, 0.0);
}

double start_value(const Sum& of, uint64_t code) {
  if (of.name == "s32") return static_cast<int32_t>(code);
  return cases::value_of(*cases::format_of(of.name), code);
}

void fill_sums(Words& words, size_t begin, size_t end, const Sum& to, Rng& rng, bool exact) {
  if (to.name == "s32" || !exact) {
    for (size_t k = begin; k < end; ++k) words[k] = static_cast<uint32_t>(rng.next());
    return;
  }
  const Element e{to.name, to.bits, -8, 8};
  fill(words, begin, end, e, rng, true);
}

void put(Words& words, const Sum& to, uint64_t index, uint64_t code) {
  if (to.bits == 64) {
    words[2 * index] = static_cast<uint32_t>(code);
    words[2 * index + 1] = static_cast<uint32_t>(code >> 32);
    return;
  }
  const uint64_t bit = index * to.bits;
  const uint32_t mask = to.bits == 32 ? ~uint32_t{0} : 0xFFFF;
  words[bit / 32] = (words[bit / 32] & ~(mask << bit % 32)) | static_cast<uint32_t>(code) << bit % 32;
}

double factor_product(const Element& ea, const Element& eb, uint64_t a, uint64_t b, bool exclusive) {
  if (ea.bits == 1) return static_cast<double>(exclusive ? a ^ b : a & b);
  return value_of(ea, a) * value_of(eb, b);
}

std::string list_of(const char* name, uint32_t first, uint32_t count) {
  std::string text = "{";
  for (uint32_t k = 0; k < count; ++k) text += fmt::format("{}%{}{}", k == 0 ? "" : ", ", name, first + k);
  return text + "}";
}

// Registers of a thread lie one after the other.
std::string load_registers(const char* name, uint32_t count, uint32_t bits) {
  std::string text;
  for (uint32_t k = 0; k < count; ++k)
    text += fmt::format("  ld.global.b{} %{}{}, [%p+{}];\n", bits, name, k, k * bits / 8);
  return text;
}

constexpr std::string_view kHead = ".version 8.8\n.target sm_{}\n.address_size 64\n";

}  // namespace

// mma.sync: a warp holds A (m×k), B (k×n) and C (m×n), n = 8, in fragments. A register holds e neighbours along K.
Product draw_mma(Rng& rng, bool exact) {
  struct Shape {
    uint32_t m, k;
    const Element *a, *b;
    Sum sum;
    const char* operation = "";
  };
  static constexpr Shape kShapes[] = {{8, 4, &kF64, &kF64, kSumF64},
                                      {16, 4, &kF64, &kF64, kSumF64},
                                      {16, 8, &kF64, &kF64, kSumF64},
                                      {16, 16, &kF64, &kF64, kSumF64},
                                      {16, 4, &kTf32, &kTf32, kSumF32},
                                      {16, 8, &kTf32, &kTf32, kSumF32},
                                      {16, 8, &kF16, &kF16, kSumF16},
                                      {16, 16, &kF16, &kF16, kSumF16},
                                      {16, 8, &kF16, &kF16, kSumF32},
                                      {16, 16, &kF16, &kF16, kSumF32},
                                      {16, 8, &kBf16, &kBf16, kSumF32},
                                      {16, 16, &kBf16, &kBf16, kSumF32},
                                      {16, 16, &kE5m2, &kE4m3, kSumF16},
                                      {16, 16, &kE4m3, &kE4m3, kSumF32},
                                      {16, 32, &kE4m3, &kE4m3, kSumF16},
                                      {16, 32, &kE4m3, &kE4m3, kSumF32},
                                      {16, 32, &kE4m3, &kE5m2, kSumF32},
                                      {16, 32, &kE5m2, &kE5m2, kSumF32},
                                      {8, 16, &kS8, &kU8, kSumS32},
                                      {8, 32, &kS4, &kS4, kSumS32},
                                      {16, 16, &kS8, &kS8, kSumS32},
                                      {16, 32, &kS8, &kS8, kSumS32},
                                      {16, 32, &kU8, &kS8, kSumS32},
                                      {16, 32, &kU8, &kU8, kSumS32},
                                      {16, 32, &kS4, &kU4, kSumS32},
                                      {16, 64, &kU4, &kS4, kSumS32},
                                      {16, 64, &kU4, &kU4, kSumS32},
                                      {8, 128, &kB1, &kB1, kSumS32, ".and.popc"},
                                      {8, 128, &kB1, &kB1, kSumS32, ".xor.popc"},
                                      {16, 128, &kB1, &kB1, kSumS32, ".and.popc"},
                                      {16, 256, &kB1, &kB1, kSumS32, ".and.popc"},
                                      {16, 256, &kB1, &kB1, kSumS32, ".xor.popc"}};
  const Shape& s = kShapes[rng.below(std::size(kShapes))];
  const bool one_bit = s.a->bits == 1;
  const bool saturate = s.sum.bits == 32 && s.sum.name == "s32" && !one_bit && rng.below(2) == 0;
  const uint32_t unit = std::max(1U, 32 / s.a->bits);                   // elements of a register
  const uint32_t width = std::max(32U, s.a->bits), words = width / 32;  // of a register
  const uint32_t columns = 4 * unit;                                    // of A that four threads hold
  const uint32_t b_registers = s.k / columns, a_registers = b_registers * s.m / 8;
  const uint32_t sum_width = s.sum.bits == 64 ? 64 : 32, sum_registers = s.m / 8 * (s.sum.bits == 16 ? 1 : 2);
  const uint32_t sum_words = sum_registers * sum_width / 32;

  Product p;
  p.about = fmt::format("mma.sync.aligned.m{}n8k{}.row.col{}.{}.{}.{}.{}{}", s.m, s.k, saturate ? ".satfinite" : "",
                        s.sum.name, s.a->name, s.b->name, s.sum.name, s.operation);
  const uint32_t a_words = a_registers * words, b_words = b_registers * words;
  Words a(32 * a_words), b(32 * b_words), c(32 * sum_words);
  fill(a, 0, a.size(), *s.a, rng, exact);
  fill(b, 0, b.size(), *s.b, rng, exact);
  fill_sums(c, 0, c.size(), s.sum, rng, exact);
  p.in = a;
  p.in.insert(p.in.end(), b.begin(), b.end());
  p.in.insert(p.in.end(), c.begin(), c.end());
  p.out = c;
  for (uint32_t row = 0; exact && row < s.m; ++row) {
    for (uint32_t column = 0; column < 8; ++column) {
      const uint32_t sum_lane = row % 8 * 4 + column / 2;
      const uint32_t at = s.sum.bits == 16 ? (sum_lane * sum_registers + row / 8) * 2 + column % 2
                                           : sum_lane * sum_registers + row / 8 * 2 + column % 2;
      double sum = start_value(s.sum, get(c, {s.sum.name, s.sum.bits, -8, 8}, at));
      for (uint32_t k = 0; k < s.k; ++k) {
        const uint32_t in_row = k % columns / unit, a_register = row / 8 + s.m / 8 * (k / columns);
        const uint64_t x = get(a, *s.a, ((row % 8 * 4 + in_row) * a_registers + a_register) * unit + k % unit);
        const uint64_t y = get(b, *s.b, ((column * 4 + in_row) * b_registers + k / columns) * unit + k % unit);
        sum += factor_product(*s.a, *s.b, x, y, std::string_view(s.operation).starts_with(".xor"));
      }
      put(p.out, s.sum, at, finish(s.sum, sum, saturate));
    }
  }
  p.ptx = fmt::format(fmt::runtime(kHead), "100a") +
          fmt::format(
              ".visible .entry k(.param .u64 in, .param .u64 out)\n{{\n  .reg .b32 %t;\n  .reg .b64 %p, %in;\n"
              "  .reg .b{0} %a<8>, %b<8>;\n  .reg .b{1} %c<8>;\n  mov.u32 %t, %tid.x;\n"
              "  ld.param.u64 %in, [in];\n  mad.wide.u32 %p, %t, {2}, %in;\n{3}"
              "  add.u64 %in, %in, {4};\n  mad.wide.u32 %p, %t, {5}, %in;\n{6}"
              "  add.u64 %in, %in, {7};\n  mad.wide.u32 %p, %t, {8}, %in;\n{9}  ",
              width, sum_width, 4 * a_words, load_registers("a", a_registers, width), 4 * a.size(), 4 * b_words,
              load_registers("b", b_registers, width), 4 * b.size(), 4 * sum_words,
              load_registers("c", sum_registers, sum_width)) +
          fmt::format("{} {}, {}, {}, {};\n", p.about, list_of("c", 0, sum_registers), list_of("a", 0, a_registers),
                      list_of("b", 0, b_registers), list_of("c", 0, sum_registers)) +
          fmt::format("  ld.param.u64 %p, [out];\n  mad.wide.u32 %p, %t, {}, %p;\n", 4 * sum_words);
  for (uint32_t k = 0; k < sum_registers; ++k)
    p.ptx += fmt::format("  st.global.b{} [%p+{}], %c{};\n", sum_width, k * sum_width / 8, k);
  p.ptx += "  ret;\n}\n";
  return p;
}

namespace {

// A factor of wgmma in shared memory.
struct Layout {
  uint32_t start = 0, leading = 0, stride = 0;  // bytes
  uint32_t swizzle = 0;                         // bytes of a row of the pattern; 0: none
  bool transposed = false;                      // neighbours are along M or N, not along K

  // Of wgmma; tcgen05 has another code of swizzling, one bit lower, and a constant.
  uint64_t descriptor(bool tcgen05 = false) const {
    if (tcgen05) {
      const uint64_t mode = swizzle == 128 ? 2 : swizzle == 64 ? 4 : swizzle == 32 ? 6 : 0;
      return start / 16 | uint64_t{leading / 16} << 16 | uint64_t{stride / 16} << 32 | uint64_t{1} << 46 | mode << 61;
    }
    const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return start / 16 | uint64_t{leading / 16} << 16 | uint64_t{stride / 16} << 32 | mode << 62;
  }

  // The byte of the element at `row` of M or N (`row` counts bytes if these are neighbours) and `k`.
  uint32_t byte(uint32_t row, uint32_t k, uint32_t bytes) const {
    const uint32_t along = (transposed ? row : k) * bytes, across = transposed ? k : row;
    if (swizzle == 0) {
      // Pieces of eight rows of 16 bytes.
      const uint32_t piece =
          transposed ? across / 8 * leading + along / 16 * stride : across / 8 * stride + along / 16 * leading;
      return start + piece + across % 8 * 16 + along % 16;
    }
    const uint32_t address = start + across / 8 * stride + across % 8 * swizzle +
                             (transposed ? along / swizzle * leading : 0) + along % swizzle;
    return address ^ (address >> 3 & (swizzle - 16));
  }
};

Layout draw_layout(Rng& rng, uint32_t start, uint32_t rows, bool may_transpose) {
  static constexpr uint32_t kSwizzles[] = {0, 32, 64, 128};
  Layout l;
  l.start = start;
  l.swizzle = kSwizzles[rng.below(4)];
  l.transposed = may_transpose && rng.below(2) == 0;
  const auto some = [&](uint32_t unit, uint32_t most) { return unit * static_cast<uint32_t>(1 + rng.below(most)); };
  if (l.swizzle == 0) {
    l.leading = some(128, 4);
    l.stride = some(128, rows > 64 ? 4 : 16);
    return l;
  }
  l.leading = l.transposed ? some(1024, 2) : 16;
  l.stride = some(8 * l.swizzle, l.transposed || rows > 64 ? 1 : 2);
  return l;
}

}  // namespace

// wgmma: D (64×n, of four warps) += A (64×k) · B (k×n), k of 32 bytes.
Product draw_wgmma(Rng& rng, bool exact) {
  struct Types {
    const Element *a, *b;
    Sum sum;
  };
  static constexpr Types kTypes[] = {{&kF16, &kF16, kSumF16},   {&kF16, &kF16, kSumF32},   {&kBf16, &kBf16, kSumF32},
                                     {&kTf32, &kTf32, kSumF32}, {&kE4m3, &kE5m2, kSumF32}, {&kE5m2, &kE4m3, kSumF16},
                                     {&kE4m3, &kE4m3, kSumF32}, {&kS8, &kS8, kSumS32},     {&kU8, &kS8, kSumS32},
                                     {&kS8, &kU8, kSumS32}};
  // More often bf16, which most kernels use.
  const Types& t = kTypes[rng.below(3) == 0 ? 2 : rng.below(std::size(kTypes))];
  const bool integer = is_integer(*t.a), half = t.a->bits == 16;
  static constexpr uint32_t kColumns[] = {256, 128, 96, 64, 32, 24, 16, 8};
  static constexpr uint32_t kOddColumns[] = {40, 56, 72, 88};
  const uint32_t n = !integer && rng.below(4) == 0 ? kOddColumns[rng.below(4)] : kColumns[rng.below(8)];
  const uint32_t depth = 256 / t.a->bits, unit = 32 / t.a->bits, bytes = t.a->bits / 8;
  const bool from_registers = rng.below(3) == 0, accumulate = rng.below(4) != 0;
  const bool saturate = integer && rng.below(2) == 0;
  const bool minus_a = !integer && rng.below(2) == 0, minus_b = !integer && rng.below(2) == 0;
  constexpr uint32_t kHalf = 32768;
  const Layout la = draw_layout(rng, 1024 * static_cast<uint32_t>(rng.below(2)), 64, half && !from_registers);
  const Layout lb = draw_layout(rng, kHalf, n, half);
  const uint32_t registers = t.sum.bits == 16 ? n / 4 : n / 2;

  Product p;
  p.threads = 128;
  p.shared_bytes = 2 * kHalf;
  constexpr size_t kImage = 2 * kHalf / 4, kThreads = 128;
  const size_t a_at = kImage, c_at = a_at + 4 * kThreads;
  p.in.resize(c_at + registers * kThreads);
  fill(p.in, 0, kImage / 2, *t.a, rng, exact);
  fill(p.in, kImage / 2, kImage, *t.b, rng, exact);
  fill(p.in, a_at, c_at, *t.a, rng, exact);
  fill_sums(p.in, c_at, p.in.size(), t.sum, rng, exact);
  p.out.assign(p.in.begin() + static_cast<ptrdiff_t>(c_at), p.in.end());
  const Element sum_element{t.sum.name, t.sum.bits, -8, 8};
  const Words c = p.out;
  std::vector<double> b;
  for (uint32_t k = 0; k < n * depth; ++k)
    b.push_back(value_of(*t.b, get(p.in, *t.b, lb.byte(k / depth, k % depth, bytes) / bytes)));
  std::array<double, 32> a_row{};
  for (uint32_t row = 0; exact && row < 64; ++row) {
    const uint32_t thread = row / 16 * 32 + row % 8 * 4;
    for (uint32_t k = 0; k < depth; ++k) {
      const uint64_t index =
          from_registers
              ? (a_at + (thread + k % (4 * unit) / unit) * 4 + row % 16 / 8 + k / (4 * unit) * 2) * unit + k % unit
              : la.byte(row, k, bytes) / bytes;
      a_row[k] = value_of(*t.a, get(p.in, *t.a, index));
    }
    for (uint32_t column = 0; column < n; ++column) {
      const uint32_t owner = thread + column % 8 / 2, high = row % 16 / 8;
      const uint64_t at = t.sum.bits == 16 ? (owner * registers + column / 8 * 2 + high) * 2 + column % 2
                                           : owner * registers + column / 8 * 4 + high * 2 + column % 2;
      double sum = accumulate ? start_value(t.sum, get(c, sum_element, at)) : 0;
      for (uint32_t k = 0; k < depth; ++k) {
        const double product = a_row[k] * b[column * depth + k];
        sum += minus_a != minus_b ? -product : product;
      }
      put(p.out, t.sum, at, finish(t.sum, sum, saturate));
    }
  }

  const std::string opcode = fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}{}.{}.{}.{}", n, depth,
                                         saturate ? ".satfinite" : "", t.sum.name, t.a->name, t.b->name);
  std::string rest = accumulate ? "1" : "0";
  if (!integer) rest += fmt::format(", {}, {}", minus_a ? -1 : 1, minus_b ? -1 : 1);
  if (half && !from_registers) rest += la.transposed ? ", 1" : ", 0";
  if (half) rest += lb.transposed ? ", 1" : ", 0";
  p.about = fmt::format("{} {} ({}), a {:x}, b {:x}", opcode, rest, from_registers ? "A in registers" : "A in memory",
                        la.descriptor(), lb.descriptor());
  p.ptx = fmt::format(fmt::runtime(kHead), "90a") +
          fmt::format(
              ".extern .shared .align 1024 .b8 memory[];\n"
              ".visible .entry k(.param .u64 in, .param .u64 out)\n{{\n"
              "  .reg .pred %l, %scale;\n  .reg .b32 %t, %n, %o, %x, %s, %a<4>, %c<128>;\n"
              "  .reg .b64 %p, %in, %base, %da, %db;\n  mov.u32 %t, %tid.x;\n  ld.param.u64 %in, [in];\n"
              "  mov.u32 %s, memory;\n  mov.u32 %n, %t;\nCOPY:\n  mad.wide.u32 %p, %n, 4, %in;\n"
              "  ld.global.b32 %x, [%p];\n  mad.lo.u32 %o, %n, 4, %s;\n  st.shared.b32 [%o], %x;\n"
              "  add.u32 %n, %n, 128;\n  setp.lt.u32 %l, %n, {};\n  @%l bra COPY;\n"
              "  add.u64 %in, %in, {};\n  mad.wide.u32 %p, %t, 16, %in;\n{}"
              "  add.u64 %in, %in, {};\n  mad.wide.u32 %p, %t, {}, %in;\n{}"
              "  shr.u32 %s, %s, 4;\n  cvt.u64.u32 %base, %s;\n"
              "  add.u64 %da, %base, 0x{:x};\n  add.u64 %db, %base, 0x{:x};\n"
              "  fence.proxy.async;\n  bar.sync 0;\n  setp.ne.b32 %scale, {}, 0;\n",
              kImage, 4 * a_at, load_registers("a", 4, 32), 16 * kThreads, 4 * registers,
              load_registers("c", registers, 32), la.descriptor(), lb.descriptor(), accumulate ? 1 : 0);
  rest = rest.substr(1);
  p.ptx += fmt::format(
      "  wgmma.fence.sync.aligned;\n  {} {}, {}, %db, %scale{};\n"
      "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n"
      "  ld.param.u64 %p, [out];\n  mad.wide.u32 %p, %t, {}, %p;\n",
      opcode, list_of("c", 0, registers), from_registers ? list_of("a", 0, 4) : "%da", rest, 4 * registers);
  for (uint32_t k = 0; k < registers; ++k) p.ptx += fmt::format("  st.global.b32 [%p+{}], %c{};\n", 4 * k, k);
  p.ptx += "  ret;\n}\n";
  return p;
}

namespace {

// Where the bytes begin that element k is in, in elements of a byte or more. Packed ones are found by the first of 16.
uint32_t first_of(const Element& e, uint32_t k) { return e.packed != 0 ? k / 16 * 16 : e.bits == 4 ? k / 2 : k; }

uint64_t factor_at(const Words& words, const Element& e, uint64_t byte, uint32_t k) {
  if (e.packed == 0) return get(words, e, byte * 8 / e.bits + (e.bits == 4 ? k % 2 : 0));
  uint64_t code = 0;
  for (uint32_t n = 0; n < e.packed; ++n) {
    const uint64_t bit = byte * 8 + k % 16 * e.packed + n;
    code |= uint64_t{words[bit / 32] >> (bit % 32) & 1} << n;
  }
  return code;
}

struct Kind {
  const char* name;
  const Element *a, *b;
  Sum sum;
  uint32_t code_a, code_b;
  uint32_t scales = 0;  // of a row, where there must be some
};

// What of a tcgen05.mma is drawn beside its kind and the layouts of its factors.
struct Mma {
  bool pair = false;  // of blocks: each has half of the rows of A and of the columns of B
  uint32_t m = 128, n = 16;
  bool scaled = false, masked = false;

  uint32_t blocks() const { return pair ? 2 : 1; }
  uint32_t rows() const { return m / blocks(); }
  bool split() const { return pair && m == 128; }  // the upper half of the columns is in lanes 64 to 127
  uint32_t columns() const { return split() ? n / 2 : n; }
  uint32_t lane(uint32_t row, uint32_t column) const {
    if (!pair && m == 64) return 32 * (row / 16) + row % 16;
    return row + (split() && column >= n / 2 ? 64 : 0);
  }
};

std::string tensor_memory_columns(const char* what, uint32_t count, const char* name, uint32_t at) {
  std::string text;
  const bool load = std::string_view(what) == "ld";
  for (uint32_t k = 0; k < count; k += 8) {
    const std::string list = list_of(name, k, std::min(8U, count - k)), address = fmt::format("[%ta+{}]", at + k);
    text += fmt::format("  tcgen05.{}.sync.aligned.32x32b.x8.b32 {}, {};\n", what, load ? list : address,
                        load ? address : list);
  }
  return text + fmt::format("  tcgen05.wait::{}.sync.aligned;\n", what);
}

// Declares and fills %t (thread), %w (warp), %base and %ta (the warp's part of tensor memory).
constexpr const char* kAllocate =
    "  setp.ne.u32 %l, %w, 0;\n  @%l bra ALLOCATED;\n"
    "  tcgen05.alloc.cta_group::{0}.sync.aligned.shared::cta.b32 [%o], 256;\n"
    "  tcgen05.relinquish_alloc_permit.cta_group::{0}.sync.aligned;\nALLOCATED:\n"
    "  fence.proxy.async;\n  bar.sync 0;\n  ld.shared.b32 %base, [%o];\n"
    "  shl.b32 %x, %w, 21;\n  add.u32 %ta, %base, %x;\n";

constexpr const char* kFree =
    "  setp.ne.u32 %l, %w, 0;\n  @%l bra END;\n"
    "  tcgen05.dealloc.cta_group::{}.sync.aligned.b32 %base, 256;\nEND:\n  ret;\n}}\n";

}  // namespace

// tcgen05.mma: D (m×n, in tensor memory, a lane for each row) += A (m×k) · B (k×n), k of 32 bytes.
Product draw_tcgen05(Rng& rng, bool exact) {
  static constexpr Kind kKinds[] = {{"f16", &kF16, &kF16, kSumF16, 0, 0},
                                    {"f16", &kF16, &kF16, kSumF32, 0, 0},
                                    {"f16", &kBf16, &kBf16, kSumF32, 1, 1},
                                    {"tf32", &kTf32, &kTf32, kSumF32, 2, 2},
                                    {"f8f6f4", &kE4m3, &kE5m2, kSumF32, 0, 1},
                                    {"f8f6f4", &kE5m2, &kE2m3, kSumF32, 1, 3},
                                    {"f8f6f4", &kE3m2, &kE2m1, kSumF32, 4, 5},
                                    {"f8f6f4", &kE2m1, &kE4m3, kSumF16, 5, 0},
                                    {"i8", &kU8, &kS8, kSumS32, 0, 1},
                                    {"i8", &kS8, &kS8, kSumS32, 1, 1},
                                    {"f4", &kPackedE2m1, &kPackedE2m1, kSumF32, 1, 1, 2},
                                    {"f4nvf4", &kPackedE2m1, &kPackedE2m1, kSumF32, 1, 1, 4}};
  const Kind& t = kKinds[rng.below(std::size(kKinds))];
  const bool integer = is_integer(*t.a), half = t.a->bits == 16;
  Mma mma;
  static constexpr uint32_t kColumns[] = {16, 32, 64, 128};
  mma.n = kColumns[rng.below(4)];
  mma.pair = rng.below(3) == 0;
  // A factor for each row of A and each column of B, as bytes of a word of tensor memory.
  mma.scaled = t.scales != 0 || (t.a->bits == 8 && !integer && t.sum.bits == 32 && rng.below(2) == 0);
  if (mma.pair) mma.m = rng.below(2) == 0 ? 128 : 256;
  if (!mma.pair && !mma.scaled && rng.below(3) == 0) mma.m = 64;
  mma.masked = !mma.scaled && rng.below(3) == 0;
  const uint32_t n = mma.n, blocks = mma.blocks(), rows = mma.rows(), columns = mma.columns(), held = n / blocks;
  const uint32_t depth = 256 / t.a->bits, bytes = std::max(1U, t.a->bits / 8);
  // Packed elements are packed in shared memory alone.
  const bool from_tensor_memory = rng.below(3) == 0 && t.a->packed == 0, accumulate = rng.below(4) != 0;
  const uint32_t of_row = std::max(1U, t.scales), unit = t.scales == 2 ? 2 : 1;
  const auto scale_byte_a = t.scales == 4 ? 0 : unit * static_cast<uint32_t>(rng.below(4 / unit));
  const auto scale_byte_b = t.scales == 4 ? 0 : unit * static_cast<uint32_t>(rng.below(4 / unit));
  const bool saturate = integer && rng.below(2) == 0;
  const bool minus_a = !integer && rng.below(2) == 0, minus_b = !integer && rng.below(2) == 0;
  // D is divided by 2 to this power before the product is added.
  const bool may_shift = half || t.a->bits == 32;
  const uint32_t shift = may_shift && accumulate && rng.below(2) == 0 ? 1 + static_cast<uint32_t>(rng.below(3)) : 0;
  constexpr uint32_t kHalf = 32768;
  const Layout la = draw_layout(rng, 1024 * static_cast<uint32_t>(rng.below(2)), 128, half && !from_tensor_memory);
  const Layout lb = draw_layout(rng, kHalf, n, half);
  const uint32_t sum_code = t.sum.name == "f16" ? 0 : t.sum.name == "f32" ? 1 : 2;
  const uint32_t common = t.code_a << 7 | t.code_b << 10 | uint32_t{minus_a} << 13 | uint32_t{minus_b} << 14 |
                          uint32_t{la.transposed} << 15 | uint32_t{lb.transposed} << 16 | n / 8 << 17;
  const uint32_t powers = t.scales == 4 ? 0 : 1;  // scales are ue8m0, or ue4m3
  const uint32_t instruction =
      common | (mma.scaled ? scale_byte_b << 4 | powers << 23 | mma.m / 128 << 27 | scale_byte_a << 29
                           : uint32_t{saturate} << 3 | sum_code << 4 | mma.m / 16 << 24);

  Product p;
  p.threads = 128;
  p.blocks = blocks;
  constexpr uint32_t kScales = 512;  // bytes, of each factor
  constexpr size_t kFactors = 2 * kHalf / 4, kImage = kFactors + 2 * kScales / 4, kThreads = 128;
  p.shared_bytes = 4 * kImage + 32;
  const size_t a_at = kImage, c_at = a_at + 8 * kThreads, of_block = c_at + columns * kThreads;
  p.in.resize(blocks * of_block);
  for (uint32_t rank = 0; rank < blocks; ++rank) {
    const size_t from = rank * of_block;
    fill(p.in, from, from + kFactors / 2, *t.a, rng, exact);
    fill(p.in, from + kFactors / 2, from + kFactors, *t.b, rng, exact);
    for (size_t k = from + kFactors; k < from + kImage; ++k) {
      static constexpr uint32_t kSmall[] = {0x30, 0x38, 0x3C, 0x40};  // ½, 1, 1½ and 2 as ue4m3
      for (uint32_t at = 0; at < 32; at += 8) {
        const auto code = powers == 0 ? kSmall[rng.below(4)] : 0x7D + static_cast<uint32_t>(rng.below(5));
        p.in[k] |= (exact ? code : static_cast<uint32_t>(rng.below(powers == 0 ? 127 : 255))) << at;
      }
      // Either block has the scales of all columns.
      if (rank == 1 && k >= from + kFactors + kScales / 4) p.in[k] = p.in[k - of_block];
    }
    fill(p.in, from + a_at, from + c_at, *t.a, rng, exact);
    // A column of 32 bits holds one sum.
    fill_sums(p.in, from + c_at, from + of_block, t.sum, rng, exact);
    for (size_t k = from + c_at; t.sum.bits == 16 && k < from + of_block; ++k) p.in[k] &= 0xFFFF;
    p.out.insert(p.out.end(), p.in.begin() + static_cast<ptrdiff_t>(from + c_at),
                 p.in.begin() + static_cast<ptrdiff_t>(from + of_block));
  }
  std::array<uint32_t, 8> mask{};
  for (uint32_t& word : mask) word = mma.masked ? static_cast<uint32_t>(rng.next() & rng.next()) : 0;
  // Lane r mod 32, word r / 32; copied from rows of 16 bytes.
  const auto scale = [&](uint32_t rank, size_t which, uint32_t row, uint32_t k, uint32_t byte) {
    if (!mma.scaled) return 1.0;
    const uint32_t word = p.in[rank * of_block + kFactors + which * kScales / 4 + row % 32 * 4 + row / 32];
    const uint32_t code = word >> (8 * (byte + k / (depth / of_row))) & 0xFF;
    return powers == 0 ? cases::value_of(cases::kE4m3, code) : std::ldexp(1.0, static_cast<int>(code) - 127);
  };
  const auto factor = [&](const Element& e, uint32_t rank, uint64_t byte, uint32_t k) {
    return value_of(e, factor_at(p.in, e, 4 * rank * of_block + byte, k));
  };
  std::vector<double> b;
  for (uint32_t at = 0; at < n * depth; ++at) {
    const uint32_t column = at / depth, k = at % depth;
    b.push_back(factor(*t.b, column / held, lb.byte(column % held, first_of(*t.b, k), bytes), k) *
                scale(0, 1, column, k, scale_byte_b) * (minus_a != minus_b ? -1 : 1));
  }
  std::array<double, 64> a_row{};
  for (uint32_t row = 0; exact && row < mma.m; ++row) {
    const uint32_t rank = row / rows, in_block = row % rows;
    for (uint32_t k = 0; k < depth; ++k) {
      const uint64_t in_tensor_memory = 4 * (a_at + mma.lane(in_block, 0) * 8) + first_of(*t.a, k) * bytes;
      a_row[k] =
          factor(*t.a, rank, from_tensor_memory ? in_tensor_memory : la.byte(in_block, first_of(*t.a, k), bytes), k) *
          scale(rank, 0, in_block, k, scale_byte_a);
    }
    for (uint32_t column = 0; column < n; ++column) {
      const uint32_t lane = mma.lane(in_block, column);
      if ((mask[4 * rank + lane / 32] >> (lane % 32) & 1) != 0) continue;
      uint32_t& place = p.out[(rank * kThreads + lane) * columns + column % columns];
      double sum = accumulate ? std::ldexp(start_value(t.sum, place), -static_cast<int>(shift)) : 0;
      for (uint32_t k = 0; k < depth; ++k) sum += a_row[k] * b[column * depth + k];
      place = static_cast<uint32_t>(finish(t.sum, sum, saturate));
    }
  }

  const uint32_t group = blocks;
  const std::string opcode =
      fmt::format("tcgen05.mma.cta_group::{}.kind::{}{}{}{}", group, mma.scaled ? "mx" : "", t.name,
                  mma.scaled ? ".block_scale" : "", t.scales == 0 ? "" : fmt::format(".scale_vec::{}X", t.scales));
  p.about = fmt::format("{} {}x{}, {} rows ({}), instruction {:x}, a {:x}, b {:x}", opcode, t.a->name, t.b->name, mma.m,
                        from_tensor_memory ? "A in tensor memory" : "A in shared memory", instruction,
                        la.descriptor(true), lb.descriptor(true));
  std::string copies, masks, rest;
  for (uint32_t which = 0; mma.scaled && which < 2; ++which) {
    const Layout l{.start = 2 * kHalf + which * kScales, .leading = 16, .stride = 128};
    copies += fmt::format(
        "  add.u32 %s{0}, %base, {1};\n  add.u64 %dc, %start, 0x{2:x};\n"
        "  tcgen05.cp.cta_group::{3}.32x128b.warpx4 [%s{0}], %dc;\n",
        which == 0 ? 'a' : 'b', 200 + 8 * which, l.descriptor(true), group);
  }
  if (mma.scaled) rest += "[%sa], [%sb], ";
  for (uint32_t k = 0; k < 4 * blocks && mma.masked; ++k) masks += fmt::format("  mov.b32 %m{}, 0x{:x};\n", k, mask[k]);
  if (mma.masked) rest += list_of("m", 0, 4 * blocks) + ", ";
  rest += "%adds";
  if (shift != 0) rest += fmt::format(", {}", shift);
  const char* const meet = mma.pair ? "barrier.cluster.arrive;\n  barrier.cluster.wait" : "bar.sync 0";
  p.ptx =
      fmt::format(fmt::runtime(kHead), "100a") +
      fmt::format(
          ".extern .shared .align 1024 .b8 memory[];\n"
          ".visible .entry k(.param .u64 in, .param .u64 out){7}\n{{\n"
          "  .reg .pred %l, %adds, %first, %done;\n  .reg .b16 %ranks;\n"
          "  .reg .b32 %t, %w, %n, %o, %x, %s, %bar, %base, %ta, %sa, %sb, %rank, %a<8>, %c<128>, %m<8>;\n"
          "  .reg .b64 %p, %in, %start, %da, %db, %dc;\n  mov.u32 %t, %tid.x;\n  shr.u32 %w, %t, 5;\n"
          "  mov.u32 %rank, %ctaid.x;\n  ld.param.u64 %in, [in];\n  mad.wide.u32 %in, %rank, {8}, %in;\n"
          "  mov.u32 %s, memory;\n  add.u32 %bar, %s, {0};\n"
          "  setp.eq.u32 %first, %t, 0;\n  @%first mbarrier.init.shared.b64 [%bar], 1;\n"
          "  mov.u32 %n, %t;\nCOPY:\n  mad.wide.u32 %p, %n, 4, %in;\n"
          "  ld.global.b32 %x, [%p];\n  mad.lo.u32 %o, %n, 4, %s;\n  st.shared.b32 [%o], %x;\n"
          "  add.u32 %n, %n, 128;\n  setp.lt.u32 %l, %n, {1};\n  @%l bra COPY;\n"
          "  add.u64 %in, %in, {2};\n  mad.wide.u32 %p, %t, 32, %in;\n{3}"
          "  add.u64 %in, %in, {4};\n  mad.wide.u32 %p, %t, {5}, %in;\n{6}  add.u32 %o, %bar, 16;\n",
          4 * kImage, kImage, 4 * a_at, load_registers("a", 8, 32), 32 * kThreads, 4 * columns,
          load_registers("c", columns, 32), mma.pair ? " .explicitcluster .reqnctapercluster 2" : "", 4 * of_block) +
      fmt::format(fmt::runtime(kAllocate), group) + tensor_memory_columns("st", columns, "c", 0) +
      tensor_memory_columns("st", 8, "a", 128) +
      fmt::format(
          "  tcgen05.fence::before_thread_sync;\n  {};\n  tcgen05.fence::after_thread_sync;\n"
          "  setp.ne.u32 %l, %rank, 0;\n  @%l bra WAIT;\n"
          "  @!%first bra WAIT;\n  shr.u32 %x, %s, 4;\n  cvt.u64.u32 %start, %x;\n"
          "  add.u64 %da, %start, 0x{:x};\n  add.u64 %db, %start, 0x{:x};\n  mov.u32 %o, 0x{:x};\n"
          "  setp.ne.b32 %adds, {}, 0;\n  add.u32 %x, %base, 128;\n"
          "{}{}  {} [%base], {}, %db, %o, {};\n  mov.b16 %ranks, 3;\n"
          "  tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster{}.b64 [%bar]{};\nWAIT:\n"
          "  mbarrier.try_wait.parity.shared.b64 %done, [%bar], 0;\n  @!%done bra WAIT;\n"
          "  tcgen05.fence::after_thread_sync;\n",
          meet, la.descriptor(true), lb.descriptor(true), instruction, accumulate ? 1 : 0, copies, masks, opcode,
          from_tensor_memory ? "[%x]" : "%da", rest, group, mma.pair ? ".multicast::cluster" : "",
          mma.pair ? ", %ranks" : "") +
      tensor_memory_columns("ld", columns, "c", 0) +
      fmt::format("  ld.param.u64 %p, [out];\n  mad.lo.u32 %x, %rank, 128, %t;\n  mad.wide.u32 %p, %x, {}, %p;\n",
                  4 * columns);
  for (uint32_t k = 0; k < columns; ++k) p.ptx += fmt::format("  st.global.b32 [%p+{}], %c{};\n", 4 * k, k);
  p.ptx += fmt::format("  tcgen05.fence::before_thread_sync;\n  {};\n", meet) + fmt::format(fmt::runtime(kFree), group);
  return p;
}

// 64 columns of the lanes of four warps, written by rows, then read or overwritten by another shape.
Product draw_tensor_memory(Rng& rng, bool) {
  struct Shape {
    const char* name;
    uint32_t registers, columns;  // of .x1
    uint32_t most;                // repetitions that 64 columns allow
  };
  static constexpr Shape kShapes[] = {
      {"32x32b", 1, 1, 64}, {"16x64b", 1, 2, 32}, {"16x128b", 2, 4, 16}, {"16x256b", 4, 8, 8}, {"16x32bx2", 1, 1, 16}};
  const Shape& s = kShapes[rng.below(std::size(kShapes))];
  const std::string_view name = s.name;
  const uint32_t times = 1U << rng.below(static_cast<uint64_t>(std::bit_width(s.most)));
  const bool store = rng.below(2) == 0, all_rows = name == "32x32b", two = name == "16x32bx2";
  // Halves of registers are in columns of their own.
  const bool packed = times > 1 && !two && rng.below(3) == 0 && 2 * times <= s.most;
  const uint32_t registers = s.registers * times, wide = packed ? 2 : 1, used = s.columns * times * wide;
  const auto first_column = static_cast<uint32_t>(rng.below(64 - (two ? 2 : 1) * used + 1));
  const uint32_t first_row = all_rows ? 0 : 16 * static_cast<uint32_t>(rng.below(2));
  const uint32_t second_half = two ? used : 0;
  // Lane of the warp's 32 and column, counted from the first, of register r of thread t.
  const auto place = [&](uint32_t t, uint32_t r) -> std::pair<uint32_t, uint32_t> {
    if (all_rows) return {t, r};
    if (two) return {t % 16, r + t / 16 * second_half};
    if (name == "16x64b") return {t / 4 + t % 2 * 8, 2 * r + t % 4 / 2};
    if (name == "16x128b") return {t / 4 + r % 2 * 8, r / 2 * 4 + t % 4};
    return {t / 4 + r % 4 / 2 * 8, r / 4 * 8 + t % 4 * 2 + r % 2};
  };
  constexpr uint32_t kThreads = 128, kColumns = 64;
  Product p;
  p.threads = kThreads;
  p.shared_bytes = 64;
  p.in.resize(kThreads * (kColumns + registers));
  for (uint32_t& word : p.in) word = static_cast<uint32_t>(rng.next());
  p.out = p.in;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    for (uint32_t r = 0; r < registers; ++r) {
      const auto [lane, column] = place(thread % 32, r);
      uint32_t* const memory = &p.out[(thread / 32 * 32 + first_row + lane) * kColumns + first_column + column * wide];
      uint32_t& value = p.out[kThreads * kColumns + thread * registers + r];
      if (store) {
        memory[0] = packed ? value & 0xFFFF : value;
        if (packed) memory[1] = value >> 16;
      } else {
        value = packed ? memory[0] << 16 >> 16 | memory[1] << 16 : memory[0];
      }
    }
  }
  const std::string opcode = fmt::format("tcgen05.{}.sync.aligned.{}.x{}{}.b32", store ? "st" : "ld", name, times,
                                         !packed ? ""
                                         : store ? ".unpack::16b"
                                                 : ".pack::16b");
  const std::string address =
      fmt::format("[%ta+{}]{}", first_row << 16 | first_column, two ? fmt::format(", {}", second_half) : "");
  p.about = fmt::format("{} at {}", opcode, address);
  const std::string list = list_of("d", 0, registers);
  p.ptx = fmt::format(fmt::runtime(kHead), "100a") +
          fmt::format(
              ".extern .shared .align 1024 .b8 memory[];\n"
              ".visible .entry k(.param .u64 in, .param .u64 out)\n{{\n  .reg .pred %l;\n"
              "  .reg .b32 %t, %w, %o, %x, %base, %ta, %c<64>, %d<64>;\n  .reg .b64 %p, %in, %out;\n"
              "  mov.u32 %t, %tid.x;\n  shr.u32 %w, %t, 5;\n  mov.u32 %o, memory;\n"
              "  ld.param.u64 %in, [in];\n  mad.wide.u32 %p, %t, 256, %in;\n{}"
              "  add.u64 %in, %in, 32768;\n  mad.wide.u32 %p, %t, {}, %in;\n{}",
              load_registers("c", kColumns, 32), 4 * registers, load_registers("d", registers, 32)) +
          fmt::format(fmt::runtime(kAllocate), 1) + tensor_memory_columns("st", kColumns, "c", 0) + "  bar.sync 0;\n" +
          fmt::format("  {} {}, {};\n  tcgen05.wait::{}.sync.aligned;\n  bar.sync 0;\n", opcode, store ? address : list,
                      store ? list : address, store ? "st" : "ld") +
          tensor_memory_columns("ld", kColumns, "c", 0) +
          "  ld.param.u64 %out, [out];\n  mad.wide.u32 %p, %t, 256, %out;\n";
  for (uint32_t k = 0; k < kColumns; ++k) p.ptx += fmt::format("  st.global.b32 [%p+{}], %c{};\n", 4 * k, k);
  p.ptx += fmt::format("  add.u64 %out, %out, 32768;\n  mad.wide.u32 %p, %t, {}, %out;\n", 4 * registers);
  for (uint32_t k = 0; k < registers; ++k) p.ptx += fmt::format("  st.global.b32 [%p+{}], %d{};\n", 4 * k, k);
  p.ptx += "  bar.sync 0;\n" + fmt::format(fmt::runtime(kFree), 1);
  return p;
}

}  // namespace fb::products
