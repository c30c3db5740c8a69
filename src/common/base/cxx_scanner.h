#pragma once

// C++ as pieces: where comments, literals, numbers and words begin and end. No preprocessing: a `#` is a sign, and text
// in a directive is scanned like code.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fb {

struct CxxPiece {
  enum class Kind : uint8_t {
    blank,    // one or more white-space characters
    comment,  // a line comment ends before its '\n'
    literal,  // string or character, with its encoding prefix; raw strings, too
    number,   // with digit separators and suffix
    word,     // identifier or keyword
    sign,     // any other character, alone
  };
  Kind kind = Kind::sign;
  size_t begin = 0, end = 0;  // offsets

  std::string_view text(std::string_view code) const { return code.substr(begin, end - begin); }
};

// The piece that begins at `at`, which must lie in `code` and between two pieces: inside a literal the answer would be
// wrong. An unterminated comment or raw string ends with the code, any other unterminated literal with its line. An
// apostrophe right behind a word is a sign: it occurs in prose (#error, #if 0).
CxxPiece piece_at(std::string_view code, size_t at);

}  // namespace fb
