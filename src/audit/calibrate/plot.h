#pragma once

#include <string>

#include "audit/calibrate/curves.h"
#include "audit/calibrate/model.h"

namespace fb::calibrate {

// An SVG picture of one curve, measured and modelled, on logarithmic axes.
std::string plot_svg(const Curve& curve, const Modelled& modelled);

}  // namespace fb::calibrate
