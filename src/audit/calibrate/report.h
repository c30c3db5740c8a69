#pragma once

// Results of a calibration as text, JSON and HTML.

#include <string>
#include <vector>

#include "audit/calibrate/errors.h"

namespace fb::calibrate {

struct CalibrationReport {
  std::string platform;
  const Curves& curves;
  std::vector<Modelled> modelled;
  Summary summary;
  std::vector<Ordering> orders;
  std::vector<Extrapolation> extrapolations = {};  // empty: were not compared
};

std::string to_text(const CalibrationReport& report);
std::string to_json(const CalibrationReport& report);
// One page that needs nothing else: tables, and a plot of each curve, measured and modelled, on logarithmic axes.
std::string to_html(const CalibrationReport& report);

}  // namespace fb::calibrate
