#include <fabricbench/oracle.h>
#include <fabricbench/products.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

using namespace fabricbench::oracle;

namespace {

using Bits = std::vector<uint64_t>;

// Of `mask`, `first` up to `end` is 1, and the rest is 0; one pixel in `noise` is flipped (0: none).
void draw(Random& random, std::span<uint8_t> mask, int64_t first, int64_t end, uint64_t noise) {
  uint64_t bits = 0;
  for (int64_t p = 0; p < std::ssize(mask); ++p, bits >>= 8) {
    if (noise != 0 && p % 8 == 0) bits = random.bits();
    const bool flipped = noise != 0 && (bits & 255) * noise < 256;
    mask[static_cast<size_t>(p)] = (p >= first && p < end) != flipped ? 1 : 0;
  }
}

Bits pack(std::span<const uint8_t> mask) {
  Bits bits((mask.size() + 63) / 64);
  for (size_t p = 0; p < mask.size(); ++p) bits[p / 64] |= uint64_t{mask[p]} << p % 64;
  return bits;
}

FABRICBENCH_WIDEST int64_t intersection(const uint64_t* a, const uint64_t* b, size_t words) {
  int64_t sum = 0;
  for (size_t w = 0; w < words; ++w) sum += std::popcount(a[w] & b[w]);
  return sum;
}

// Half of all scores are multiples of 1/8.
float draw_score(Random& random) {
  const double value = random.unit();
  return static_cast<float>(random.below(2) == 0 ? std::round(value * 8) / 8 : value);
}

}  // namespace

// Masks are those of a few objects, each a run of 3/10 to 4/10 of the pixels, shifted by 0 to 4 times 9 % of its
// length, and one pixel in 64 is flipped: those of an object overlap if they are shifted by the same amount or by the
// next one. So chains occur, in which a mask that is suppressed itself would have suppressed another one. One mask in
// 16 is empty. Two masks, wherever they are, are the same. Before that, two masks get a quotient of exactly 7/10.
// Counts are between 3/4 of `most` and all of it at timed sizes (`most` a multiple of 4), anything from 0 on
// elsewhere, and 2 in all at least.
void fill(Case& c) {
  const int64_t most = c["most"], pixels = c["pixels"], world = c.world();
  struct Object {
    int64_t first, length;
  };
  std::vector<Object> objects(static_cast<size_t>(2 + world * most / 32));
  for (Object& object : objects)
    object = {c.random.below(pixels / 2), pixels * 3 / 10 + c.random.below(pixels / 10 + 1)};
  std::vector<std::span<uint8_t>> there;
  int64_t total = 0;
  for (int rank = 0; rank < world; ++rank) {
    const int64_t least = most % 4 == 0 ? most * 3 / 4 : 0;
    int64_t count = least + c.random.below(most - least + 1);
    if (rank >= world - 2 && total < 2) count = std::max(count, int64_t{1});
    total += count;
    c.input<int32_t>("count", rank)[0] = static_cast<int32_t>(count);
    for (float& score : c.input<float>("score", rank)) score = draw_score(c.random);
    const auto masks = c.input<uint8_t>("mask", rank);
    for (int64_t i = 0; i < most; ++i) {
      const auto mask = masks.subspan(static_cast<size_t>(i * pixels), static_cast<size_t>(pixels));
      const Object object = objects[static_cast<size_t>(c.random.below(std::ssize(objects)))];
      const int64_t from = object.first + c.random.below(5) * object.length * 9 / 100;
      if (c.random.below(16) == 0) {
        draw(c.random, mask, 0, 0, 0);
      } else {
        draw(c.random, mask, from, from + object.length, 64);
      }
      if (i < count) there.push_back(mask);
    }
  }
  const auto any = [&] { return static_cast<size_t>(c.random.below(std::ssize(there))); };
  const int64_t tenth = pixels / 16, from = c.random.below(pixels - 10 * tenth + 1);
  draw(c.random, there[any()], from, from + 10 * tenth, 0);
  draw(c.random, there[any()], from + tenth, from + 8 * tenth, 0);
  const size_t one = any(),
               other = (one + 1 + static_cast<size_t>(c.random.below(std::ssize(there) - 1))) % there.size();
  there[one][0] = 1;
  std::copy(there[one].begin(), there[one].end(), there[other].begin());
}

void expect(Case& c) {
  const auto pixels = static_cast<size_t>(c["pixels"]);
  Output offsets = c.output("offsets"), suppressor = c.output("suppressor");
  std::vector<Bits> masks;
  std::vector<float> scores;
  for (int rank = 0; rank < c.world(); ++rank) {
    offsets.set(rank, static_cast<double>(masks.size()));
    const auto count = static_cast<size_t>(c.input<int32_t>("count", rank)[0]);
    const auto score = c.input<float>("score", rank).first(count);
    scores.insert(scores.end(), score.begin(), score.end());
    for (size_t i = 0; i < count; ++i)
      masks.push_back(pack(c.input<uint8_t>("mask", rank).subspan(i * pixels, pixels)));
  }
  offsets.set(c.world(), static_cast<double>(masks.size()));

  const auto common = [&](size_t a, size_t b) {
    return intersection(masks[a].data(), masks[b].data(), masks[a].size());
  };
  std::vector<int64_t> area(masks.size());
  for (size_t i = 0; i < masks.size(); ++i) area[i] = common(i, i);
  std::vector<size_t> order(masks.size()), kept;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  for (const size_t i : order) {
    const auto by = std::find_if(kept.begin(), kept.end(), [&](size_t k) {
      const int64_t both = common(i, k);
      return 10 * both > 7 * (area[i] + area[k] - both);
    });
    suppressor.set(static_cast<int64_t>(i), static_cast<double>(by == kept.end() ? i : *by));
    if (by == kept.end()) kept.push_back(i);
  }
  for (int64_t i = std::ssize(masks); i < suppressor.size(); ++i) suppressor.ignore(i);
}

FABRICBENCH_ORACLE(expect, fill)
