#pragma once

// The plot of operations per second over arithmetic intensity, the operations for each byte that crosses a link. Both
// axes are logarithmic; the roofs are the links (a slope) and the tensor cores (a level).

#include <string>
#include <string_view>
#include <vector>

#include "campaign/report/site/html.h"
#include "campaign/report/summary.h"
#include "common/record/verdict.h"

namespace fb::report::site {

class Roofline {
 public:
  // `kind`: model, reference, baseline or limit. Sizes without operations or link bytes have no place in it.
  void add(std::string_view series, std::string_view kind, const ProblemCost* cost, double seconds);
  // Of the platform; the last ones that are known count.
  void set(const record::Peaks& peaks);
  // With its heading; empty if there is nothing to draw.
  Html figure() const;

 private:
  struct Point {
    std::string series, kind, size;
    double intensity = 0, flops_per_second = 0, seconds = 0;
  };
  std::vector<Point> points_;
  record::Peaks peaks_;
  bool on_tensor_cores_ = false;
};

// What a call of this size and world costs at least, as problem.toml states it; null: not stated.
const ProblemCost* cost_of(const Problem& problem, std::string_view size, int world);

}  // namespace fb::report::site
