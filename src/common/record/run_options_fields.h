#pragma once

// The fields of run_options.h as JSON, each listed once (common/base/json.h). A field is added to a struct and to its
// list, and nowhere else.

#include <string_view>

#include "common/record/json_schema.h"
#include "common/record/run_options.h"

namespace fb::record {

inline bool read_name(std::string_view name, AccessMode& value) { return assign(access_mode_from(name), value); }

template <FieldsOf<RunOptions> T, class F>
void visit_fields(T& o, F&& field) {
#define RUN_OPTION(form, type, name, initial, help) \
  if constexpr (std::string_view(#form) == "seed")  \
    field(#name, as_text(o.name));                  \
  else                                              \
    field(#name, o.name);
#include "common/record/run_options.def"
}

}  // namespace fb::record
