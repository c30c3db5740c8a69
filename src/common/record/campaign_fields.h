#pragma once

// The fields of campaign.h as JSON, each listed once (common/base/json.h). A field is added to a struct and to its
// list, and nowhere else.

#include "common/record/attempt_fields.h"
#include "common/record/campaign.h"

namespace fb::record {

template <FieldsOf<CampaignPlan> T, class F>
void visit_fields(T& p, F&& field) {
  schema_field<T>(field);
  field("name", p.name);
  field("created", p.created);
  field("models", p.models, kRequired);
  field("problems", p.problems, kRequired);
  field("pack", p.pack);
  field("pack_version", p.pack_version);
  field("samples", p.samples);
  field("rounds", p.rounds);
  field("speed_rounds", p.speed_rounds);
  field("prompt", p.prompt);
  field("thoroughness", p.thoroughness);
  field("backend", p.backend);
  field("platform", p.platform);
  field("device_compiler", p.device_compiler);
  field("seed", as_text(p.seed));
  field("max_usd", p.max_usd);
  field("calls", p.calls);
  field("calls_per_minute", p.calls_per_minute);
  field("use_cache", p.use_cache);
  field("use_sandbox", p.use_sandbox);
  field("version", p.version);
}

}  // namespace fb::record
