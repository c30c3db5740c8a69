#pragma once

#include <span>

#include "record/campaign.h"
#include "report/summary.h"

namespace fb::report {

// What a reader of the figures must know, once all else is filled.
void add_notes(std::span<const record::Run> runs, Summary& summary);

}  // namespace fb::report
