// Instructions with values: those of tests/unit/machine/cases, which stand there by hand, and drawn ones for the same
// instructions, whose results are computed apart from both engines (exact_instructions.h).

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/rng.h"
#include "common/base/strings.h"
#include "machine/exact/cases.h"
#include "machine/exact/exact_instructions.h"
#include "machine/golden.h"
#include "simt/random_instruction.h"
#include "virtual_node/simt/exec/simd_target.h"

namespace fb::cases {
namespace {

constexpr size_t kTogether = 64;  // cases of one kernel

constexpr uint64_t kOld = 0x5A5A'5A5A'5A5A'5A5A;  // in registers that an instruction must not write

using Examples = std::vector<std::vector<Example>>;

std::vector<Case> cases_of(const std::string& name) {
  return read_cases(read_file(std::string(FB_SOURCE_DIR) + "/tests/unit/machine/cases/" + name + ".txt"));
}

// A case whose instructions have guards of their own has no second part.
bool has_guard(const Case& c) {
  return std::ranges::any_of(c.instructions, [](const std::string& i) { return i.starts_with('@'); });
}

// What is wrong, or empty. Lane l of case k takes example l of examples[k], from the start again when there are fewer.
std::string execute(const std::vector<Case>& cases, const Examples& examples, const golden::Engine& engine) {
  std::vector<uint64_t> in;
  std::vector<std::optional<uint64_t>> out;
  for (size_t k = 0; k < cases.size(); ++k) {
    const auto example = [&](uint32_t lane) -> const Example& { return examples[k][lane % examples[k].size()]; };
    for (size_t r = 0; r < cases[k].read.size(); ++r) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) in.push_back(example(lane).in[r]);
    }
    for (const bool guarded : {false, true}) {
      for (size_t r = 0; r < cases[k].written.size(); ++r) {
        const uint32_t bits = cases[k].written[r].bits;
        const uint64_t old = bits == 1 ? 1 : kOld >> (64 - bits);
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          const auto value = example(lane).out[r];
          const bool unknown = guarded && has_guard(cases[k]);
          out.push_back(unknown ? std::nullopt : guarded && lane % 2 == 0 ? std::optional(old) : value);
        }
      }
    }
  }
  golden::GoldenRun run;
  run.launch.kernel = "cases";
  run.launch.block = {kLanes, 1, 1};
  in.push_back(0);  // a buffer is never empty
  run.params = {golden::buffer(std::move(in)), golden::buffer(std::vector<uint64_t>(out.size())),
                golden::buffer({kOld})};
  run.params[1].expected = std::move(out);
  const std::string wrong = golden::execute(make_kernel(cases), run, engine);
  if (wrong.empty() || cases.size() == 1) return wrong;
  // By itself, so that the report names it.
  std::string text;
  for (size_t k = 0; k < cases.size(); ++k) {
    const std::string alone = execute({cases[k]}, {examples[k]}, engine);
    if (!alone.empty()) text += fmt::format("line {}: {}\n{}", cases[k].line, cases[k].text, alone);
  }
  return text.empty() ? wrong : text;
}

void check(const std::vector<Case>& cases, const Examples& examples, const golden::Engine& engine) {
  for (size_t k = 0; k < cases.size(); k += kTogether) {
    const size_t end = std::min(k + kTogether, cases.size());
    EXPECT_EQ(execute({cases.begin() + k, cases.begin() + end}, {examples.begin() + k, examples.begin() + end}, engine),
              "");
  }
}

uint64_t draw_bits(Rng& rng, uint32_t bits) {
  if (bits == 1) return rng.below(2);
  if (rng.below(3) == 0) return bits == 64 ? rng.next() : rng.next() & ((uint64_t{1} << bits) - 1);
  if (rng.below(4) == 0) return rng.below(70) & ((uint64_t{1} << (bits - 1)) - 1);
  return bits == 8 ? rng.below(256) : random_program::corner_bits(rng, bits);
}

class Cases : public testing::TestWithParam<std::string> {
 protected:
  std::vector<Case> cases_ = cases_of(GetParam());

  // Those that have examples, and these.
  std::pair<std::vector<Case>, Examples> written() const {
    std::pair<std::vector<Case>, Examples> all;
    for (const Case& c : cases_) {
      if (c.examples.empty()) continue;
      all.first.push_back(c);
      all.second.push_back(c.examples);
    }
    return all;
  }

  // 32 examples of each instruction. Sometimes a value is drawn once for two registers, so that equal ones meet.
  Examples drawn(uint64_t seed) const {
    Rng rng(seed);
    Examples all;
    for (const Case& c : cases_) {
      auto& examples = all.emplace_back();
      while (examples.size() < 32) {
        Example e;
        for (const Register& r : c.read) {
          const bool again = !e.in.empty() && r.bits == c.read[e.in.size() - 1].bits && rng.below(6) == 0;
          e.in.push_back(again ? e.in.back() : draw_bits(rng, r.bits));
        }
        const auto out = evaluate(c, e.in);
        if (!out) {
          if (c.examples.empty()) ADD_FAILURE() << "not computed here, and without values: " << c.text;
          examples = c.examples;
          break;
        }
        e.out = *out;
        examples.push_back(std::move(e));
      }
    }
    return all;
  }
};

TEST_P(Cases, AreComputedAsWritten) {
  const auto [cases, examples] = written();
  for (const std::string& target : simt::simd_targets()) {
    ASSERT_TRUE(simt::use_simd_target(target));
    SCOPED_TRACE("SIMD target " + target);
    check(cases, examples, {});
  }
  simt::use_simd_target("");
  check(cases, examples, {.reference = true});
}

TEST_P(Cases, AreComputedExactlyForDrawnValues) {
  const auto targets = simt::simd_targets();
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const std::string& target = targets[seed % targets.size()];
    ASSERT_TRUE(simt::use_simd_target(target));
    SCOPED_TRACE("SIMD target " + target);
    check(cases_, drawn(seed), {});
  }
  simt::use_simd_target("");
  check(cases_, drawn(1), {.reference = true});
}

// What stands in the files tests the tests' own arithmetic.
TEST_P(Cases, HoldWhatExactArithmeticGives) {
  size_t computed = 0;
  for (const Case& c : cases_) {
    for (const Example& e : c.examples) {
      const auto out = evaluate(c, e.in);
      if (!out) continue;
      ++computed;
      for (size_t k = 0; k < out->size(); ++k) {
        if ((*out)[k]) {
          EXPECT_EQ(*(*out)[k], *e.out[k]) << GetParam() << ".txt:" << c.line << ": " << c.text;
        }
      }
    }
  }
  EXPECT_GT(computed, 0);
}

INSTANTIATE_TEST_SUITE_P(Files, Cases,
                         testing::Values("compare", "convert", "float", "half", "integer", "logic", "move"),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace fb::cases
