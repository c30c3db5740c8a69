#pragma once

// The fields of profile.h as JSON, each listed once (common/base/json.h). A field is added to a struct and to its list,
// and nowhere else.

#include "common/record/json_schema.h"
#include "common/record/profile.h"

namespace fb::record {

template <FieldsOf<ProfileEntry> T, class F>
void visit_fields(T& e, F&& field) {
  field("file", e.file);
  field("line", e.line);
  field("cause", e.cause);
  field("nanoseconds", e.nanoseconds);
}

template <FieldsOf<KernelProfile> T, class F>
void visit_fields(T& k, F&& field) {
  field("kernel", k.kernel);
  field("launches", k.launches);
  field("warps", k.warps);
  field("longest_ns", k.longest_ns);
  field("device", k.device);
  field("block", k.block);
  field("warp", k.warp);
  field("threads", k.threads);
  field("registers", k.registers);
  field("blocks_at_once", k.blocks_at_once);
  field("critical", k.critical);
  field("all", k.all);
}

template <FieldsOf<Profile> T, class F>
void visit_fields(T& p, F&& field) {
  field("kernels", p.kernels);
}

}  // namespace fb::record
