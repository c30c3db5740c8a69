#include "virtual_node/race/report/report_rules.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "common/base/check.h"

namespace fb::race {

namespace {

struct ClassNames {
  RaceClass kind;
  std::string_view name, id;
};
constexpr std::array kClasses = {
    ClassNames{RaceClass::write_read, "unordered write/read", "unordered"},
    ClassNames{RaceClass::read_write, "unordered read/write", "unordered"},
    ClassNames{RaceClass::write_write, "unordered write/write", "unordered"},
    ClassNames{RaceClass::not_released, "published without release", "not-released"},
    ClassNames{RaceClass::not_acquired, "read without acquire", "not-acquired"},
    ClassNames{RaceClass::narrow_scope, "scope too narrow", "narrow-scope"},
    ClassNames{RaceClass::foreign_fence, "fence by another thread than the stores", "foreign-fence"},
    ClassNames{RaceClass::mixed_size, "mixed-size flag access", "mixed-size"},
    ClassNames{RaceClass::reused_early, "buffer reused too early (missing exit barrier)", "reused-early"},
    ClassNames{RaceClass::proxy_crossed, "proxy crossed without fence", "proxy-crossed"},
    ClassNames{RaceClass::not_atomic, "non-atomic update", "not-atomic"},
    ClassNames{RaceClass::in_one_warp, "intra-warp conflict", "intra-warp"},
    ClassNames{RaceClass::in_band_flag, "in-band flag", "in-band-flag"},
};
constexpr bool in_order() {
  for (size_t k = 0; k < kClasses.size(); ++k) {
    if (static_cast<size_t>(kClasses[k].kind) != k) return false;
  }
  return kClasses.back().kind == RaceClass::in_band_flag;
}
static_assert(in_order());

}  // namespace

std::string_view name_of(RaceClass c) { return kClasses[static_cast<size_t>(c)].name; }
std::string_view id_of(RaceClass c) { return kClasses[static_cast<size_t>(c)].id; }

std::vector<std::string_view> all_ids() {
  std::vector<std::string_view> ids = {kSameValueId, kUninitialisedId};
  for (const ClassNames& row : kClasses) {
    if (std::ranges::find(ids, row.id) == ids.end()) ids.push_back(row.id);
  }
  return ids;
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
  for (const auto& rules : {rules_of_cards(), rules_of_accesses(), rules_of_flags(), rules_of_order()}) {
    for (const ReportRule& rule : rules) {
      if (rule.applies(f)) return rule;
    }
  }
  FB_CHECK(false);
}

bool is_of_flag(const ReportRule& rule) {
  const auto rules = rules_of_flags();
  return std::ranges::any_of(rules, [&](const ReportRule& of_flag) { return &of_flag == &rule; });
}

RaceClass class_of(const ReportRule& rule, const RaceFacts& f) {
  if (rule.kind) return *rule.kind;
  if (!f.later.writes()) return RaceClass::write_read;
  return f.earlier.writes() ? RaceClass::write_write : RaceClass::read_write;
}

}  // namespace fb::race
