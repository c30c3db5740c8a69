#include "toolchain/source/asm_escapes.h"

#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

#include "toolchain/device/text_edits.h"

namespace fb::toolchain {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// One asm statement: its literals before the first colon, and its operands.
struct AsmStatement {
  std::vector<CxxPiece> pieces = {};
  bool has_operands = false;                // a colon: the compiler looks for operands in the text
  std::optional<size_t> operands = 0;       // none: unknown, since a macro stands among them
  std::vector<size_t> missing_commas = {};  // offsets
  size_t end = 0;                           // token behind it
};

// The rest of an asm statement, from its "(".
AsmStatement read_asm(const Tokens& tokens, size_t open) {
  AsmStatement found;
  int depth = 0, colons = 0;
  bool behind_operand = false, in_brackets = false;
  size_t k = open;
  for (; k < tokens.size(); ++k) {
    const bool in_list = depth == 1 && (colons == 1 || colons == 2);
    if (in_list && behind_operand && (tokens.is_literal(k) || tokens.is(k, "[")))
      found.missing_commas.push_back(tokens[k].begin);
    if (in_list && tokens.is(k, "(") && found.operands) ++*found.operands;
    if (in_list && tokens.is(k, "[")) in_brackets = true;
    if (in_list && tokens.is_word(k) && !in_brackets) found.operands.reset();
    if (in_list && tokens.is(k, "]")) in_brackets = false;
    behind_operand = false;
    if (tokens.is_literal(k) && colons == 0) found.pieces.push_back(tokens[k]);
    if (tokens.is(k, ":") && depth == 1) ++colons;
    if (tokens.is(k, "(")) ++depth;
    if (tokens.is(k, ")")) {
      if (--depth == 0) break;
      behind_operand = depth == 1;
    }
  }
  found.has_operands = colons > 0 && k < tokens.size();
  found.end = k;
  return found;
}

// Whether nvcc takes the % before `rest` as it stands: before a name, and, in a template that is never instantiated,
// before the number of an operand that does not exist. A letter with a number is a modifier with its operand, to both.
bool is_plain(std::string_view rest, const std::optional<size_t>& operands) {
  size_t length = 0;
  while (length < rest.size() && in_name(rest[length])) ++length;
  const std::string_view name = rest.substr(0, length);
  if (name.empty()) return false;
  if (is_digit(name[0])) {
    size_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    return operands && number >= *operands;
  }
  return name.size() == 1 || name.find_first_not_of("0123456789", 1) != std::string_view::npos;
}

void double_percents(std::string_view source, const AsmStatement& statement, std::vector<TextEdit>& edits) {
  for (const CxxPiece& piece : statement.pieces) {
    for (size_t i = piece.begin; i < piece.end; ++i) {
      if (source[i] != '%') continue;
      if (i + 1 < piece.end && source[i + 1] == '%')
        ++i;
      else if (is_plain(source.substr(i + 1, piece.end - i - 1), statement.operands))
        edits.push_back({i, 0, "%"});
    }
  }
}

}  // namespace

std::string escape_asm(std::string_view source) {
  std::vector<TextEdit> edits;
  const Tokens tokens(source);
  for (size_t k = 0; k < tokens.size(); ++k) {
    if (!tokens.is(k, "asm") && !tokens.is(k, "__asm__") && !tokens.is(k, "__asm")) continue;
    while (tokens.is_word(k)) ++k;  // volatile, inline, goto
    if (!tokens.is(k, "(")) continue;
    const AsmStatement statement = read_asm(tokens, k);
    k = statement.end;
    if (!statement.has_operands) continue;  // the compiler takes the text as it stands
    double_percents(source, statement, edits);
    for (const size_t at : statement.missing_commas) edits.push_back({at, 0, ","});
  }
  return apply_edits(source, edits);
}

}  // namespace fb::toolchain
