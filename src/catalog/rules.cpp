#include "catalog/rules.h"

#include <array>

namespace fb::catalog {
namespace {

constexpr auto kRules = std::to_array<Rule>({
#define RULE(kind, words, about) {#kind, words, about},
#include "catalog/rules.def"
#undef RULE
});

}  // namespace

std::span<const Rule> rules() { return kRules; }

const Rule* find_rule(std::string_view kind) {
  for (const Rule& rule : kRules) {
    if (rule.kind == kind) return &rule;
  }
  return nullptr;
}

}  // namespace fb::catalog
