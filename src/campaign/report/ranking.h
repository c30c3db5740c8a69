#pragma once

#include "campaign/report/summary.h"

namespace fb::report {

// Chooses the ranking figure, sorts the models by it, and fills the ranks that their intervals leave open.
void rank(Summary& summary);

// The ranking figure.
const Estimate& ranked_figure(const Summary& summary, const Model& model);

}  // namespace fb::report
