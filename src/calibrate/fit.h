#pragma once

// Chooses constants so that the model gives the curves that may be used for it: least squares of ln(modelled /
// measured), each curve with the same weight, by Gauss and Newton with damping. A constant that curves say little about
// stays near where it was.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "calibrate/constants.h"
#include "calibrate/curves.h"

namespace fb::calibrate {

// What is fitted, and how far a value may be expected to move (as a factor, e.g. 0.3) where nothing speaks against it.
struct Parameter {
  const char* key;
  double freedom;
};
const std::vector<Parameter>& fitted_parameters();

struct FitStep {
  int number = 0;
  double cost = 0;  // mean square of ln(modelled / measured), and of how far constants have moved
  Values values = {};
};

struct FitOptions {
  std::string platform_file;
  size_t side_by_side = 1;
  int steps = 3;
  std::function<void(const FitStep&)> tell = {};
};

// The best values seen.
Result<Values> fit(const Curves& curves, const FitOptions& options);

}  // namespace fb::calibrate
