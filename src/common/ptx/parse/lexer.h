#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/result.h"

namespace fb::ptx {

struct Token {
  enum class Kind : uint8_t {
    end,
    name,       // foo, %r1, $L__BB0_1, _
    directive,  // .reg; text holds the dot
    integer,    // value; is_unsigned when written with a U
    float32,    // value: 0f…, binary32 pattern
    float64,    // value: 0d… or 1.5, binary64 pattern
    string,     // text without the quotes
    punct,      // text is one character
    bad,        // text is what cannot be read
  };
  Kind kind = Kind::end;
  bool is_unsigned = false;
  std::string_view text;
  uint64_t value = 0;
  Location at;

  bool is(char c) const { return kind == Kind::punct && text.front() == c; }
};

// PTX text as tokens, one at a time and without allocation: tokens are views into the text.
class Lexer {
 public:
  explicit Lexer(std::string_view text);

  const Token& token() const { return token_; }
  void advance();

  // The token is the first word of an opcode: extends it over its modifiers ("ld" → "ld.global.u32").
  void extend_opcode();
  // The token is a name: extends it over a component (".x") that follows without a blank.
  void extend_component();
  // The character right after the token: tells a label ("name:") from a name before it is taken.
  bool followed_by_colon();

 private:
  void skip_blanks();
  void read_name();
  void read_directive();
  void read_number();
  void read_float_bits(size_t digits, Token::Kind kind);
  void read_decimal_float(size_t end);
  void read_string();
  void finish(Token::Kind kind, size_t length);
  void fail(size_t length);
  char peek(size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }

  std::string_view text_;
  size_t pos_ = 0;
  uint32_t line_ = 1;
  size_t line_start_ = 0;
  Token token_;
};

}  // namespace fb::ptx
