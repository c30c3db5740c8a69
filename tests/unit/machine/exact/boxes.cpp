// Boxes of tensors (cp.async.bulk.tensor) in drawn shapes: into shared memory, out of it, and added to what is there.
// Rows of small matrices (ldmatrix, stmatrix) at drawn places.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "machine/exact/products.h"
#include "machine/exact/reductions.h"

namespace fb::products {
namespace {

struct Type {
  const char* name;
  uint32_t bytes, code;  // of tensormap.replace
};
constexpr Type kTypes[] = {{"u8", 1, 0},  {"u16", 2, 1}, {"u32", 4, 2}, {"s32", 4, 3},  {"u64", 8, 4},
                           {"s64", 8, 5}, {"f16", 2, 6}, {"f32", 4, 7}, {"bf16", 2, 10}};

struct Box {
  const Type* type = nullptr;
  uint32_t rank = 1, swizzle = 0;
  // Of a tensor: elements, and bytes from one to the next. Of the box: elements that it spans, every how many of them
  // it takes, and where it begins.
  std::array<int, 5> size{}, span{}, step{}, first{};
  std::array<uint64_t, 5> stride{};

  uint64_t tensor_bytes() const { return stride[rank - 1] * static_cast<uint64_t>(size[rank - 1]); }
  int taken(uint32_t d) const { return (span[d] + step[d] - 1) / step[d]; }
  uint32_t bytes() const {
    uint32_t all = type->bytes;
    for (uint32_t d = 0; d < rank; ++d) all *= static_cast<uint32_t>(taken(d));
    return all;
  }
  uint32_t swizzled(uint32_t byte) const { return swizzle == 0 ? byte : byte ^ (byte >> 3 & (swizzle - 16)); }
};

Box draw_shape(Rng& rng, uint32_t mode) {
  const auto some = [&](uint64_t most) { return static_cast<int>(1 + rng.below(most)); };
  Box b;
  b.type = &kTypes[rng.below(std::size(kTypes))];
  b.rank = static_cast<uint32_t>(some(5));
  b.swizzle = mode == 0 ? 0 : 16 << mode;
  const int unit = 16 / static_cast<int>(b.type->bytes);  // elements of 16 bytes
  for (uint32_t d = 0; d < b.rank; ++d) {
    b.size[d] = d == 0 ? some(static_cast<uint64_t>(12) * unit) : some(b.rank > 3 ? 4 : 9);
    b.span[d] = d != 0 ? some(b.rank > 3 ? 3 : 6) : b.swizzle == 0 ? unit * some(4) : unit * int(b.swizzle / 16);
    b.step[d] = d == 0 ? 1 : some(2);
    b.first[d] = static_cast<int>(rng.below(static_cast<uint64_t>(b.size[d] + b.span[d] + 1))) - b.span[d];
    const uint64_t tight = d == 0 ? b.type->bytes : b.stride[d - 1] * static_cast<uint64_t>(b.size[d - 1]);
    b.stride[d] = d == 0 ? tight : (tight + 15) / 16 * 16 + 16 * rng.below(2);
  }
  return b;
}

// Calls `visit`(byte of the box in shared memory, byte of the tensor or none).
template <class Visit>
void each_element(const Box& b, Visit visit) {
  const uint32_t count = b.bytes() / b.type->bytes;
  for (uint32_t n = 0; n < count; ++n) {
    uint32_t rest = n;
    std::optional<uint64_t> at = 0;
    for (uint32_t d = 0; d < b.rank; ++d) {
      const int place = b.first[d] + static_cast<int>(rest) % b.taken(d) * b.step[d];
      rest /= static_cast<uint32_t>(b.taken(d));
      if (place < 0 || place >= b.size[d]) at.reset();
      if (at) *at += static_cast<uint64_t>(place) * b.stride[d];
    }
    visit(b.swizzled(n * b.type->bytes), at);
  }
}

std::string describe_map(const Box& b, uint32_t mode) {
  std::string text;
  const auto replace = [&](const char* field, const std::string& value) {
    const std::string_view name = field;
    text += fmt::format("  tensormap.replace.tile.{}.global.b1024.b{} [%map], {};\n", field,
                        name == "global_address" || name == "global_stride" ? 64 : 32, value);
  };
  replace("global_address", "%out");
  text += fmt::format("  mov.u32 %x, {};\n", b.rank - 1);
  replace("rank", "%x");
  for (uint32_t d = 0; d < b.rank; ++d) {
    replace("global_dim", fmt::format("{}, {}", d, b.size[d]));
    replace("box_dim", fmt::format("{}, {}", d, b.span[d]));
    replace("element_stride", fmt::format("{}, {}", d, b.step[d]));
    if (d == 0) continue;
    text += fmt::format("  mov.u64 %p, {};\n", b.stride[d]);
    replace("global_stride", fmt::format("{}, %p", d - 1));
  }
  replace("elemtype", fmt::format("{}", b.type->code));
  replace("interleave_layout", "0");
  replace("swizzle_mode", fmt::format("{}", mode));
  replace("fill_mode", "0");
  return text + "  fence.proxy.tensormap::generic.acquire.gpu [%map], 128;\n";
}

}  // namespace

Product draw_box(Rng& rng, bool) {
  const auto mode = static_cast<uint32_t>(rng.below(4));
  const Box b = draw_shape(rng, mode);
  const bool number = b.type->name[0] == 'f' || b.type->name[0] == 'b';
  static constexpr const char* kOperations[] = {"add", "min", "max", "and", "or", "xor"};
  const bool reduces = b.type->bytes > 1 && std::strcmp(b.type->name, "u16") != 0 && rng.below(3) == 0;
  const uint64_t choices = b.type->name == std::string_view("f32") ? 1 : number ? 3 : b.type->name[0] == 's' ? 3 : 6;
  const std::string operation = reduces ? kOperations[rng.below(choices)] : "";
  const bool load = !reduces && rng.below(2) == 0;
  const uint64_t tensor_words = (b.tensor_bytes() + 15) / 16 * 4, box_words = (b.bytes() + 3) / 4;

  Product p;
  // Swizzling stays in pieces of 1,024 bytes.
  const uint64_t bar = (4 * box_words + 1023) / 1024 * 1024;
  p.shared_bytes = static_cast<uint32_t>(bar + 8);
  p.in.resize(tensor_words + box_words);
  // No subnormals of f32, which a reduction may flush.
  for (uint32_t& word : p.in) {
    word = static_cast<uint32_t>(rng.next());
    if (b.type->name == std::string_view("f32")) word = (word & 0x83FF'FFFF) | 0x3C00'0000;
  }
  p.out = p.in;
  auto* const tensor = reinterpret_cast<std::byte*>(p.out.data());
  std::byte* const box = tensor + 4 * tensor_words;
  each_element(b, [&](uint32_t in_box, std::optional<uint64_t> in_tensor) {
    uint64_t value = 0, old = 0;
    if (in_tensor) std::memcpy(&old, tensor + *in_tensor, b.type->bytes);
    std::memcpy(&value, box + in_box, b.type->bytes);
    if (load) {
      std::memcpy(box + in_box, &old, b.type->bytes);
    } else if (in_tensor) {
      if (reduces) value = *reductions::combine(operation, b.type->name, old, value, 0, false);
      std::memcpy(tensor + *in_tensor, &value, b.type->bytes);
    }
  });

  std::string place;
  for (uint32_t d = 0; d < b.rank; ++d) place += fmt::format("{}{}", d == 0 ? "" : ", ", b.first[d]);
  const std::string where = fmt::format("[%map, {{{}}}]", place);
  const std::string opcode =
      load ? fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", b.rank)
      : reduces
          ? fmt::format("cp.reduce.async.bulk.tensor.{}d.global.shared::cta.{}.tile.bulk_group", b.rank, operation)
          : fmt::format("cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group", b.rank);
  p.about = fmt::format("{} {} {}, swizzle {}", opcode, where, b.type->name, b.swizzle);
  const std::string transfer =
      load ? fmt::format(
                 "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {};\n  {} [%s], {}, [%bar];\nWAIT:\n"
                 "  mbarrier.try_wait.parity.shared::cta.b64 %l, [%bar], 0;\n  @!%l bra WAIT;\n",
                 b.bytes(), opcode, where)
           : fmt::format("  {} {}, [%s];\n  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n", opcode,
                         where);
  const auto loop = [](const char* label, uint64_t words, const std::string& body) {
    return fmt::format(
        "  mov.u32 %n, %t;\n{0}:\n  setp.ge.u32 %l, %n, {1};\n  @%l bra {0}_END;\n{2}  add.u32 %n, %n, 32;\n"
        "  bra {0};\n{0}_END:\n",
        label, words, body);
  };
  p.ptx =
      ".version 8.6\n.target sm_100a\n.address_size 64\n.extern .shared .align 1024 .b8 memory[];\n"
      ".global .align 128 .b8 map[128];\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n  .reg .pred %l;\n"
      "  .reg .b32 %t, %n, %x, %y, %s, %bar;\n  .reg .b64 %in, %out, %map, %p;\n  mov.u32 %t, %tid.x;\n"
      "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n  mov.u64 %map, map;\n  mov.u32 %s, memory;\n";
  p.ptx += fmt::format("  add.u32 %bar, %s, {};\n", bar);
  p.ptx += loop("COPY", tensor_words + box_words,
                "  mad.wide.u32 %p, %n, 4, %in;\n  ld.global.b32 %x, [%p];\n  mad.wide.u32 %p, %n, 4, %out;\n"
                "  st.global.b32 [%p], %x;\n");
  p.ptx += loop("FILL", box_words,
                fmt::format("  mad.wide.u32 %p, %n, 4, %in;\n  ld.global.b32 %x, [%p+{}];\n"
                            "  mad.lo.u32 %y, %n, 4, %s;\n  st.shared.b32 [%y], %x;\n",
                            4 * tensor_words));
  p.ptx +=
      "  fence.proxy.async;\n  bar.sync 0;\n  setp.ne.u32 %l, %t, 0;\n  @%l bra REST;\n"
      "  mbarrier.init.shared::cta.b64 [%bar], 1;\n  fence.proxy.async.shared::cta;\n";
  p.ptx += describe_map(b, mode) + transfer + "REST:\n  bar.sync 0;\n";
  p.ptx += loop("READ", box_words,
                fmt::format("  mad.lo.u32 %y, %n, 4, %s;\n  ld.shared.b32 %x, [%y];\n  mad.wide.u32 %p, %n, 4, %out;\n"
                            "  st.global.b32 [%p+{}], %x;\n",
                            4 * tensor_words));
  p.ptx += "  ret;\n}\n";
  return p;
}

Product draw_matrix_rows(Rng& rng, bool) {
  constexpr uint32_t kLanes = 32, kRows = 64, kRowBytes = 16, kImage = kRows * kRowBytes / 4;
  const uint32_t count = 1U << rng.below(3);
  const bool store = rng.below(2) == 0, transposed = rng.below(2) == 0;
  Product p;
  p.shared_bytes = kRows * kRowBytes;
  // The image of shared memory, four registers of each lane, and the row that each lane names.
  p.in.resize(kImage + 5 * kLanes);
  for (uint32_t& word : p.in) word = static_cast<uint32_t>(rng.next());
  uint32_t* const rows = &p.in[kImage + 4 * kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    // No row twice; lanes beyond the rows of the matrices name anything.
    rows[l] = l < 8 * count ? static_cast<uint32_t>(2 * l + rng.below(2)) * kRowBytes : 3;
    if (l < 8 * count) std::swap(rows[l], rows[rng.below(l + 1)]);
  }
  p.out.assign(p.in.begin(), p.in.begin() + kImage + 4 * kLanes);
  auto* const image = reinterpret_cast<uint16_t*>(p.out.data());
  auto* const registers = reinterpret_cast<uint16_t*>(&p.out[kImage]);
  for (uint32_t half = 0; half < 2 * kLanes * count; ++half) {
    const uint32_t lane = half / 2 % kLanes, matrix = half / 2 / kLanes, along = lane % 4 * 2 + half % 2;
    const uint32_t row = transposed ? along : lane / 4, column = transposed ? lane / 4 : along;
    uint16_t& element = image[rows[8 * matrix + row] / 2 + column];
    uint16_t& held = registers[(4 * lane + matrix) * 2 + half % 2];
    store ? element = held : held = element;
  }
  p.about = fmt::format("{}.sync.aligned.m8n8.x{}{}.shared::cta.b16", store ? "stmatrix" : "ldmatrix", count,
                        transposed ? ".trans" : "");
  std::string list, loads, stores;
  for (uint32_t k = 0; k < 4; ++k) {
    if (k < count) list += fmt::format("{}%r{}", k == 0 ? "" : ", ", k);
    loads += fmt::format("  ld.global.b32 %r{}, [%p+{}];\n", k, 4 * k);
    stores += fmt::format("  st.global.b32 [%p+{}], %r{};\n", 4 * k, k);
  }
  p.ptx =
      ".version 8.6\n.target sm_100a\n.address_size 64\n.extern .shared .align 1024 .b8 memory[];\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b32 %t, %x, %s, %y, %r<4>;\n  .reg .b64 %in, %out, %p;\n  mov.u32 %t, %tid.x;\n"
      "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n  mov.u32 %s, memory;\n";
  const auto lane_words = [&](const char* base, uint64_t at, uint32_t words) {
    return fmt::format("  add.u64 %p, {}, {};\n  mad.wide.u32 %p, %t, {}, %p;\n", base, 4 * at, 4 * words);
  };
  std::string read;
  for (uint32_t k = 0; k < kImage; k += kLanes) {
    p.ptx +=
        lane_words("%in", k, 1) +
        fmt::format("  ld.global.b32 %x, [%p];\n  mad.lo.u32 %y, %t, 4, %s;\n  st.shared.b32 [%y+{}], %x;\n", 4 * k);
    read +=
        lane_words("%out", k, 1) +
        fmt::format("  mad.lo.u32 %y, %t, 4, %s;\n  ld.shared.b32 %x, [%y+{}];\n  st.global.b32 [%p], %x;\n", 4 * k);
  }
  p.ptx += lane_words("%in", kImage, 4) + loads + lane_words("%in", kImage + 4 * kLanes, 1) +
           "  ld.global.b32 %x, [%p];\n  add.u32 %x, %x, %s;\n  bar.sync 0;\n";
  p.ptx +=
      store ? fmt::format("  {} [%x], {{{}}};\n", p.about, list) : fmt::format("  {} {{{}}}, [%x];\n", p.about, list);
  p.ptx += "  bar.sync 0;\n" + lane_words("%out", kImage, 4) + stores + read + "  ret;\n}\n";
  return p;
}

}  // namespace fb::products
