#pragma once

// Kinds of requests that a problem may forbid in run(): the rows of common/wire/messages.def with the flag `rule`.

#include <span>
#include <string_view>

namespace fb::catalog {

struct Rule {
  std::string_view kind;   // as problem.toml and the machine's log of calls name it
  std::string_view words;  // CUDA's names for it, or their prefixes, separated by blanks
  std::string_view about;  // what is forbidden, for the complaint about a statement
};

std::span<const Rule> rules();
const Rule* find_rule(std::string_view kind);

}  // namespace fb::catalog
