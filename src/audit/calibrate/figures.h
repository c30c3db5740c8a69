#pragma once

// Public figures of single GPUs (latencies, rates, bandwidths), each with the program that measures the same thing
// here: platforms/calibration/inside/figures.toml.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/calibrate/curves.h"
#include "audit/calibrate/errors.h"
#include "common/base/result.h"

namespace fb::calibrate {

struct Figure {
  std::string id = {}, group = {}, what = {}, platform = {};
  CurveUse set = CurveUse::held_out;
  std::string program = {};
  std::vector<std::string> arguments = {};
  double value = 0;
  std::string unit = {};
  std::optional<double> clock = {};  // MHz at which it was measured
  std::optional<double> peak = {};   // what the hardware cannot exceed, in the same unit
  std::string source = {};
};

struct Figures {
  std::string folder = {};  // of the programs
  std::string arch = {};    // that they are compiled for
  std::vector<Figure> figures = {};
};

// The figures of one platform. Messages name the file and the line.
Result<Figures> load_figures(const std::string& platform);

// Of a time less is faster, of a rate more.
bool is_time(std::string_view unit);

// Clocks are read before and after: a modelled value may exceed its peak by so much.
inline constexpr double kPeakRoom = 0.01;
bool is_beyond_peak(const Figure& figure, double modelled);

struct FigureSummary {
  Spread fit, held_out;
  size_t beyond_fit = 0, beyond_held_out = 0;  // figures beyond their peak
};
// `modelled`: by figure.
FigureSummary summarise(const Figures& figures, const std::vector<double>& modelled);

}  // namespace fb::calibrate
