#pragma once

// What the virtual node says of the measured points.

#include <string>
#include <vector>

#include "base/result.h"
#include "calibrate/curves.h"

namespace fb::calibrate {

struct Modelled {
  std::vector<double> microseconds = {};  // by point
  std::vector<bool> extrapolated = {};
};

struct RunOptions {
  std::string platform = {};  // a name or a file
  size_t side_by_side = 1;
  bool fit_only = false;  // curves that are held out are left empty
};

// By curve. Programs that serve several curves run once. Errors: a program that did not build, that failed, or that
// told no time.
Result<std::vector<Modelled>> model_curves(const Curves& curves, const RunOptions& options);

// How far extrapolation is from simulation, where both can be had: at twice the largest size that is simulated.
struct Sample {
  size_t curve = 0;
  uint64_t size = 0;
  double exact = 0, extrapolated = 0;  // microseconds
};
Result<std::vector<Sample>> compare_sampling(const Curves& curves, const RunOptions& options);

}  // namespace fb::calibrate
