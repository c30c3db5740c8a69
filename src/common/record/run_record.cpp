#include "common/record/run_record.h"

#include <algorithm>

#include "common/record/run_record_fields.h"

namespace fb::record {

std::string to_json(const RunRecord& record) { return dump(to_json_value(record)) + "\n"; }

Result<RunRecord> parse_run_record(std::string_view text) {
  return parse_fields<RunRecord>(text, "the record of a run");
}

Checked& Checked::operator+=(const Checked& more) {
  launches += more.launches;
  kernels += more.kernels;
  library_operations += more.library_operations;
  copies += more.copies;
  accesses += more.accesses;
  card_accesses += more.card_accesses;
  ignored_errors += more.ignored_errors;
  return *this;
}

void merge(std::vector<BranchWays>& all, const std::vector<BranchWays>& more) {
  for (const BranchWays& b : more) {
    const auto same = std::ranges::find_if(all, [&](const BranchWays& a) {
      return a.ptx_line == b.ptx_line && a.function == b.function && a.text == b.text;
    });
    if (same == all.end()) {
      all.push_back(b);
    } else {
      same->jumped |= b.jumped;
      same->fell_through |= b.fell_through;
    }
  }
}

}  // namespace fb::record
