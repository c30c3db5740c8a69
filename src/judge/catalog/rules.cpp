#include "judge/catalog/rules.h"

#include <vector>

#include "common/wire/messages.h"

namespace fb::catalog {

std::span<const Rule> rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> rules;
    for (const wire::MessageTraits& m : wire::kMessages) {
      if ((m.flags & wire::message_flags::rule) != 0) rules.push_back({m.name, m.calls, m.about});
    }
    return rules;
  }();
  return all;
}

const Rule* find_rule(std::string_view kind) {
  for (const Rule& rule : rules()) {
    if (rule.kind == kind) return &rule;
  }
  return nullptr;
}

}  // namespace fb::catalog
