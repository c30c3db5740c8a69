#pragma once

// A summary as text. Printers compute no figures of their own.

#include <span>
#include <string>

#include "campaign/report/summary.h"
#include "campaign/report/table.h"
#include "common/record/campaign.h"

namespace fb::report {

struct ConsoleOptions {
  Look look = {};
  bool matrix = false;  // problems × models as well
};

std::string to_console(const Summary& summary, const ConsoleOptions& options);
std::string to_markdown(const Summary& summary);

// RFC 4180, but lines end with a line feed alone; names first. Unknown values are empty.
std::string leaderboard_csv(const Summary& summary);
std::string attempts_csv(const Summary& summary, std::span<const record::Run> runs);

// summary.json; docs/reference/report.md has its fields.
std::string to_json(const Summary& summary);

}  // namespace fb::report
