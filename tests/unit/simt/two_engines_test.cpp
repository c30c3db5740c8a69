// Two engines agree: random programs give the same bytes on the fast engine and on the slow one, which was written
// apart from it. FABRICBENCH_RANDOM_PROGRAMS sets how many, FABRICBENCH_RANDOM_SEED the first seed.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <expected>

#include "simt/random_program.h"
#include "virtual_node/machine/device/device.h"
#include "virtual_node/simt/exec/simd_target.h"

namespace fb::random_program {
namespace {

constexpr uint64_t kPrograms = 10'000;
// How many differences are shown: one mistake often makes many.
constexpr int kShown = 3;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Memory {
  std::vector<std::byte> out, scratch;
};

mem::Address copy_in(machine::Device& device, const std::vector<std::byte>& bytes) {
  const mem::Address a = device.allocate(bytes.size());
  std::memcpy(device.bytes(a, bytes.size()), bytes.data(), bytes.size());
  return a;
}

std::vector<std::byte> copy_out(machine::Device& device, mem::Address a, uint64_t size) {
  const std::byte* begin = device.bytes(a, size);
  return {begin, begin + size};
}

// What memory holds after a run, or why there was none.
std::expected<Memory, std::string> run(const Program& program, const machine::LoadOptions& options) {
  machine::Device device;
  const auto module = device.load(program.ptx, options);
  if (!module) return std::unexpected("does not load:\n" + to_string(module.error(), "program.ptx"));
  const mem::Address in = copy_in(device, program.in), scratch = copy_in(device, program.scratch);
  const mem::Address out = copy_in(device, std::vector<std::byte>(program.out_bytes));
  machine::LaunchRequest launch;
  launch.kernel = "k";
  launch.block = {program.threads, 1, 1};
  launch.params.resize(64);
  const uint64_t pointers[] = {in, out, scratch};
  std::memcpy(launch.params.data(), pointers, sizeof pointers);
  std::memcpy(launch.params.data() + 32, program.blob.data(), 32);
  const auto outcome = device.run(**module, launch);
  if (!outcome) return std::unexpected("does not start: " + to_string(outcome.error(), "launch"));
  if (outcome->ending != machine::Ending::finished) return std::unexpected(describe(*outcome));
  return Memory{copy_out(device, out, program.out_bytes), copy_out(device, scratch, program.scratch.size())};
}

std::string first_difference(const char* name, const std::vector<std::byte>& fast, const std::vector<std::byte>& slow,
                             uint64_t per_thread) {
  for (size_t k = 0; k < fast.size(); ++k) {
    if (fast[k] == slow[k]) continue;
    const size_t at = k / 8 * 8;
    uint64_t f = 0, s = 0;
    std::memcpy(&f, &fast[at], 8);
    std::memcpy(&s, &slow[at], 8);
    return fmt::format("{}: thread {} byte {}: fast {:016x}, reference {:016x}\n", name, k / per_thread,
                       at % per_thread, f, s);
  }
  return "";
}

// Empty if both engines agree. Every fourth program is lowered for a listener, where other functions are chosen.
std::string compare(const Program& program, uint64_t seed) {
  const auto fast = run(program, {.observed = seed % 4 == 3}), slow = run(program, {.reference = true});
  if (!fast) return "fast engine: " + fast.error();
  if (!slow) return "reference engine: " + slow.error();
  return first_difference("out (h at 0, r at 32, l at 96, p at 184)", fast->out, slow->out, 192) +
         first_difference("scratch", fast->scratch, slow->scratch, 128);
}

void check(Flavour flavour, uint64_t share) {
  const uint64_t count = from_environment("FABRICBENCH_RANDOM_PROGRAMS", kPrograms) * share / 10;
  const uint64_t first = from_environment("FABRICBENCH_RANDOM_SEED", 1);
  const auto targets = simt::simd_targets();
  int shown = 0;
  for (uint64_t seed = first; seed < first + count && shown < kShown; ++seed) {
    const std::string& target = targets[seed % targets.size()];
    ASSERT_TRUE(simt::use_simd_target(target));
    const Program program = generate(seed, flavour);
    const std::string difference = compare(program, seed);
    if (difference.empty()) continue;
    ++shown;
    ADD_FAILURE() << "seed " << seed << ", " << program.threads << " threads, SIMD target " << target << ": "
                  << difference << program.ptx;
  }
  simt::use_simd_target("");
}

TEST(TwoEngines, AgreeOnStraightLineCode) { check(Flavour::straight, 4); }
TEST(TwoEngines, AgreeOnBranches) { check(Flavour::branching, 3); }
TEST(TwoEngines, AgreeOnMemory) { check(Flavour::memory, 3); }

}  // namespace
}  // namespace fb::random_program
