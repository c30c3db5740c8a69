#include <fmt/format.h>

#include "common/ptx/parse/module_parser.h"

namespace fb::ptx {

bool ModuleParser::fail(Location at, std::string message) {
  if (errors_.list.size() < kMaxErrors) errors_.list.push_back({at, std::move(message)});
  return false;
}

bool ModuleParser::fail_expected(std::string_view what) {
  if (token().kind == Token::Kind::end) return fail_here(fmt::format("expected {} before the end of the text", what));
  if (token().kind == Token::Kind::bad) return fail_here(fmt::format("cannot read \"{}\"", token().text));
  return fail_here(fmt::format("expected {} before \"{}\"", what, token().text));
}

bool ModuleParser::accept(char c) {
  if (!token().is(c)) return false;
  lexer_.advance();
  return true;
}

bool ModuleParser::accept_directive(std::string_view text) {
  if (!at_directive(text)) return false;
  lexer_.advance();
  return true;
}

bool ModuleParser::expect(char c) {
  if (accept(c)) return true;
  return fail_expected(std::string_view(&c, 1));
}

bool ModuleParser::take_name(std::string_view& name) {
  if (token().kind != Token::Kind::name) return fail_expected("a name");
  name = token().text;
  lexer_.advance();
  return true;
}

bool ModuleParser::take_integer(uint64_t& value, uint64_t limit, std::string_view what) {
  if (token().kind != Token::Kind::integer) return fail_expected(what);
  value = token().value;
  if (value > limit) return fail_here(fmt::format("{} is more than {}", what, limit));
  lexer_.advance();
  return true;
}

// To behind the next ';', or before a '}' (which closes something that is still open).
void ModuleParser::skip_statement() {
  int depth = 0;
  while (token().kind != Token::Kind::end) {
    if (depth == 0 && token().is('}')) return;
    if (token().is('{')) ++depth;
    if (token().is('}')) --depth;
    const bool last = depth == 0 && token().is(';');
    lexer_.advance();
    if (last) return;
  }
}

bool ModuleParser::skip_braces() {
  if (!expect('{')) return false;
  int depth = 1;
  while (depth > 0) {
    if (token().kind == Token::Kind::end) return fail_expected("}");
    if (token().is('{')) ++depth;
    if (token().is('}')) --depth;
    lexer_.advance();
  }
  return true;
}

bool ModuleParser::skip_parentheses() {
  if (!expect('(')) return false;
  int depth = 1;
  while (depth > 0) {
    if (token().kind == Token::Kind::end) return fail_expected(")");
    if (token().is('(')) ++depth;
    if (token().is(')')) --depth;
    lexer_.advance();
  }
  return true;
}

}  // namespace fb::ptx
