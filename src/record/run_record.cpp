#include "record/run_record.h"

#include "record/json_fields.h"

namespace fb::record {

std::string to_json(const RunRecord& record) { return dump(to_json_value(record)) + "\n"; }

Result<RunRecord> parse_run_record(std::string_view text) {
  return parse_fields<RunRecord>(text, "the record of a run");
}

}  // namespace fb::record
