#pragma once

// How much of the PTX that real communication code uses this machine executes, from the machine's own tables.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/ptx/module.h"

namespace fb::inspect {

// The list kept in src/audit/inspect/ptx_spellings.tsv: spelling, uses, tier; lines that begin with # are comments.
std::string_view kept_spellings();

struct Spelling {
  std::string text;   // "ld.acquire.sys.global.u32"
  uint64_t uses = 0;  // in the sources it was counted in
  std::string tier;   // "T1"
  std::string form;   // "ld"; empty: not known
  bool executes = false;
};

struct TierCount {
  uint32_t done = 0, total = 0;
};

struct Coverage {
  std::vector<Spelling> spellings;  // in the list's order: most used first
  std::map<std::string, TierCount> tiers;
  uint64_t uses_done = 0, uses_total = 0;
};

Coverage measure_coverage();

std::string to_json(const Coverage& coverage);
std::string to_text(const Coverage& coverage);
// The page docs/evidence/coverage.md.
std::string to_markdown(const Coverage& coverage);

// Does the machine execute instructions spelt like this?
bool executes(std::string_view spelling, std::string* form = nullptr);

}  // namespace fb::inspect
