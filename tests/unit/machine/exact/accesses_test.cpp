// The loads and stores of cases/accesses.lst, on both engines and every SIMD target.

#include <gtest/gtest.h>

#include "common/base/strings.h"
#include "machine/exact/accesses.h"
#include "machine/golden.h"
#include "virtual_node/simt/exec/simd_target.h"

namespace fb::accesses {
namespace {

std::vector<Access> all_accesses() {
  return read_accesses(read_file(std::string(FB_SOURCE_DIR) + "/tests/unit/machine/cases/accesses.lst"));
}

void check(uint64_t seed, const golden::Engine& engine) {
  Rng rng(seed);
  const auto run_of = [&](const std::vector<Drawn>& drawn) {
    const Program program = make_program(drawn, rng);
    golden::GoldenRun run;
    run.launch.kernel = "accesses";
    run.launch.block = {32, 1, 1};
    run.params = {golden::buffer(program.in),
                  golden::buffer(std::vector<uint64_t>(program.out.size(), 0x5A5A'5A5A'5A5A'5A5A))};
    run.params[1].expected.assign(program.out.begin(), program.out.end());
    return golden::execute(program.ptx, run, engine);
  };
  std::vector<Drawn> drawn;
  for (const Access& a : all_accesses()) drawn.push_back(draw(a, rng));
  const std::string wrong = run_of(drawn);
  if (wrong.empty()) return;
  ADD_FAILURE() << "seed " << seed << ": " << wrong;
  for (const Drawn& d : drawn) {
    const std::string alone = run_of({d});
    if (!alone.empty()) {
      ADD_FAILURE() << d.access.opcode << " in " << d.window << ", registers of " << d.register_bits << " bits, places "
                    << d.step << "l + " << d.first << ", " << d.stride << " bytes apart"
                    << (d.odd_only ? ", odd lanes only: " : ": ") << alone;
    }
  }
}

TEST(DrawnAccesses, ReachWhatTheyShould) {
  const auto targets = simt::simd_targets();
  for (uint64_t seed = 1; seed <= 9; ++seed) {
    ASSERT_TRUE(simt::use_simd_target(targets[seed % targets.size()]));
    check(seed, {});
  }
  simt::use_simd_target("");
  for (uint64_t seed = 10; seed <= 11; ++seed) check(seed, {.reference = true});
}

}  // namespace
}  // namespace fb::accesses
