#include <fabricbench/oracle.h>

#include <numeric>
#include <vector>

using namespace fabricbench::oracle;

// Lengths are drawn evenly at timed sizes (`batch` a multiple of 32); elsewhere a quarter of the keys of a rank has
// nothing, and a quarter has all that is possible.
void fill(Case& c) {
  const int64_t batch = c["batch"], most = c["most"], keys = c.world() * c["keys"] + c.world() / 2;
  for (int rank = 0; rank < c.world(); ++rank) {
    const auto length = c.input<int32_t>("length", rank);
    for (int64_t f = 0; f < keys; ++f) {
      const int64_t kind = batch % 32 == 0 ? 2 : c.random.below(4);
      for (int64_t b = 0; b < batch; ++b)
        length[static_cast<size_t>(f * batch + b)] =
            static_cast<int32_t>(kind < 2 ? kind * most : c.random.below(most + 1));
    }
    for (int64_t& value : c.input<int64_t>("value", rank)) value = c.random.below(int64_t{1} << 40);
  }
}

void expect(Case& c) {
  const int64_t keys = c["keys"], batch = c["batch"], world = c.world();
  // Where each key begins among the values of each rank.
  std::vector<std::vector<int64_t>> begin(static_cast<size_t>(world));
  for (int s = 0; s < world; ++s) {
    const auto length = c.input<int32_t>("length", s);
    auto& of_rank = begin[static_cast<size_t>(s)];
    of_rank.push_back(0);
    for (auto at = length.begin(); at != length.end(); at += batch)
      of_rank.push_back(std::accumulate(at, at + batch, of_rank.back()));
  }
  for (int w = 0; w < world; ++w) {
    Output key_length = c.output("key_length", w), offsets = c.output("offsets", w), values = c.output("key_value", w);
    const int64_t first = w * keys + w / 2, owned = keys + w % 2;
    int64_t next = 0;
    for (int64_t k = 0; k < owned; ++k) {
      offsets.set(k, static_cast<double>(next));
      for (int s = 0; s < world; ++s) {
        const int32_t* length = c.input<int32_t>("length", s).data() + (first + k) * batch;
        for (int64_t b = 0; b < batch; ++b) key_length.set((k * world + s) * batch + b, length[b]);
        const auto value = c.input<int64_t>("value", s);
        const int64_t* of_key = &begin[static_cast<size_t>(s)][static_cast<size_t>(first + k)];
        for (int64_t i = of_key[0]; i < of_key[1]; ++i)
          values.set(next++, static_cast<double>(value[static_cast<size_t>(i)]));
      }
    }
    offsets.set(owned, static_cast<double>(next));
    for (; next < values.size(); ++next) values.ignore(next);
  }
}

FABRICBENCH_ORACLE(expect, fill)
