// Drawn operations of a warp (shfl, vote, match, redux, activemask, elect) by groups of its lanes, against what the
// manual's pseudo code gives, on both engines and every SIMD target.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <string_view>

#include "common/base/rng.h"
#include "machine/exact/exact_numbers.h"
#include "machine/golden.h"
#include "virtual_node/simt/exec/simd_target.h"

namespace fb::golden {
namespace {

constexpr uint32_t kLanes = 32, kOld = 77;

// What each lane brings: two words of a value, b, c, the lanes of its group, and whether it takes part.
struct Lane {
  uint64_t a = 0;
  uint32_t b = 0, c = 0, group = 0;
  bool executes = true;
};
using Lanes = std::array<Lane, kLanes>;

struct Result {
  std::optional<uint32_t> d = kOld;
  std::optional<bool> p = true;  // as before, where it is not written
};

struct Operation {
  std::string_view text;  // %d and %p are written
  Result (*result)(const Lanes&, uint32_t lane);
};

template <class F>
void each_of_group(const Lanes& w, uint32_t lane, F visit) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((w[lane].group >> l & 1) != 0) visit(w[l], l);
  }
}

uint32_t low(uint64_t a) { return static_cast<uint32_t>(a); }

template <char kMode>
Result shuffle(const Lanes& w, uint32_t lane) {
  const int b = static_cast<int>(w[lane].b & 31), own = static_cast<int>(lane);
  const int segment = static_cast<int>(w[lane].c >> 8 & 31), clamp = static_cast<int>(w[lane].c & 31);
  const int least = own & segment, most = least | (clamp & ~segment);
  const int from = kMode == 'u' ? own - b : kMode == 'd' ? own + b : kMode == 'b' ? own ^ b : least | (b & ~segment);
  const bool inside = kMode == 'u' ? from >= most : from <= most;
  const uint32_t source = inside ? static_cast<uint32_t>(from) : lane;
  // From a lane that takes no part comes anything.
  const bool known = source < kLanes && (w[lane].group >> source & 1) != 0;
  return {.d = known ? std::optional(low(w[source].a)) : std::nullopt, .p = inside};
}

uint32_t ballot(const Lanes& w, uint32_t lane, bool negated) {
  uint32_t bits = 0;
  each_of_group(w, lane, [&](const Lane& l, uint32_t k) { bits |= uint32_t{((l.a & 1) != 0) != negated} << k; });
  return bits;
}

template <bool kWide>
uint32_t equal_lanes(const Lanes& w, uint32_t lane) {
  uint32_t bits = 0;
  each_of_group(w, lane, [&](const Lane& l, uint32_t k) {
    bits |= uint32_t{kWide ? l.a == w[lane].a : low(l.a) == low(w[lane].a)} << k;
  });
  return bits;
}

template <bool kWide>
Result match_all(const Lanes& w, uint32_t lane) {
  const bool all = equal_lanes<kWide>(w, lane) == w[lane].group;
  return {.d = all ? w[lane].group : 0, .p = all};
}

template <class T, auto kCombine>
Result reduce(const Lanes& w, uint32_t lane) {
  std::optional<T> sum;
  each_of_group(w, lane, [&](const Lane& l, uint32_t) {
    const T value = static_cast<T>(low(l.a));
    sum = sum ? static_cast<T>(kCombine(*sum, value)) : value;
  });
  return {.d = static_cast<uint32_t>(*sum)};
}

template <bool kLargest, bool kAbsolute, bool kNan>
Result reduce_floats(const Lanes& w, uint32_t lane) {
  std::optional<uint32_t> best;
  bool nan = false;
  // As integers, codes are in the order of their numbers; -0 is below +0.
  const auto key = [](uint32_t code) { return static_cast<int32_t>(code >> 31 != 0 ? code ^ 0x7FFF'FFFF : code); };
  each_of_group(w, lane, [&](const Lane& l, uint32_t) {
    const uint32_t code = kAbsolute ? low(l.a) & 0x7FFF'FFFF : low(l.a);
    if (cases::is_nan(cases::kF32, code)) {
      nan = true;
    } else if (!best || (key(code) > key(*best)) == kLargest) {
      best = code;
    }
  });
  return {.d = !best || (kNan && nan) ? 0x7FFF'FFFF : *best};
}

uint32_t executing(const Lanes& w) {
  uint32_t bits = 0;
  for (uint32_t l = 0; l < kLanes; ++l) bits |= uint32_t{w[l].executes} << l;
  return bits;
}

constexpr auto kAdd = [](auto a, auto b) { return static_cast<uint32_t>(a) + static_cast<uint32_t>(b); };
constexpr auto kMin = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto kMax = [](auto a, auto b) { return a < b ? b : a; };
constexpr auto kAnd = [](auto a, auto b) { return a & b; };
constexpr auto kOr = [](auto a, auto b) { return a | b; };
constexpr auto kXor = [](auto a, auto b) { return a ^ b; };

constexpr Operation kOperations[] = {
    {"shfl.sync.up.b32 %d|%p, %a, %b, %c, %m", shuffle<'u'>},
    {"shfl.sync.down.b32 %d|%p, %a, %b, %c, %m", shuffle<'d'>},
    {"shfl.sync.bfly.b32 %d|%p, %a, %b, %c, %m", shuffle<'b'>},
    {"shfl.sync.idx.b32 %d|%p, %a, %b, %c, %m", shuffle<'i'>},
    {"shfl.sync.idx.b32 %d, %a, 3, 0x101f, %m",
     [](const Lanes& w, uint32_t lane) {
       Lanes same = w;
       for (Lane& l : same) l.b = 3, l.c = 0x101F;
       return Result{.d = shuffle<'i'>(same, lane).d};
     }},
    {"vote.sync.all.pred %p, %q, %m",
     [](const Lanes& w, uint32_t lane) { return Result{.p = ballot(w, lane, false) == w[lane].group}; }},
    {"vote.sync.any.pred %p, %q, %m",
     [](const Lanes& w, uint32_t lane) { return Result{.p = ballot(w, lane, false) != 0}; }},
    {"vote.sync.uni.pred %p, !%q, %m",
     [](const Lanes& w, uint32_t lane) {
       return Result{.p = ballot(w, lane, true) == 0 || ballot(w, lane, true) == w[lane].group};
     }},
    {"vote.sync.ballot.b32 %d, %q, %m",
     [](const Lanes& w, uint32_t lane) { return Result{.d = ballot(w, lane, false)}; }},
    {"vote.sync.ballot.b32 %d, !%q, %m",
     [](const Lanes& w, uint32_t lane) { return Result{.d = ballot(w, lane, true)}; }},
    {"match.any.sync.b32 %d, %a, %m",
     [](const Lanes& w, uint32_t lane) { return Result{.d = equal_lanes<false>(w, lane)}; }},
    {"match.any.sync.b64 %d, %x, %m",
     [](const Lanes& w, uint32_t lane) { return Result{.d = equal_lanes<true>(w, lane)}; }},
    {"match.all.sync.b32 %d|%p, %a, %m", match_all<false>},
    {"match.all.sync.b64 %d|%p, %x, %m", match_all<true>},
    {"redux.sync.add.u32 %d, %a, %m", reduce<uint32_t, kAdd>},
    {"redux.sync.add.s32 %d, %a, %m", reduce<int32_t, kAdd>},
    {"redux.sync.min.u32 %d, %a, %m", reduce<uint32_t, kMin>},
    {"redux.sync.max.u32 %d, %a, %m", reduce<uint32_t, kMax>},
    {"redux.sync.min.s32 %d, %a, %m", reduce<int32_t, kMin>},
    {"redux.sync.max.s32 %d, %a, %m", reduce<int32_t, kMax>},
    {"redux.sync.and.b32 %d, %a, %m", reduce<uint32_t, kAnd>},
    {"redux.sync.or.b32 %d, %a, %m", reduce<uint32_t, kOr>},
    {"redux.sync.xor.b32 %d, %a, %m", reduce<uint32_t, kXor>},
    {"redux.sync.min.f32 %d, %a, %m", reduce_floats<false, false, false>},
    {"redux.sync.max.f32 %d, %a, %m", reduce_floats<true, false, false>},
    {"redux.sync.min.NaN.f32 %d, %a, %m", reduce_floats<false, false, true>},
    {"redux.sync.max.NaN.f32 %d, %a, %m", reduce_floats<true, false, true>},
    {"redux.sync.min.abs.f32 %d, %a, %m", reduce_floats<false, true, false>},
    {"redux.sync.max.abs.f32 %d, %a, %m", reduce_floats<true, true, false>},
    {"redux.sync.min.abs.NaN.f32 %d, %a, %m", reduce_floats<false, true, true>},
    {"redux.sync.max.abs.NaN.f32 %d, %a, %m", reduce_floats<true, true, true>},
    {"activemask.b32 %d", [](const Lanes& w, uint32_t) { return Result{.d = executing(w)}; }},
    {"elect.sync %d|%p, %m", [](const Lanes& w, uint32_t lane) {
       const auto leader = static_cast<uint32_t>(std::countr_zero(w[lane].group));
       return Result{.d = leader, .p = lane == leader};
     }}};

Lanes draw_lanes(Rng& rng) {
  // One group, or two that meet in the same instruction; of lanes that are left out, sometimes.
  const uint32_t taking_part = rng.below(2) == 0 ? ~0U : low(rng.next()) | 1U << rng.below(32);
  uint32_t first = rng.below(2) == 0 ? taking_part : low(rng.next()) & taking_part;
  if (first == 0) first = taking_part;
  const bool few = rng.below(2) == 0;  // values
  const bool same = rng.below(3) == 0;
  const uint32_t b = low(rng.next()) & 63, segment = 32 - (1U << rng.below(6));
  const uint64_t some[] = {rng.next(), rng.next(), 0x7FC0'0000, 0x8000'0000, 0, rng.next() << 32};
  Lanes w;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const bool in_first = (first >> l & 1) != 0;
    w[l] = {.a = same  ? some[in_first ? 0 : 1]
                 : few ? some[rng.below(std::size(some))]
                       : rng.next(),
            .b = few ? b : low(rng.next()) & 63,
            .c = few ? segment << 8 | (rng.below(4) == 0 ? 0 : 31) : low(rng.next()) & 0x1F1F,
            .group = in_first ? first : taking_part & ~first,
            .executes = (taking_part >> l & 1) != 0};
  }
  return w;
}

struct Program {
  std::string ptx;
  GoldenRun run;
};

// A lane's words of an operation are those of all lanes beside each other: a, its upper half, b, c, group, executes.
Program draw_program(uint64_t seed) {
  Rng rng(seed);
  Program p;
  Param in, out;
  in.buffer = out.buffer = true;
  in.type = out.type = "b32";
  p.ptx =
      ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry warps(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .pred %p, %q, %on;\n  .reg .b32 %t, %a, %h, %b, %c, %m, %d, %v;\n  .reg .b64 %in, %out, %x;\n"
      "  mov.u32 %t, %tid.x;\n  ld.param.u64 %in, [in];\n  mad.wide.u32 %in, %t, 4, %in;\n"
      "  ld.param.u64 %out, [out];\n  mad.wide.u32 %out, %t, 4, %out;\n";
  for (const Operation& o : kOperations) {
    const Lanes w = draw_lanes(rng);
    const auto add = [&](auto word) {
      for (const Lane& l : w) in.initial.push_back(word(l));
    };
    add([](const Lane& l) { return low(l.a); });
    add([](const Lane& l) { return l.a >> 32; });
    add([](const Lane& l) { return l.b; });
    add([](const Lane& l) { return l.c; });
    add([](const Lane& l) { return l.group; });
    add([](const Lane& l) { return uint32_t{l.executes}; });
    std::array<Result, kLanes> results;
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (w[l].executes) results[l] = o.result(w, l);
    }
    for (const Result& r : results) out.expected.push_back(r.d);
    for (const Result& r : results) out.expected.push_back(r.p);
    p.ptx += fmt::format(
        "  ld.global.b32 %a, [%in];\n  ld.global.b32 %h, [%in+128];\n  ld.global.b32 %b, [%in+256];\n"
        "  ld.global.b32 %c, [%in+384];\n  ld.global.b32 %m, [%in+512];\n  ld.global.b32 %v, [%in+640];\n"
        "  mov.b64 %x, {{%a, %h}};\n  setp.ne.u32 %on, %v, 0;\n  and.b32 %v, %a, 1;\n  setp.ne.u32 %q, %v, 0;\n"
        "  mov.u32 %d, {};\n  setp.eq.u32 %p, %d, %d;\n  @%on {};\n  st.global.b32 [%out], %d;\n"
        "  selp.u32 %v, 1, 0, %p;\n  st.global.b32 [%out+128], %v;\n"
        "  add.u64 %in, %in, 768;\n  add.u64 %out, %out, 256;\n",
        kOld, o.text);
  }
  p.ptx += "  ret;\n}\n";
  in.count = in.initial.size();
  out.count = out.expected.size();
  out.initial.resize(out.count);
  p.run.launch.kernel = "warps";
  p.run.launch.block = {kLanes, 1, 1};
  p.run.params = {std::move(in), std::move(out)};
  return p;
}

TEST(DrawnWarps, DoAsThePseudoCodeSays) {
  uint64_t seed = 1;
  for (const std::string& target : simt::simd_targets()) {
    ASSERT_TRUE(simt::use_simd_target(target));
    SCOPED_TRACE("SIMD target " + target);
    for (const uint64_t end = seed + 30; seed < end; ++seed) {
      const Program p = draw_program(seed);
      EXPECT_EQ(execute(p.ptx, p.run, {}), "") << "seed " << seed << ", 64 words for each operation";
    }
  }
  simt::use_simd_target("");
  for (seed = 1; seed <= 10; ++seed) {
    const Program p = draw_program(seed);
    EXPECT_EQ(execute(p.ptx, p.run, {.reference = true}), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace fb::golden
