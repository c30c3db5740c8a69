#include <fabricbench/oracle.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace fabricbench::oracle;

// Between -4 and 4; every second score is a multiple of 1/16, so that ties occur.
float score(Random& random) {
  const double value = random.between(-4, 4);
  return static_cast<float>(random.below(2) == 0 ? std::round(value * 16) / 16 : value);
}

// Counts are between half of `most` and all of it at timed sizes (`most` a multiple of 32), anything from 1 on
// elsewhere. True edges are better on the whole, differently in each call.
void fill(Case& c) {
  const int64_t most = c["most"];
  const double better = std::round(c.random.between(0, 32)) / 16;
  for (int rank = 0; rank < c.world(); ++rank) {
    const int64_t least = most % 32 == 0 ? most / 2 : 1;
    c.input<int32_t>("count", rank)[0] = static_cast<int32_t>(least + c.random.below(most - least + 1));
    for (float& value : c.input<float>("positive", rank)) value = score(c.random) + static_cast<float>(better);
    for (float& value : c.input<float>("negative", rank)) value = score(c.random);
  }
}

void expect(Case& c) {
  std::vector<float> negatives;
  for (int rank = 0; rank < c.world(); ++rank) {
    const auto negative = c.input<float>("negative", rank);
    negatives.insert(negatives.end(), negative.begin(), negative.end());
  }
  std::sort(negatives.begin(), negatives.end());
  Output offsets = c.output("offsets"), place = c.output("place");
  int64_t next = 0;
  for (int rank = 0; rank < c.world(); ++rank) {
    offsets.set(rank, static_cast<double>(next));
    const auto count = static_cast<size_t>(c.input<int32_t>("count", rank)[0]);
    for (const float positive : c.input<float>("positive", rank).first(count)) {
      const auto first = std::lower_bound(negatives.begin(), negatives.end(), positive);
      place.set(next++, static_cast<double>(1 + (negatives.end() - first)));
    }
  }
  offsets.set(c.world(), static_cast<double>(next));
  for (; next < place.size(); ++next) place.ignore(next);
}

FABRICBENCH_ORACLE(expect, fill)
