#include "machine/exact/accesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/base/strings.h"

namespace fb::accesses {
namespace {

constexpr uint32_t kLanes = 32, kPlace = 32, kArea = kLanes * kPlace;
constexpr uint64_t kOld = 0x5A5A'5A5A'5A5A'5A5A;

// The area that an access leaves: places of memory after a store, 8 registers of 64 bits for each lane after a load.
uint64_t left_bytes(const Drawn& d) { return d.access.store ? kArea : kLanes * 64; }

class Writer {
 public:
  std::string write(const std::vector<Drawn>& drawn) {
    text_ = fmt::format(
        ".version 8.8\n.target sm_100a\n.address_size 64\n"
        ".visible .entry accesses(.param .u64 in, .param .u64 out)\n{{\n"
        "  .reg .pred %odd;\n  .reg .b32 %lane, %t;\n  .reg .b64 %in, %out, %base, %own, %a, %x;\n"
        "  .shared .align 32 .b8 tile[{}];\n  .local .align 32 .b8 mine[{}];\n"
        "  mov.u32 %lane, %tid.x;\n  and.b32 %t, %lane, 1;\n  setp.ne.u32 %odd, %t, 0;\n"
        "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n",
        kArea, kPlace);
    for (const Drawn& d : drawn) write(d);
    return text_ + "  ret;\n}\n";
  }

 private:
  void line(const std::string& text) { text_ += "  " + text + "\n"; }

  // 32 bytes from one address to another.
  void copy(const std::string& to, const std::string& from) {
    for (uint32_t k = 0; k < kPlace; k += 8) line(fmt::format("ld{}+{}];\n  st{}+{}], %x;", from, k, to, k));
  }

  void write(const Drawn& d) {
    const Access& a = d.access;
    const uint32_t w = d.register_bits;
    text_ += fmt::format("  {{\n  .reg .b{} %r<8>;\n  .reg .b128 %q;\n", w);
    const bool global = d.window == "global", local = d.window == "local";
    // %own: this lane's place of the area in global memory; %base: the area that the access is to.
    line(fmt::format("mad.wide.u32 %own, %lane, {}, {};", kPlace, fmt::format("{}", a.store ? "%out" : "%in")));
    line(global ? fmt::format("mov.u64 %base, {};", a.store ? "%out" : "%in")
                : fmt::format("mov.u64 %base, {};", local ? "mine" : "tile"));
    if (!global) {
      // Loads find the input there, stores what was there before.
      line(fmt::format("mad.wide.u32 %a, %lane, {}, %base;", local ? 0 : kPlace));
      copy(fmt::format(".{}.b64 [%a", d.window), ".global.b64 %x, [%own");
      line("bar.sync 0;");
    }
    if (a.space.empty() && !global) line(fmt::format("cvta.{}.u64 %base, %base;", d.window));
    line(fmt::format("mad.lo.u32 %t, %lane, {}, {};\n  and.b32 %t, %t, {};", d.step, d.first, local ? 0 : kLanes - 1));
    line(fmt::format("mad.wide.u32 %a, %t, {}, %base;", d.stride));
    a.store ? store(d) : load(d);
    if (a.store && !global) {
      line("bar.sync 0;");
      line(fmt::format("mov.u64 %base, {};\n  mad.wide.u32 %a, %lane, {}, %base;", local ? "mine" : "tile",
                       local ? 0 : kPlace));
      copy(".global.b64 [%own", fmt::format(".{}.b64 %x, [%a", d.window));
    }
    if (!global) line("bar.sync 0;");
    line(fmt::format("add.u64 %in, %in, {};\n  add.u64 %out, %out, {};", kArea, left_bytes(d)));
    text_ += "  }\n";
  }

  std::string registers(const Drawn& d) const {
    if (d.access.bits == 128) return "%q";
    std::string list;
    for (uint32_t k = 0; k < d.access.count; ++k) list += fmt::format("{}%r{}", k == 0 ? "" : ", ", k);
    return d.access.count == 1 ? list : "{" + list + "}";
  }

  void access(const Drawn& d, const std::string& operands) {
    line(fmt::format("{}{} {};", d.odd_only ? "@%odd " : "", d.access.opcode, operands));
  }

  uint32_t parts(const Drawn& d) const { return d.access.bits == 128 ? 2 : d.access.count; }

  void load(const Drawn& d) {
    const uint32_t w = d.register_bits;
    for (uint32_t k = 0; k < parts(d); ++k) line(fmt::format("mov.b{} %r{}, 0x{:x};", w, k, kOld >> (64 - w)));
    if (d.access.bits == 128) line("mov.b128 %q, {%r0, %r1};");
    access(d, registers(d) + ", [%a]");
    if (d.access.bits == 128) line("mov.b128 {%r0, %r1}, %q;");
    line("mad.wide.u32 %own, %lane, 64, %out;");
    for (uint32_t k = 0; k < parts(d); ++k) line(fmt::format("st.global.b{} [%own+{}], %r{};", w, 8 * k, k));
  }

  void store(const Drawn& d) {
    line(fmt::format("mad.wide.u32 %x, %lane, {}, %in;", kPlace));
    for (uint32_t k = 0; k < parts(d); ++k)
      line(fmt::format("ld.global.b{} %r{}, [%x+{}];", d.register_bits, k, k * d.register_bits / 8));
    if (d.access.bits == 128) line("mov.b128 %q, {%r0, %r1};");
    access(d, "[%a], " + registers(d));
  }

  std::string text_;
};

Access read_access(const std::string& opcode) {
  Access a;
  a.opcode = opcode;
  a.store = opcode.starts_with("st");
  for (const std::string_view word : split(opcode, '.')) {
    if (word == "global" || word == "shared" || word == "local") a.space = word;
    if (word == "v2" || word == "v4" || word == "v8") a.count = static_cast<uint32_t>(word[1] - '0');
  }
  const std::string type = opcode.substr(opcode.rfind('.') + 1);
  a.kind = type[0];
  a.bits = static_cast<uint32_t>(std::stoul(type.substr(1)));
  return a;
}

// What stands in the access's part of `out`.
std::vector<uint64_t> expected(const Drawn& d, const uint64_t* in) {
  const Access& a = d.access;
  std::vector<uint64_t> left(left_bytes(d) / 8, kOld);
  const auto* from = reinterpret_cast<const char*>(in);
  auto* to = reinterpret_cast<char*>(left.data());
  const uint32_t bytes = std::min(a.bits, 64U) / 8, wide = d.register_bits / 8, parts = a.bits == 128 ? 2 : a.count;
  for (uint32_t lane = d.odd_only ? 1 : 0; lane < kLanes; lane += d.odd_only ? 2 : 1) {
    const uint32_t at = d.window == "local" ? lane * kPlace : (lane * d.step + d.first) % kLanes * d.stride;
    for (uint32_t k = 0; k < parts; ++k) {
      if (a.store) {
        std::memcpy(to + at + k * bytes, from + lane * kPlace + k * wide, bytes);
        continue;
      }
      int64_t value = 0;
      std::memcpy(&value, from + at + k * bytes, bytes);
      const uint32_t unused = 64 - 8 * bytes;
      if (a.kind == 's') value = static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
      std::memcpy(to + lane * 64 + k * 8, &value, wide);
    }
  }
  return left;
}

}  // namespace

std::vector<Access> read_accesses(const std::string& text) {
  std::vector<Access> all;
  for (const std::string_view row : split(text, '\n')) {
    if (row.starts_with("//")) continue;
    for (const std::string_view word : split(row, ' ')) {
      if (!word.empty()) all.push_back(read_access(std::string(word)));
    }
  }
  return all;
}

Drawn draw(const Access& a, Rng& rng) {
  Drawn d{.access = a, .window = a.space};
  if (a.space.empty()) {
    // Ordered accesses are to memory that others see.
    const bool ordered = a.opcode.contains("acquire") || a.opcode.contains("release") || a.opcode.contains("relaxed") ||
                         a.opcode.contains("volatile");
    static constexpr const char* kWindows[] = {"global", "shared", "local"};
    d.window = kWindows[rng.below(ordered ? 2 : 3)];
  }
  d.register_bits = std::clamp(a.bits, 16U, 64U);
  while (a.kind != 'f' && d.register_bits < 64 && 2 * d.register_bits * a.count <= 8 * kPlace && rng.below(2) == 0)
    d.register_bits *= 2;
  if (rng.below(2) == 0) {
    d.step = static_cast<uint32_t>(2 * rng.below(16) + 1);
    d.first = static_cast<uint32_t>(rng.below(kLanes));
  }
  d.stride = rng.below(2) == 0 ? kPlace : a.bits * a.count / 8;
  d.odd_only = rng.below(3) == 0;
  return d;
}

Program make_program(const std::vector<Drawn>& drawn, Rng& rng) {
  Program p;
  p.in.resize(drawn.size() * kArea / 8);
  for (uint64_t& word : p.in) word = rng.next();
  for (size_t k = 0; k < drawn.size(); ++k) {
    const auto left = expected(drawn[k], &p.in[k * kArea / 8]);
    p.out.insert(p.out.end(), left.begin(), left.end());
  }
  p.ptx = Writer().write(drawn);
  return p;
}

}  // namespace fb::accesses
