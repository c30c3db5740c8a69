#pragma once

// Fits constants to the curves marked `fit`: least squares of ln(modelled / measured), each curve with the same weight,
// by damped Gauss-Newton steps. A prior keeps a constant that curves say little about near its old value.

#include <functional>
#include <string>
#include <vector>

#include "audit/calibrate/constants.h"
#include "audit/calibrate/curves.h"
#include "common/base/result.h"

namespace fb::calibrate {

// A fitted constant; `freedom` is the width of its prior, as a factor (e.g. 0.3).
struct Parameter {
  const char* key;
  double freedom;
};
// Those that curves of this kind determine, and that the platform's file gives itself.
std::vector<Parameter> fitted_parameters(const Curves& curves, std::string_view platform_text);

struct FitStep {
  int number = 0;
  double cost = 0;  // sum of squares of ln(modelled / measured), and of the prior
  Values values = {};
};

struct FitOptions {
  std::string platform_file;
  size_t side_by_side = 1;
  int steps = 3;
  std::function<void(const FitStep&)> on_step = {};
  std::function<void(size_t done, size_t planned)> on_progress = {};  // of the programs of one evaluation
};

// The best values seen.
Result<Values> fit(const Curves& curves, const FitOptions& options);

}  // namespace fb::calibrate
