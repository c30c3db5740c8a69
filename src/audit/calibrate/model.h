#pragma once

// Modelled times of the measured points, from runs on the virtual node.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "audit/calibrate/curves.h"
#include "common/base/result.h"

namespace fb::calibrate {

struct Modelled {
  std::vector<double> microseconds = {};  // by point
  std::vector<bool> extrapolated = {};
};

struct ModelOptions {
  std::string platform = {};  // a name or a file
  size_t side_by_side = 1;
  bool fit_only = false;  // held-out curves are left empty
  // As programs end: how many, and of how many.
  std::function<void(size_t done, size_t planned)> on_progress = {};
};

// By curve. A program of several curves runs once. Errors: a program that did not build, that failed, or that printed
// no time.
Result<std::vector<Modelled>> model_curves(const Curves& curves, const ModelOptions& options);

// An extrapolated time against the simulated one, at twice the largest size that is usually simulated.
struct Extrapolation {
  size_t curve = 0;
  uint64_t size = 0;
  double exact = 0, extrapolated = 0;  // microseconds
};
Result<std::vector<Extrapolation>> compare_extrapolation(const Curves& curves, const ModelOptions& options);

}  // namespace fb::calibrate
