#include "race/report_rules.h"

#include "base/check.h"

namespace fb::race {

std::string_view name_of(RaceClass c) {
  switch (c) {
    case RaceClass::write_read:
      return "unordered write/read";
    case RaceClass::read_write:
      return "unordered read/write";
    case RaceClass::write_write:
      return "unordered write/write";
    case RaceClass::not_released:
      return "published without release";
    case RaceClass::not_acquired:
      return "read without acquire";
    case RaceClass::narrow_scope:
      return "scope too narrow";
    case RaceClass::foreign_fence:
      return "fence by another thread than the stores";
    case RaceClass::mixed_size:
      return "mixed-size flag access";
    case RaceClass::reused_early:
      return "buffer reused too early (missing exit barrier)";
    case RaceClass::proxy_crossed:
      return "proxy crossed without fence";
    case RaceClass::not_atomic:
      return "non-atomic update";
    case RaceClass::in_one_warp:
      return "intra-warp conflict";
    case RaceClass::in_band_flag:
      return "in-band flag";
  }
  return "?";
}

std::string_view name_of(Scope scope) {
  switch (scope) {
    case Scope::cta:
      return "block";
    case Scope::cluster:
      return "cluster";
    case Scope::gpu:
      return "device";
    case Scope::sys:
      return "system";
    case Scope::none:
      return "no";
  }
  return "?";
}

std::string_view fence_of(Scope scope) {
  if (scope == Scope::cta) return "__threadfence_block()";
  return scope == Scope::gpu ? "__threadfence()" : "__threadfence_system()";
}

std::string_view suffix_of(Scope scope) {
  if (scope == Scope::cta) return "cta";
  return scope == Scope::gpu ? "gpu" : "sys";
}

const ReportRule& first_rule(const RaceFacts& f) {
  for (const auto& rules : {rules_of_accesses(), rules_of_flags(), rules_of_order()}) {
    for (const ReportRule& rule : rules) {
      if (rule.applies(f)) return rule;
    }
  }
  FB_CHECK(false);
}

RaceClass class_of(const ReportRule& rule, const RaceFacts& f) {
  if (rule.kind) return *rule.kind;
  if (!f.later.writes()) return RaceClass::write_read;
  return f.earlier.writes() ? RaceClass::write_write : RaceClass::read_write;
}

}  // namespace fb::race
