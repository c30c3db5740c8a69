#pragma once

// What the virtual node gives for public figures.

#include <vector>

#include "audit/calibrate/figures.h"
#include "audit/calibrate/model.h"
#include "common/base/result.h"

namespace fb::calibrate {

// By figure, in its unit. Errors: a program that did not build, that failed, or that printed no value in this unit.
Result<std::vector<double>> model_figures(const Figures& figures, const ModelOptions& options);

// The value of the line "VALUE UNIT".
std::optional<double> read_value(std::string_view output, std::string_view unit);

}  // namespace fb::calibrate
