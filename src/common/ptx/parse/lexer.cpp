#include "common/ptx/parse/lexer.h"

#include <array>
#include <bit>
#include <charconv>

namespace fb::ptx {
namespace {

enum CharClass : uint8_t { kNameStart = 1, kNameChar = 2, kDigit = 4, kHexDigit = 8 };

constexpr auto kClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    const bool lower = c >= 'a' && c <= 'z';
    const bool upper = c >= 'A' && c <= 'Z';
    const bool digit = c >= '0' && c <= '9';
    const bool sign = c == '_' || c == '$' || c == '%';
    uint8_t bits = 0;
    if (lower || upper || sign) bits |= kNameStart;
    if (lower || upper || digit || c == '_' || c == '$') bits |= kNameChar;
    if (digit) bits |= kDigit | kHexDigit;
    if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) bits |= kHexDigit;
    classes[static_cast<size_t>(c)] = bits;
  }
  return classes;
}();

bool is(char c, CharClass which) { return kClasses[static_cast<unsigned char>(c)] & which; }

}  // namespace

Lexer::Lexer(std::string_view text) : text_(text) { advance(); }

void Lexer::skip_blanks() {
  while (pos_ < text_.size()) {
    const char c = text_[pos_];
    if (c == '\n') {
      ++pos_;
      ++line_;
      line_start_ = pos_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++pos_;
    } else if (c == '/' && peek(1) == '/') {
      const auto end = text_.find('\n', pos_);
      pos_ = end == std::string_view::npos ? text_.size() : end;
    } else if (c == '/' && peek(1) == '*') {
      auto end = text_.find("*/", pos_ + 2);
      end = end == std::string_view::npos ? text_.size() : end + 2;
      for (; pos_ < end; ++pos_) {
        if (text_[pos_] == '\n') {
          ++line_;
          line_start_ = pos_ + 1;
        }
      }
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blanks();
  token_ = {};
  token_.at = {line_, static_cast<uint32_t>(pos_ - line_start_ + 1)};
  if (pos_ >= text_.size()) return;
  const char c = text_[pos_];
  if (is(c, kNameStart)) return read_name();
  if (is(c, kDigit)) return read_number();
  if (c == '.') return read_directive();
  if (c == '"') return read_string();
  constexpr std::string_view kPunctuation = ",;:[](){}<>=+-*/%!~@|&^?#";
  if (kPunctuation.find(c) == std::string_view::npos) return fail(1);
  finish(Token::Kind::punct, 1);
}

void Lexer::finish(Token::Kind kind, size_t length) {
  token_.kind = kind;
  token_.text = text_.substr(pos_, length);
  pos_ += length;
}

void Lexer::fail(size_t length) { finish(Token::Kind::bad, length); }

void Lexer::read_name() {
  size_t n = 1;
  while (is(peek(n), kNameChar)) ++n;
  // A lone % is the remainder operator of constant expressions.
  finish(n == 1 && peek() == '%' ? Token::Kind::punct : Token::Kind::name, n);
}

void Lexer::read_directive() {
  size_t n = 1;
  while (true) {
    if (is(peek(n), kNameChar)) {
      n += 1;
    } else if (peek(n) == ':' && peek(n + 1) == ':') {
      n += 2;
    } else {
      break;
    }
  }
  if (n == 1) return fail(1);
  finish(Token::Kind::directive, n);
}

void Lexer::read_string() {
  size_t n = 1;
  while (pos_ + n < text_.size() && peek(n) != '"' && peek(n) != '\n') n += peek(n) == '\\' ? 2 : 1;
  if (peek(n) != '"') return fail(1);
  token_.kind = Token::Kind::string;
  token_.text = text_.substr(pos_ + 1, n - 1);
  pos_ += n + 1;
}

// 0f3F800000, 0d3FF0000000000000: the bits of a float.
void Lexer::read_float_bits(size_t digits, Token::Kind kind) {
  size_t n = 2;
  while (is(peek(n), kNameChar)) ++n;
  const char* first = text_.data() + pos_ + 2;
  const auto [end, code] = std::from_chars(first, first + (n - 2), token_.value, 16);
  if (n != 2 + digits || code != std::errc() || end != first + digits) return fail(n);
  finish(kind, n);
}

void Lexer::read_decimal_float(size_t end) {
  double value = 0;
  const char* first = text_.data() + pos_;
  const auto [last, code] = std::from_chars(first, first + end, value);
  if (code != std::errc() || last != first + end) return fail(end);
  token_.value = std::bit_cast<uint64_t>(value);
  finish(Token::Kind::float64, end);
}

void Lexer::read_number() {
  const char second = peek(1);
  if (peek() == '0' && (second == 'f' || second == 'F')) return read_float_bits(8, Token::Kind::float32);
  if (peek() == '0' && (second == 'd' || second == 'D')) return read_float_bits(16, Token::Kind::float64);

  size_t n = 0;
  while (is(peek(n), kNameChar)) ++n;
  int base = 10;
  size_t prefix = 0;
  if (peek() == '0' && (second == 'x' || second == 'X')) {
    base = 16;
    prefix = 2;
  } else if (peek() == '0' && (second == 'b' || second == 'B')) {
    base = 2;
    prefix = 2;
  } else {
    size_t digits = 0;
    while (is(peek(digits), kDigit)) ++digits;
    size_t end = digits;
    if (peek(end) == '.') {
      ++end;
      while (is(peek(end), kDigit)) ++end;
    }
    if (peek(end) == 'e' || peek(end) == 'E') {
      const size_t sign = peek(end + 1) == '+' || peek(end + 1) == '-' ? 1 : 0;
      if (is(peek(end + 1 + sign), kDigit)) {
        end += 1 + sign;
        while (is(peek(end), kDigit)) ++end;
      }
    }
    if (end != digits) {
      if (is(peek(end), kNameChar)) return fail(end + 1);
      return read_decimal_float(end);
    }
    if (peek() == '0' && digits > 1) {
      base = 8;
      prefix = 1;
    }
  }
  const bool is_unsigned = n > prefix && peek(n - 1) == 'U';
  const char* first = text_.data() + pos_ + prefix;
  const char* last = text_.data() + pos_ + n - (is_unsigned ? 1 : 0);
  const auto [end, code] = std::from_chars(first, last, token_.value, base);
  if (code != std::errc() || end != last) return fail(n);
  token_.is_unsigned = is_unsigned;
  finish(Token::Kind::integer, n);
}

void Lexer::extend_opcode() {
  const size_t start = pos_ - token_.text.size();
  while (pos_ < text_.size()) {
    if (peek() == '.' && is(peek(1), kNameChar)) {
      ++pos_;
    } else if (peek() == ':' && peek(1) == ':' && is(peek(2), kNameChar)) {
      pos_ += 2;
    } else {
      break;
    }
    while (is(peek(), kNameChar)) ++pos_;
  }
  token_.text = text_.substr(start, pos_ - start);
}

void Lexer::extend_component() {
  if (peek() != '.' || !is(peek(1), kNameStart)) return;
  const size_t start = pos_ - token_.text.size();
  ++pos_;
  while (is(peek(), kNameChar)) ++pos_;
  token_.text = text_.substr(start, pos_ - start);
}

bool Lexer::followed_by_colon() {
  if (peek() != ':' && peek() != ' ' && peek() != '\t') return false;
  size_t ahead = 0;
  while (peek(ahead) == ' ' || peek(ahead) == '\t') ++ahead;
  return peek(ahead) == ':' && peek(ahead + 1) != ':';
}

}  // namespace fb::ptx
