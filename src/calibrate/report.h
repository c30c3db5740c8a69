#pragma once

// What a calibration found, for people and programs.

#include <string>
#include <vector>

#include "calibrate/errors.h"

namespace fb::calibrate {

struct Findings {
  std::string platform;
  const Curves& curves;
  std::vector<Modelled> modelled;
  Summary summary;
  std::vector<Ordering> orders;
  std::vector<Sample> samples = {};  // empty: were not compared
};

std::string to_text(const Findings& findings);
std::string to_json(const Findings& findings);
// One page that needs nothing else: tables, and a plot of each curve, measured and modelled, on logarithmic axes.
std::string to_html(const Findings& findings);

}  // namespace fb::calibrate
