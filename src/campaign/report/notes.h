#pragma once

#include <span>

#include "campaign/report/summary.h"
#include "common/record/campaign.h"

namespace fb::report {

// Adds the notes that a reader of the figures needs. All other fields must be filled.
void add_notes(std::span<const record::Run> runs, Summary& summary);

}  // namespace fb::report
