#include <fabricbench/oracle.h>

#include <vector>

using namespace fabricbench::oracle;

// What driver.cu asks for. Products of odd numbers do not depend on the order of updates.
void expect(Case& c) {
  const int64_t slots = c["slots"], words = c["words"];
  const auto world = static_cast<uint32_t>(c.world());
  std::vector<std::vector<uint32_t>> records(world);
  for (uint32_t r = 0; r < world; ++r) {
    for (const uint32_t word : c.input<uint32_t>("start", static_cast<int>(r))) records[r].push_back(word);
  }
  for (uint32_t r = 0; r < world; ++r) {
    for (const uint32_t order : c.input<uint32_t>("orders", static_cast<int>(r))) {
      const size_t slot = order / world % static_cast<uint64_t>(slots);
      for (int64_t k = 0; k < words; ++k)
        records[order % world][slot * static_cast<size_t>(words) + static_cast<size_t>(k)] *=
            2 * (order + static_cast<uint32_t>(k)) + 1;
    }
  }
  for (uint32_t r = 0; r < world; ++r) {
    Output out = c.output("out", static_cast<int>(r)), free = c.output("free", static_cast<int>(r));
    for (int64_t i = 0; i < slots * words; ++i) out.set(i, records[r][static_cast<size_t>(i)]);
    for (int64_t i = 0; i < slots; ++i) free.set(i, 1);
  }
}

FABRICBENCH_ORACLE(expect)
