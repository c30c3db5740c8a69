#include "audit/mutate/operators_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "audit/mutate/edits.h"

namespace fb::mutate {
namespace {

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, word) != names.end();
}

// Names of a rank.
bool names_rank(std::string_view word) {
  constexpr std::array<std::string_view, 12> kNames = {"rank",     "rank_", "peer",    "owner",    "source", "sender",
                                                       "receiver", "next_", "before_", "partner_", "left",   "right"};
  return is_one_of(word, kNames);
}

// "peer" or "team.rank" between two brackets, or up to a comma.
bool is_rank_operand(const Code& code, Range range) {
  for (size_t i = range.first; i <= range.last; ++i) {
    const bool dot = (i - range.first) % 2 == 1;
    if (dot ? !code.is(i, ".") : !code.is_word(i)) return false;
  }
  return names_rank(code.text(range.last));
}

// Operands that choose a rank: [peer], [team.rank], at<T>(next_).
std::vector<Range> rank_operands(const Code& code, const Function& function) {
  std::vector<Range> found;
  for (size_t i = function.head.first + 1; i < function.body.tokens.last; ++i) {
    const bool memory_of = code.is(i, "(") && code.is(i - 1, ">") && code.has({i > 6 ? i - 6 : 0, i}, "at");
    if ((!code.is(i, "[") && !memory_of) || code.match(i) < i + 2) continue;
    if (const Range operand{i + 1, code.match(i) - 1}; is_rank_operand(code, operand)) found.push_back(operand);
  }
  return found;
}

bool in_one_statement(const Code& code, Range one, Range other) {
  const auto [first, last] = std::minmax(one.first, other.first);
  return !code.has({first, last}, ";") && !code.has({first, last}, "{") && !code.has({first, last}, "}");
}

bool is_operand_end(const Code& code, size_t i) {
  return code.is_word(i) || code.is_number(i) || code.is(i, ")") || code.is(i, "]");
}

// (n + 3) / 4, (n + kTile - 1) / kTile: the tokens from + to before the bracket; last 0 if `plus` is none.
Range rounding_at(const Code& code, size_t plus) {
  if (!code.is(plus, "+")) return {};
  size_t end = plus + 1;
  if (code.is_number(end) && code.is(end + 1, ")") && code.is(end + 2, "/") && !code.is(end, "1")) return {plus, end};
  if (code.is(end, "1") && code.is(end + 1, ")") && code.is(end + 2, "/")) return {plus, end};
  if (code.is_word(end) && code.is(end + 1, "-") && code.is(end + 2, "1") && code.is(end + 3, ")") &&
      code.is(end + 4, "/"))
    return {plus, end + 2};
  if (code.is_word(end) && code.is(end + 1, ")") && code.is(end + 2, "/") && code.is(end + 3, code.text(end)))
    return {plus, end};
  return {};
}

// Errors of CUDA are no chunks.
bool concerns_errors(const Code& code, Range range) {
  for (const auto* word : {"status", "cudaSuccess", "CUDA_SUCCESS", "descriptor", "throw", "static_assert"}) {
    if (code.has(range, word)) return true;
  }
  return false;
}

bool is_constant(const Code& code, size_t i) {
  const std::string_view word = code.text(i);
  return code.is_number(i) || (word.size() > 1 && word[0] == 'k' && word[1] >= 'A' && word[1] <= 'Z');
}

// Whether ranks, chunks or epochs are counted here, and not the elements of a register array.
bool counts_partners(const Code& code, Range range) {
  constexpr std::array<std::string_view, 24> kNames = {"rank",   "rank_",  "world",   "world_",   "peer",      "step",
                                                       "stage",  "chunk",  "chunks",  "piece",    "pieces",    "epoch",
                                                       "call",   "sent",   "owner",   "received", "load",      "source",
                                                       "number", "popped", "popped_", "gridDim",  "capacity_", "gap"};
  for (size_t i = range.first; i <= range.last; ++i) {
    if (is_one_of(code.text(i), kNames)) return true;
  }
  return false;
}

// 4 * quads: so many elements are in whole vectors.
bool is_whole_part(const Code& code, size_t i) {
  return code.is_number(i) && code.is(i + 1, "*") && code.is_word(i + 2) && !is_constant(code, i + 2) &&
         !code.is(i + 2, "world") && !code.is(i + 2, "static_cast");
}

// Names that stand for the place behind the last whole vector: const int64_t last = 4 * vectors + thread.
std::set<std::string_view> tail_names(const Code& code, const Function& function) {
  std::set<std::string_view> names;
  for (size_t i = function.body.tokens.first; i + 4 < function.body.tokens.last; ++i) {
    if (!code.is_word(i) || !code.is(i + 1, "=")) continue;
    for (size_t k = i + 2; !code.is(k, ";") && k + 2 < function.body.tokens.last && !code.is(k, ","); ++k) {
      if (is_whole_part(code, k)) names.insert(code.text(i));
    }
  }
  return names;
}

bool handles_tail(const Code& code, Range header, const std::set<std::string_view>& tails) {
  for (size_t i = header.first; i + 2 <= header.last; ++i) {
    if (is_whole_part(code, i)) return true;
    if (code.is_word(i) && tails.contains(code.text(i))) return true;
  }
  return false;
}

bool is_wide(std::string_view type) {
  constexpr std::array<std::string_view, 2> kTypes = {"uint4", "float4"};
  return is_one_of(type, kTypes);
}

std::string half_of(std::string_view type) { return std::string(type.substr(0, type.size() - 1)) + "2"; }

// Names that are declared as pointers to a wide type, and to which.
std::vector<std::pair<std::string_view, std::string_view>> wide_pointers(const Code& code, const Function& function) {
  std::vector<std::pair<std::string_view, std::string_view>> found;
  for (size_t i = function.head.first; i + 6 < function.body.tokens.last; ++i) {
    if (is_wide(code.text(i)) && code.is(i + 1, "*") && code.is_word(i + 2) && !(i > 0 && code.is(i - 1, "const")))
      found.emplace_back(code.text(i + 2), code.text(i));
    if (code.is(i, "auto") && code.is(i + 1, "*") && code.is(i + 3, "=") && code.is(i + 4, "reinterpret_cast") &&
        is_wide(code.text(i + 6)) && code.is(i + 7, "*"))
      found.emplace_back(code.text(i + 2), code.text(i + 6));
  }
  return found;
}

// `target[index] = value;`: the first half of the value only.
std::string half_store(std::string_view type, std::string_view target, std::string_view index, std::string_view value) {
  const std::string half = half_of(type);
  return fmt::format("reinterpret_cast<{0}*>({1})[2 * ({2})] = make_{0}(({3}).x, ({3}).y);", half, target, index,
                     value);
}

void halve_stores(const Code& code, const Function& function, std::vector<Change>& changes) {
  const auto pointers = wide_pointers(code, function);
  for_each_statement(function, [&](const Statement& statement) {
    if (statement.kind != Statement::Kind::simple || !statement.parts.empty()) return;
    const auto [first, last] = statement.tokens;
    size_t equals = first;
    while (equals < last && !code.is(equals, "=")) ++equals;
    if (equals == last || equals == first || code.is(equals + 1, "{")) return;
    const auto value = code.text(Range{equals + 1, last - 1});
    const size_t star = code.is(first, "*") ? 1 : 0, cast = first + star;
    if (code.is(cast, "reinterpret_cast") && is_wide(code.text(cast + 2)) && code.is(cast + 3, "*")) {
      const size_t open = cast + 5, close = code.match(open);
      const auto target = code.text(Range{open + 1, close - 1});
      const bool indexed = star == 0 && code.is(close + 1, "[") && code.match(close + 1) + 1 == equals;
      if (!indexed && (star == 0 || close + 1 != equals)) return;
      const auto index = indexed ? code.text(Range{close + 2, equals - 2}) : "0";
      changes.push_back({replace(code, statement.tokens, half_store(code.text(cast + 2), target, index, value))});
      return;
    }
    const auto known = std::ranges::find(pointers, code.text(first), [](const auto& pointer) { return pointer.first; });
    if (known == pointers.end() || !code.is(first + 1, "[") || code.match(first + 1) + 1 != equals) return;
    const auto index = code.text(Range{first + 2, equals - 2});
    changes.push_back({replace(code, statement.tokens, half_store(known->second, known->first, index, value))});
  });
}

// "st.global.v4.u32 [%0], {%1, %2, %3, %4};" moves the first two.
void halve_instructions(const Code& code, std::vector<Change>& changes) {
  for (size_t i = 0; i < code.size(); ++i) {
    if (code.token(i).kind != Token::Kind::text) continue;
    const std::string_view literal = code.text(i);
    const size_t four = literal.find(".v4."), open = literal.find('{'), close = literal.find('}');
    if (four == std::string_view::npos || open == std::string_view::npos || close == std::string_view::npos) continue;
    const size_t second = literal.find(',', literal.find(',', open) + 1);
    const size_t begin = code.token(i).begin;
    changes.push_back({{begin + four, 4, ".v2."}, {begin + second, close - second, ""}});
  }
}

}  // namespace

// Another rank of the same statement if it names one, which is how indices get mixed up; else the own one. The next one
// would be no mistake where all ranks are gone through.
std::vector<Change> wrong_peer(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (const auto& function : code.functions()) {
    const std::string world = world_of(code, function), own = rank_of(code, function);
    const auto operands = rank_operands(code, function);
    for (const Range& operand : operands) {
      const auto other = std::ranges::find_if(operands, [&](const Range& one) {
        return code.text(one) != code.text(operand) && in_one_statement(code, one, operand);
      });
      if (other != operands.end()) {
        changes.push_back({replace(code, operand, std::string(code.text(*other)))});
      } else if (!own.empty() && code.text(operand) != own) {
        changes.push_back({replace(code, operand, own)});
      } else if (!world.empty()) {
        changes.push_back({replace(code, operand, fmt::format("({} + 1) % {}", code.text(operand), world))});
      }
    }
  }
  return changes;
}

std::vector<Change> wrong_neighbour(const Solution& solution) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kOthers = {{{"next", "before"},
                                                                                      {"before", "next"},
                                                                                      {"left", "right"},
                                                                                      {"right", "left"},
                                                                                      {"next_", "before_"},
                                                                                      {"before_", "next_"},
                                                                                      {"mine", "next"},
                                                                                      {"theirs", "mine"},
                                                                                      {"kFrom", "kTo"},
                                                                                      {"kTo", "kFrom"}}};
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (const auto& function : code.functions()) {
    for (size_t i = function.body.tokens.first; i < function.body.tokens.last; ++i) {
      for (const auto& [from, to] : kOthers) {
        // A member or an argument, and not what is being defined; the other name is known here, too.
        const bool used = !code.is(i + 1, "=") && !code.is(i + 1, "(") && !code.is(i + 1, "{");
        bool known = false;
        for (size_t k = 0; k < code.size() && !known; ++k) known = code.is(k, to);
        if (code.is(i, from) && used && known) changes.push_back({replace(code, i, std::string(to))});
      }
    }
  }
  return changes;
}

std::vector<Change> off_by_one(const Solution& solution) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOther = {
      {{"<", "<="}, {"<=", "<"}, {">", ">="}, {">=", ">"}}};
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (const auto& function : code.functions()) {
    for_each_statement(function, [&](const Statement& statement) {
      if (statement.kind == Statement::Kind::block) return;
      const bool whole = statement.kind == Statement::Kind::simple && statement.parts.empty();
      const Range range = whole ? statement.tokens : statement.header;
      const bool partners = counts_partners(code, range), loop = statement.kind == Statement::Kind::loop;
      if (concerns_errors(code, range) || (!partners && !loop)) return;
      for (size_t i = range.first + 1; i < range.last; ++i) {
        if (!code.is_spaced(i)) continue;
        for (const auto& [from, to] : kOther) {
          if (code.is(i, from) && (partners || !is_constant(code, i + 1)))
            changes.push_back({replace(code, i, std::string(to))});
        }
        const bool one = (code.is(i, "+") || code.is(i, "-")) && code.is(i + 1, "1") && is_operand_end(code, i - 1);
        const bool rounding = rounding_at(code, i).last != 0 || (i > 2 && rounding_at(code, i - 2).last == i + 1);
        if (one && !rounding) changes.push_back({remove_tokens(code, {i, i + 1})});
        const bool begins = loop && partners && code.is(i, "=") && code.is(i + 2, ";");
        if (begins && code.is(i + 1, "0")) changes.push_back({replace(code, i + 1, "1")});
        if (begins && code.is(i + 1, "1")) changes.push_back({replace(code, i + 1, "0")});
      }
    });
  }
  return changes;
}

std::vector<Change> skip_tail(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (const auto& function : code.functions()) {
    if (!function.device) continue;
    const auto tails = tail_names(code, function);
    for_each_statement(function, [&](const Statement& statement) {
      const bool guarded = statement.kind == Statement::Kind::branch || statement.kind == Statement::Kind::loop;
      if (guarded && handles_tail(code, statement.header, tails)) changes.push_back({remove(code, statement)});
    });
  }
  return changes;
}

std::vector<Change> round_down(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (size_t i = 1; i < code.size(); ++i) {
    if (const Range range = rounding_at(code, i); range.last != 0) changes.push_back({remove_tokens(code, range)});
  }
  return changes;
}

std::vector<Change> unclipped_chunk(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  for (const auto& function : code.functions()) {
    if (!function.device) continue;
    for (size_t i = function.body.tokens.first; i < function.body.tokens.last; ++i) {
      if (!code.is(i, "min") || !code.is(i + 1, "(")) continue;
      const size_t close = code.match(i + 1);
      size_t comma = i + 2;
      while (comma < close && !code.is(comma, ",")) comma = code.match(comma) > comma ? code.match(comma) : comma + 1;
      if (comma == close) continue;
      changes.push_back({replace(code, {i, close}, fmt::format("({})", code.text(Range{i + 2, comma - 1})))});
      changes.push_back({replace(code, {i, close}, fmt::format("({})", code.text(Range{comma + 1, close - 1})))});
    }
  }
  return changes;
}

std::vector<Change> narrow_vector(const Solution& solution) {
  const Code& code = solution.code;
  std::vector<Change> changes;
  halve_instructions(code, changes);
  for (const auto& function : code.functions()) {
    if (!function.device) continue;
    halve_stores(code, function, changes);
    // The last component of a vector is forgotten.
    for_each_statement(function, [&](const Statement& statement) {
      if (statement.kind != Statement::Kind::simple) return;
      const size_t last = statement.tokens.last;
      const bool last_component = code.is(last, ";") && code.is(last - 1, "w") && code.is(last - 2, ".");
      if (last_component && code.has(statement.tokens, "+=")) changes.push_back({remove(code, statement)});
    });
  }
  return changes;
}

}  // namespace fb::mutate
