#pragma once

// A run as pages: a folder of static HTML that works offline, from a disk, without any request to a network.
// docs/guide/site.md.

#include <cstddef>
#include <span>
#include <string>

#include "campaign/report/summary.h"
#include "common/base/result.h"
#include "common/record/campaign.h"

namespace fb::report {

struct SiteOptions {
  std::string title = {};  // empty: the campaign's name
  size_t attempt_pages =
      2000;  // at most; where there are more attempts, the best, first and last of each model and problem
};

// Writes index.html, problems/, attempts/ and assets/ into `folder`, which is created if it is missing; files of the
// same name are replaced. `summary` must be that of `runs`. Error: the folder is a run's. Throws std::system_error if a
// file can't be written.
Result<void> write_site(const Summary& summary, std::span<const record::Run> runs, const SiteOptions& options,
                        const std::string& folder);

}  // namespace fb::report
