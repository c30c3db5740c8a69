#pragma once

// Edits in terms of tokens and statements.

#include <string>

#include "audit/mutate/change.h"

namespace fb::mutate {

Edit replace(const Code& code, Range range, std::string replacement);
inline Edit replace(const Code& code, size_t token, std::string replacement) {
  return replace(code, Range{token, token}, std::move(replacement));
}
Edit remove(const Code& code, const Statement& statement);
// The blanks before them go, too.
Edit remove_tokens(const Code& code, Range range);
Edit exchange(const Code& code, const Statement& one, const Statement& next);

// How this function writes the number of ranks; empty: it does not know it.
std::string world_of(const Code& code, const Function& function);
// And its own rank.
std::string rank_of(const Code& code, const Function& function);

// An atomic made and used at once: Flag(object).store(value, order), or Shared<T>(object)….
struct AtomicUse {
  Range whole = {};   // from the type to the end of the call
  Range object = {};  // what is in its brackets
  Range arguments = {};
  std::string_view operation = {};
};
std::vector<AtomicUse> atomic_uses(const Solution& solution);

}  // namespace fb::mutate
