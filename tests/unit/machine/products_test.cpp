// Drawn products of mma.sync, wgmma and tcgen05.mma: exact ones against the generator's own sums, others on both
// engines.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "machine/products.h"
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

template <class Draw>
void check(Draw draw_product, uint64_t count) {
  for (uint64_t seed = 1; seed <= count; ++seed) {
    Rng rng(seed);
    const bool exact = seed % 3 != 0;
    const Product p = draw_product(rng, exact);
    const auto [fast, failure] = run(p, false);
    ASSERT_EQ(failure, "") << "seed " << seed << ": " << p.about << "\n" << p.ptx;
    if (exact) EXPECT_EQ(difference(p.out, fast), "") << "seed " << seed << ": " << p.about;
    if (exact) continue;
    const auto [slow, slow_failure] = run(p, true);
    ASSERT_EQ(slow_failure, "") << "seed " << seed << ": " << p.about;
    EXPECT_EQ(difference(slow, fast), "") << "seed " << seed << ", engines differ: " << p.about;
  }
}

TEST(DrawnProducts, OfMmaAreExact) { check(draw_mma, 200); }
TEST(DrawnProducts, OfWgmmaAreExact) { check(draw_wgmma, 60); }
TEST(DrawnProducts, OfTcgen05AreExact) { check(draw_tcgen05, 45); }

}  // namespace
}  // namespace fb::products
