// What threads of drawn launches find in special registers, in all lanes and in odd ones, on both engines.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "common/base/rng.h"
#include "machine/golden.h"
#include "virtual_node/simt/exec/simd_target.h"

namespace fb::golden {
namespace {

struct Thread {
  simt::Dim3 id, block;
  uint32_t linear = 0;  // in its block
  uint32_t lane() const { return linear % 32; }
};

struct Special {
  const char* name;
  std::function<uint32_t(const machine::LaunchRequest&, const Thread&)> value;
};

constexpr uint32_t kUnread = 77;

const std::vector<Special>& specials() {
  using Launch = machine::LaunchRequest;
  static const std::vector<Special> all = {
      {"tid.x", [](const Launch&, const Thread& t) { return t.id.x; }},
      {"tid.y", [](const Launch&, const Thread& t) { return t.id.y; }},
      {"tid.z", [](const Launch&, const Thread& t) { return t.id.z; }},
      {"ntid.x", [](const Launch& l, const Thread&) { return l.block.x; }},
      {"ntid.y", [](const Launch& l, const Thread&) { return l.block.y; }},
      {"ntid.z", [](const Launch& l, const Thread&) { return l.block.z; }},
      {"ctaid.x", [](const Launch&, const Thread& t) { return t.block.x; }},
      {"ctaid.y", [](const Launch&, const Thread& t) { return t.block.y; }},
      {"ctaid.z", [](const Launch&, const Thread& t) { return t.block.z; }},
      {"nctaid.x", [](const Launch& l, const Thread&) { return l.grid.x; }},
      {"nctaid.y", [](const Launch& l, const Thread&) { return l.grid.y; }},
      {"nctaid.z", [](const Launch& l, const Thread&) { return l.grid.z; }},
      {"laneid", [](const Launch&, const Thread& t) { return t.lane(); }},
      {"warpid", [](const Launch&, const Thread& t) { return t.linear / 32; }},
      {"lanemask_eq", [](const Launch&, const Thread& t) { return 1U << t.lane(); }},
      {"lanemask_lt", [](const Launch&, const Thread& t) { return (1U << t.lane()) - 1; }},
      {"lanemask_le", [](const Launch&, const Thread& t) { return (2U << t.lane()) - 1; }},
      {"lanemask_gt", [](const Launch&, const Thread& t) { return ~((2U << t.lane()) - 1); }},
      {"lanemask_ge", [](const Launch&, const Thread& t) { return ~((1U << t.lane()) - 1); }},
      {"clusterid.x", [](const Launch& l, const Thread& t) { return t.block.x / l.cluster.x; }},
      {"nclusterid.x", [](const Launch& l, const Thread&) { return l.grid.x / l.cluster.x; }},
      {"cluster_ctaid.x", [](const Launch& l, const Thread& t) { return t.block.x % l.cluster.x; }},
      {"cluster_nctaid.x", [](const Launch& l, const Thread&) { return l.cluster.x; }},
      {"cluster_ctarank", [](const Launch& l, const Thread& t) { return t.block.x % l.cluster.x; }},
      {"cluster_nctarank", [](const Launch& l, const Thread&) { return l.cluster.x; }},
      {"dynamic_smem_size", [](const Launch& l, const Thread&) { return l.dynamic_shared_bytes; }},
      // 100 bytes of the kernel and what begins behind them, both in units of 128; and what is reserved.
      {"total_smem_size",
       [](const Launch& l, const Thread&) { return (l.dynamic_shared_bytes + 128 + 127) / 128 * 128; }},
      {"aggr_smem_size",
       [](const Launch& l, const Thread&) { return 1024 + (l.dynamic_shared_bytes + 128 + 127) / 128 * 128; }},
      {"reserved_smem_offset_begin", [](const Launch&, const Thread&) { return 0U; }},
      {"reserved_smem_offset_end", [](const Launch&, const Thread&) { return 1024U; }},
      {"reserved_smem_offset_cap", [](const Launch&, const Thread&) { return 1024U; }},
      {"envreg0", [](const Launch&, const Thread&) { return 0U; }},
      {"envreg31", [](const Launch&, const Thread&) { return 0U; }},
      {"pm0", [](const Launch&, const Thread&) { return 0U; }}};
  return all;
}

// A word for each register and thread, those of odd lanes alone after them; threads in the order of a grid's blocks.
std::string kernel() {
  std::string text =
      ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry special(.param .u64 out)\n{\n"
      "  .shared .align 16 .b8 own[100];\n  .reg .pred %odd;\n  .reg .b32 %t, %n, %x;\n  .reg .b64 %out, %own;\n"
      "  mov.u64 %own, own;\n  mov.u32 %t, %ctaid.z;\n";
  const auto next = [&](const char* id, const char* count) {
    text += fmt::format("  mov.u32 %n, %{};\n  mov.u32 %x, %{};\n  mad.lo.u32 %t, %t, %n, %x;\n", count, id);
  };
  next("ctaid.y", "nctaid.y");
  next("ctaid.x", "nctaid.x");
  next("tid.z", "ntid.z");
  next("tid.y", "ntid.y");
  next("tid.x", "ntid.x");
  text += fmt::format(
      "  ld.param.u64 %out, [out];\n  mad.wide.u32 %out, %t, {}, %out;\n  mov.u32 %x, %laneid;\n"
      "  and.b32 %x, %x, 1;\n  setp.ne.u32 %odd, %x, 0;\n",
      8 * specials().size());
  for (const Special& s : specials()) {
    text += fmt::format(
        "  mov.u32 %x, %{0};\n  st.global.b32 [%out], %x;\n  mov.u32 %x, {1};\n  @%odd mov.b32 %x, %{0};\n"
        "  st.global.b32 [%out+4], %x;\n  add.u64 %out, %out, 8;\n",
        s.name, kUnread);
  }
  return text + "  ret;\n}\n";
}

GoldenRun draw_run(uint64_t seed) {
  Rng rng(seed);
  const auto some = [&](uint32_t most) { return static_cast<uint32_t>(1 + rng.below(most)); };
  GoldenRun run;
  machine::LaunchRequest& l = run.launch;
  l.kernel = "special";
  l.cluster = {some(2), 1, 1};
  l.grid = {l.cluster.x * some(3), some(3), some(3)};
  l.block = {some(seed % 2 == 0 ? 70 : 5), some(3), some(4)};
  l.dynamic_shared_bytes = 16 * static_cast<uint32_t>(rng.below(20));
  Param out;
  out.buffer = true;
  out.type = "b32";
  const simt::Dim3 g = l.grid, b = l.block;
  for (uint32_t block = 0; block < g.x * g.y * g.z; ++block) {
    for (uint32_t k = 0; k < b.x * b.y * b.z; ++k) {
      const Thread t{{k % b.x, k / b.x % b.y, k / b.x / b.y}, {block % g.x, block / g.x % g.y, block / g.x / g.y}, k};
      for (const Special& s : specials()) {
        const uint32_t value = s.value(l, t);
        out.expected.insert(out.expected.end(), {value, t.lane() % 2 == 1 ? value : kUnread});
      }
    }
  }
  out.count = out.expected.size();
  out.initial.resize(out.count);
  run.params.push_back(std::move(out));
  return run;
}

TEST(SpecialRegisters, AreThoseOfTheThread) {
  const auto targets = simt::simd_targets();
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    ASSERT_TRUE(simt::use_simd_target(targets[seed % targets.size()]));
    const GoldenRun run = draw_run(seed);
    EXPECT_EQ(execute(kernel(), run, {}), "") << "seed " << seed;
    if (seed <= 4) {
      EXPECT_EQ(execute(kernel(), run, {.reference = true}), "") << "seed " << seed;
    }
  }
  simt::use_simd_target("");
}

}  // namespace
}  // namespace fb::golden
