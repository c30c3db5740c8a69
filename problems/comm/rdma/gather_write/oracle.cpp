#include <fabricbench/oracle.h>

#include <algorithm>

using namespace fabricbench::oracle;

void expect(Case& c) {
  const int64_t rows = c["rows"], columns = c["columns"], width = c["width"], pieces = c["pieces"];
  for (int r = 0; r < c.world(); ++r) {
    const auto in = c.input<uint32_t>("in", (r + c.world() - 1) % c.world());
    Output packed = c.output("packed", r), out = c.output("out", r), report = c.output("report", r);
    for (int64_t i = 0; i < rows; ++i) {
      const uint32_t* const row = in.data() + i * columns;
      for (int64_t j = 0; j < width; ++j) packed.set(i * width + j, row[j]);
      for (int64_t j = 0; j < columns; ++j) out.set(i * columns + j, j < columns - width ? 0 : row[j]);
    }
    for (int64_t first = 0, k = 0; first < rows; first += pieces) {
      const int64_t bytes = 4 * width * std::min(pieces, rows - first);
      for (const int64_t value : {first, bytes, first, bytes}) report.set(k++, static_cast<double>(value));
    }
  }
}

FABRICBENCH_ORACLE(expect)
