#include "audit/mutate/code.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "common/base/cxx_scanner.h"

namespace fb::mutate {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

constexpr std::array<std::string_view, 25> kLongSigns = {"<<<", ">>>", "<<=", ">>=", "->", "++", "--", "<<", ">>",
                                                         "<=",  ">=",  "==",  "!=",  "&&", "||", "+=", "-=", "*=",
                                                         "/=",  "%=",  "|=",  "&=",  "^=", "::", "..."};

// The end of a preprocessor directive; a backslash continues its line.
size_t skip_directive(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] != '\n' || text[at - 1] == '\\')) ++at;
  return at;
}

// Nothing for blanks and comments, whose end is stored in `at` as that of a token is.
std::optional<Token> read_token(std::string_view text, size_t& at) {
  using Kind = Token::Kind;
  const CxxPiece piece = piece_at(text, at);
  Token token{Kind::sign, piece.begin, piece.end};
  switch (piece.kind) {
    case CxxPiece::Kind::blank:
    case CxxPiece::Kind::comment:
      at = piece.end;
      return std::nullopt;
    case CxxPiece::Kind::literal:
      token.kind = Kind::text;
      break;
    case CxxPiece::Kind::number:
      token.kind = Kind::number;
      break;
    case CxxPiece::Kind::word:
      token.kind = Kind::word;
      break;
    case CxxPiece::Kind::sign:
      if (text[at] == '#') {
        token = {Kind::directive, at, skip_directive(text, at)};
        break;
      }
      for (const auto sign : kLongSigns) {
        if (!text.substr(at).starts_with(sign)) continue;
        token.end = at + sign.size();
        break;
      }
      break;
  }
  at = token.end;
  return token;
}

void visit_statements(const Statement& statement, const std::function<void(const Statement&)>& visit) {
  visit(statement);
  for (const auto& part : statement.parts) visit_statements(part, visit);
}

}  // namespace

Code::Code(std::string_view source, size_t begin, size_t end) : source_(source) {
  tokenize(begin, end);
  pair_brackets();
  find_functions();
}

std::string_view Code::text(size_t i) const {
  if (i >= size()) return {};
  return source_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
}

std::string_view Code::text(Range range) const {
  return source_.substr(tokens_[range.first].begin, tokens_[range.last].end - tokens_[range.first].begin);
}

bool Code::is_spaced(size_t i) const {
  const auto& [kind, begin, end] = tokens_[i];
  return begin > 0 && end < source_.size() && is_blank(source_[begin - 1]) && is_blank(source_[end]);
}

bool Code::has(Range range, std::string_view word) const {
  for (size_t i = range.first; i <= range.last; ++i) {
    if (is(i, word)) return true;
  }
  return false;
}

void Code::tokenize(size_t begin, size_t end) {
  for (size_t at = begin; at < end;) {
    if (const auto token = read_token(source_.substr(0, end), at)) tokens_.push_back(*token);
  }
}

void Code::pair_brackets() {
  match_.resize(size());
  std::vector<size_t> open;
  for (size_t i = 0; i < size(); ++i) {
    match_[i] = i;
    if (tokens_[i].kind != Token::Kind::sign) continue;
    if (is(i, "(") || is(i, "[") || is(i, "{")) open.push_back(i);
    if ((is(i, ")") || is(i, "]") || is(i, "}")) && !open.empty()) {
      match_[i] = open.back();
      match_[open.back()] = i;
      open.pop_back();
    }
  }
}

// Looks at the braces outside of functions: bodies of functions, of classes, and lists of values.
void Code::find_functions() {
  size_t start = 0;  // of the declaration
  for (size_t i = 0; i < size(); ++i) {
    if (is(i, ";") || is(i, "}") || tokens_[i].kind == Token::Kind::directive) start = i + 1;
    if (!is(i, "{")) continue;
    const Range declaration{start, i};
    const bool behind_parameters = i > start && (is(i - 1, ")") || is(i - 1, "const") || is(i - 1, "noexcept"));
    const bool behind_members = i > start && is(i - 1, "}") && has(declaration, "(");
    if (behind_parameters || behind_members) {
      functions_.push_back(read_function(start, i));
      i = match_[i];
      start = i + 1;
    } else if (has(declaration, "class") || has(declaration, "struct") || has(declaration, "namespace")) {
      start = i + 1;
    } else {
      i = match_[i];
    }
  }
}

Function Code::read_function(size_t start, size_t open) {
  Function found{.head = {start, open - 1}, .body = read_block(open)};
  found.kernel = has(found.head, "__global__");
  found.device = found.kernel || has(found.head, "__device__");
  for (size_t i = start; i + 1 < open; ++i) {
    if (!is_word(i) || !is(i + 1, "(")) continue;
    if (is(i, "__launch_bounds__") || is(i, "__cluster_dims__") || is(i, "alignas")) continue;
    found.name = text(i);
    break;
  }
  return found;
}

Statement Code::read_block(size_t open) const {
  Statement block{.kind = Statement::Kind::block, .tokens = {open, match_[open]}};
  for (size_t at = open + 1; at < match_[open];) {
    block.parts.push_back(read_statement(at, match_[open]));
    at = block.parts.back().tokens.last + 1;
  }
  return block;
}

Statement Code::read_statement(size_t at, size_t end) const {
  const size_t first = at;
  while (at + 1 < end && tokens_[at].kind == Token::Kind::directive) ++at;
  Statement found{.tokens = {first, at}};
  const auto add_part = [&](size_t from) {
    found.parts.push_back(read_statement(from, end));
    found.tokens.last = found.parts.back().tokens.last;
  };
  if (is(at, "{")) {
    found = read_block(at);
  } else if (is(at, "if") || is(at, "for") || is(at, "while")) {
    found.kind = is(at, "if") ? Statement::Kind::branch : Statement::Kind::loop;
    const size_t open = is(at + 1, "constexpr") ? at + 2 : at + 1;
    found.header = {open, match_[open]};
    add_part(match_[open] + 1);
    if (found.kind == Statement::Kind::branch && is(found.tokens.last + 1, "else")) add_part(found.tokens.last + 2);
  } else if (is(at, "do")) {
    found.kind = Statement::Kind::loop;
    add_part(at + 1);
    const size_t open = found.tokens.last + 2;
    found.header = {open, match_[open]};
    found.tokens.last = match_[open] + 1;
  } else {
    found = read_simple(at, end);
  }
  found.tokens.first = first;
  return found;
}

Statement Code::read_simple(size_t at, size_t end) const {
  Statement found{.tokens = {at, at}};
  size_t inside = 0;  // brackets whose end is known are jumped over for the `;`, but lambdas are looked for in them
  for (size_t i = at; i < end; ++i) {
    found.tokens.last = i;
    if (is(i, ";") && i >= inside) break;
    if (is(i, "(") || is(i, "[") || is(i, "{")) inside = std::max(inside, match_[i]);
    if (!is(i, "{")) continue;
    const bool lambda = is(i - 1, "]") || (is(i - 1, ")") && match_[i - 1] > 0 && is(match_[i - 1] - 1, "]"));
    if (!lambda) continue;
    found.parts.push_back(read_block(i));
    i = match_[i];
  }
  return found;
}

void for_each_statement(const Function& function, const std::function<void(const Statement&)>& visit) {
  visit_statements(function.body, visit);
}

void for_each_sequence(const Function& function, const std::function<void(const std::vector<Statement>&)>& visit) {
  for_each_statement(function, [&](const Statement& statement) {
    if (statement.kind == Statement::Kind::block) visit(statement.parts);
  });
}

}  // namespace fb::mutate
