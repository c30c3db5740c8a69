// Drawn products and what goes with them (products.h): exact ones against the generator's own sums, others on both
// engines.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "machine/exact/products.h"
#include "virtual_node/machine/device/device.h"

namespace fb::products {
namespace {

// What the kernel left, or why it did not end.
std::pair<std::vector<uint32_t>, std::string> run(const Product& p, bool reference) {
  machine::Device device;
  const auto module = device.load(p.ptx, {.reference = reference});
  if (!module) return {{}, "does not load:\n" + to_string(module.error(), "product.ptx")};
  const uint64_t in = device.allocate(4 * p.in.size()), out = device.allocate(4 * p.out.size());
  std::memcpy(device.bytes(in, 4 * p.in.size()), p.in.data(), 4 * p.in.size());
  machine::LaunchRequest launch;
  launch.kernel = "k";
  launch.grid = launch.cluster = {p.blocks, 1, 1};
  launch.block = {p.threads, 1, 1};
  launch.dynamic_shared_bytes = p.shared_bytes;
  launch.params.resize(16);
  const uint64_t pointers[] = {in, out};
  std::memcpy(launch.params.data(), pointers, sizeof pointers);
  const auto outcome = device.run(**module, launch);
  if (!outcome) return {{}, "does not start: " + to_string(outcome.error(), "launch")};
  if (outcome->ending != machine::Ending::finished) return {{}, describe(*outcome)};
  std::vector<uint32_t> left(p.out.size());
  std::memcpy(left.data(), device.bytes(out, 4 * left.size()), 4 * left.size());
  return {left, ""};
}

std::string difference(const std::vector<uint32_t>& expected, const std::vector<uint32_t>& got) {
  for (size_t k = 0; k < expected.size(); ++k) {
    if (expected[k] != got[k])
      return fmt::format("word {} of {}: {:08x}, not {:08x}", k, expected.size(), got[k], expected[k]);
  }
  return "";
}

class DrawnProducts : public testing::TestWithParam<Drawn> {};

TEST_P(DrawnProducts, AreExact) {
  for (uint64_t seed = 1; seed <= GetParam().count; ++seed) {
    Rng rng(seed);
    const Product p = GetParam().draw(rng, is_exact(seed));
    const auto [fast, failure] = run(p, false);
    ASSERT_EQ(failure, "") << "seed " << seed << ": " << p.about << "\n" << p.ptx;
    if (is_exact(seed)) {
      EXPECT_EQ(difference(p.out, fast), "") << "seed " << seed << ": " << p.about;
      continue;
    }
    const auto [slow, slow_failure] = run(p, true);
    ASSERT_EQ(slow_failure, "") << "seed " << seed << ": " << p.about;
    EXPECT_EQ(difference(slow, fast), "") << "seed " << seed << ", engines differ: " << p.about;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, DrawnProducts, testing::ValuesIn(kDrawn), [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace fb::products
