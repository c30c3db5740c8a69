#pragma once

#include "report/summary.h"

namespace fb::report {

// Chooses the figure that ranks, sorts the models by it, and says what their intervals leave open.
void rank(Summary& summary);

// The figure that ranks.
const Estimate& ranked_figure(const Summary& summary, const Model& model);

}  // namespace fb::report
