#include "audit/mutate/edits.h"

#include <array>

namespace fb::mutate {
namespace {

// The first mention of a number with this name: world, world_, team.world, rank.world().
std::string number_named(const Code& code, const Function& function, const std::string& name) {
  for (size_t i = function.head.first; i < function.body.tokens.last; ++i) {
    const bool object = code.is(i + 1, ".") || code.is(i + 1, "->");
    if ((!code.is(i, name) && !code.is(i, name + "_")) || object) continue;
    Range found{i, i};
    while (found.first > 1 && (code.is(found.first - 1, ".") || code.is(found.first - 1, "->"))) found.first -= 2;
    if (code.is(i + 1, "(") && code.is(i + 2, ")")) found.last += 2;
    return std::string(code.text(found));
  }
  return "";
}

}  // namespace

Edit replace(const Code& code, Range range, std::string replacement) {
  const size_t begin = code.token(range.first).begin;
  return {begin, code.token(range.last).end - begin, std::move(replacement)};
}

Edit remove(const Code& code, const Statement& statement) { return replace(code, statement.tokens, ";"); }

Edit remove_tokens(const Code& code, Range range) {
  const size_t begin = code.token(range.first - 1).end;
  return {begin, code.token(range.last).end - begin, ""};
}

Edit exchange(const Code& code, const Statement& one, const Statement& next) {
  const size_t end = code.token(one.tokens.last).end, begin = code.token(next.tokens.first).begin;
  std::string text(code.text(next.tokens));
  text.append(code.source().substr(end, begin - end)).append(code.text(one.tokens));
  return replace(code, {one.tokens.first, next.tokens.last}, std::move(text));
}

std::string world_of(const Code& code, const Function& function) { return number_named(code, function, "world"); }
std::string rank_of(const Code& code, const Function& function) { return number_named(code, function, "rank"); }

std::vector<AtomicUse> atomic_uses(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<AtomicUse> found;
  for (size_t dot = 2; dot + 2 < code.size(); ++dot) {
    bool known = false;
    for (const auto* name : {"load", "store", "fetch_add", "fetch_max"})
      known |= solution.synchronization.is_atomic_call(dot + 1, name);
    if (!known || !code.is(dot - 1, ")")) continue;
    const size_t open = code.match(dot - 1), close = code.match(dot + 2);
    if (open == 0 || open + 1 > dot - 2 || close == dot + 3) continue;
    size_t type = open - 1;
    if (code.is(type, ">")) {  // Shared<uint32_t>(…)
      while (type > 0 && !code.is(type, "<")) --type;
      if (type > 0) --type;
    }
    if (!code.is_word(type)) continue;
    found.push_back({{type, close}, {open + 1, dot - 2}, {dot + 3, close - 1}, code.text(dot + 1)});
  }
  return found;
}

}  // namespace fb::mutate
