#pragma once

// Modelled against public figures, as text and JSON.

#include <string>
#include <vector>

#include "audit/calibrate/figures.h"

namespace fb::calibrate {

struct FigureReport {
  std::string platform;
  const Figures& figures;
  std::vector<double> modelled;  // by figure
  FigureSummary summary;
};

std::string to_text(const FigureReport& report);
std::string to_json(const FigureReport& report);

}  // namespace fb::calibrate
