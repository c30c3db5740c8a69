// The atomics and reductions of cases/reductions.lst, on both engines and every SIMD target.

#include "machine/exact/reductions.h"

#include <gtest/gtest.h>

#include "common/base/strings.h"
#include "machine/golden.h"
#include "virtual_node/simt/exec/simd_target.h"

namespace fb::reductions {
namespace {

List all_reductions() {
  return read_list(read_file(std::string(FB_SOURCE_DIR) + "/tests/unit/machine/cases/reductions.lst"));
}

std::string run_of(const List& list, bool multimem, uint64_t seed, const golden::Engine& engine) {
  Rng rng(seed);
  Program p = make_program(list, multimem, rng);
  golden::GoldenRun run;
  run.launch.kernel = "reductions";
  run.launch.block = {32, 1, 1};
  run.params = {golden::buffer({}), golden::buffer(p.in),
                golden::buffer(std::vector<uint64_t>(p.out.size(), 0x5A5A'5A5A'5A5A'5A5A))};
  golden::Param& cells = run.params[0];
  cells.count = p.cells[0].size();
  cells.buffer = !multimem;
  if (multimem) {
    for (uint32_t m = 0; m < kMembers; ++m) cells.members.push_back({p.cells[m], p.cells_left[m]});
  } else {
    cells.initial = p.cells[0];
    cells.expected = p.cells_left[0];
  }
  run.params[2].expected = std::move(p.out);
  return golden::execute(p.ptx, run, engine);
}

void check(uint64_t seed, const golden::Engine& engine) {
  const List all = all_reductions();
  for (const bool multimem : {false, true}) {
    const std::string wrong = run_of(all, multimem, seed, engine);
    if (wrong.empty()) continue;
    ADD_FAILURE() << "seed " << seed << ": " << wrong;
    for (const Reduction& r : all.reductions) {
      if (r.multimem != multimem) continue;
      const std::string alone = run_of({{r}, all.values}, multimem, seed, engine);
      if (!alone.empty()) ADD_FAILURE() << r.opcode << ": " << alone;
    }
  }
}

TEST(DrawnReductions, MakeWhatTheyShould) {
  uint64_t seed = 1;
  for (const std::string& target : simt::simd_targets()) {
    ASSERT_TRUE(simt::use_simd_target(target));
    SCOPED_TRACE("SIMD target " + target);
    for (const uint64_t end = seed + 4; seed < end; ++seed) check(seed, {});
  }
  simt::use_simd_target("");
  check(1, {.reference = true});
}

// What stands in the file tests the tests' own arithmetic.
TEST(DrawnReductions, AreComputedAsWritten) {
  for (const Written& w : all_reductions().values) {
    const auto result = combine(w.operation, w.type, w.old, w.operand, w.second, w.type == "f32");
    if (result) {
      EXPECT_EQ(*result, w.result) << w.operation << "." << w.type << " of " << w.old << " and " << w.operand;
    }
  }
}

}  // namespace
}  // namespace fb::reductions
