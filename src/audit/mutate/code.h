#pragma once

// CUDA C++ as operators see it: tokens, pairs of brackets, functions and their statements. No more is understood than
// that: names have no types here. The text is one that clang-format has laid out, so a `<` between blanks compares.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fb::mutate {

struct Token {
  enum class Kind : uint8_t { word, number, text, sign, directive };  // text: a literal in quotes
  Kind kind = Kind::sign;
  size_t begin = 0, end = 0;  // offsets
};

// Numbers of tokens, both ends included.
struct Range {
  size_t first = 0, last = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

struct Statement {
  enum class Kind : uint8_t { simple, block, branch, loop };
  Kind kind = Kind::simple;
  Range tokens = {};
  Range header = {};  // the brackets of an if, for or while
  // A block's statements, in order; else what is inside: bodies, and of a simple statement the bodies of lambdas.
  std::vector<Statement> parts = {};
};

struct Function {
  std::string_view name = {};
  Range head = {};  // up to the body
  bool device = false, kernel = false;
  Statement body = {};
};

class Code {
 public:
  // `source` must outlive this. Only what lies in [begin, end) is looked at.
  Code(std::string_view source, size_t begin, size_t end);
  explicit Code(std::string_view source) : Code(source, 0, source.size()) {}

  std::string_view source() const { return source_; }
  size_t size() const { return tokens_.size(); }
  const Token& token(size_t i) const { return tokens_[i]; }
  // Empty behind the end.
  std::string_view text(size_t i) const;
  std::string_view text(Range range) const;
  bool is(size_t i, std::string_view text) const { return this->text(i) == text; }
  bool is_word(size_t i) const { return i < size() && tokens_[i].kind == Token::Kind::word; }
  bool is_number(size_t i) const { return i < size() && tokens_[i].kind == Token::Kind::number; }
  // Whether blanks stand on both sides: an operator between two operands.
  bool is_spaced(size_t i) const;
  // The other bracket of a pair; `i` itself where there is none.
  size_t match(size_t i) const { return match_[i]; }
  // Whether `word` stands in the range.
  bool has(Range range, std::string_view word) const;

  const std::vector<Function>& functions() const { return functions_; }

 private:
  void tokenize(size_t begin, size_t end);
  void pair_brackets();
  void find_functions();
  Function read_function(size_t start, size_t open);
  Statement read_statement(size_t at, size_t end) const;
  Statement read_block(size_t open) const;
  Statement read_simple(size_t at, size_t end) const;

  std::string_view source_;
  std::vector<Token> tokens_;
  std::vector<size_t> match_;
  std::vector<Function> functions_;
};

// All statements of a function, outer ones first.
void for_each_statement(const Function& function, const std::function<void(const Statement&)>& visit);
// All statements that follow each other in one block.
void for_each_sequence(const Function& function, const std::function<void(const std::vector<Statement>&)>& visit);

}  // namespace fb::mutate
