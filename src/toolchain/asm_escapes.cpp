#include "toolchain/asm_escapes.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

namespace fb::toolchain {
namespace {

// Names without the % and the component: "tid", "laneid", …
const std::set<std::string_view>& special_registers() {
  static const std::set<std::string_view> names = [] {
    std::set<std::string_view> set;
    for (std::string_view spelling : {
#define SREG(id, spelling, type) std::string_view(spelling),
#include "ptx/special_regs.def"
#undef SREG
         }) {
      spelling.remove_prefix(1);
      set.insert(spelling.substr(0, spelling.find('.')));
    }
    return set;
  }();
  return names;
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Walks over C++ text. Every skip_* expects to stand at the beginning of what it skips.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool done() const { return at_ >= text_.size(); }
  size_t at() const { return at_; }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void step(size_t by = 1) { at_ = std::min(at_ + by, text_.size()); }

  bool skip_comment() {
    if (peek() != '/') return false;
    if (peek(1) == '/') return skip_to("\n");
    if (peek(1) == '*') return skip_to("*/");
    return false;
  }
  void skip_blank() {
    while (!done() && (std::isspace(static_cast<unsigned char>(peek())) != 0 || peek() == '\\')) step();
  }
  void skip_blank_and_comments() {
    do skip_blank();
    while (skip_comment());
  }
  std::string_view take_name() {
    const size_t begin = at_;
    while (!done() && in_name(peek())) step();
    return text_.substr(begin, at_ - begin);
  }
  bool skip_raw_string() {
    if (peek() != '"') return false;
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return false;
    const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    at_ = open;
    return skip_to(close);
  }
  // A string or a character. An end of line ends it as well: apostrophes stand in prose of #error and #if 0, too.
  void skip_literal() {
    const char quote = peek();
    step();
    while (!done() && peek() != quote && peek() != '\n') step(peek() == '\\' ? 2 : 1);
    step();
  }

 private:
  bool skip_to(std::string_view end) {
    const size_t found = text_.find(end, at_ + 1);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

bool is_raw_prefix(std::string_view name) {
  return name == "R" || name == "u8R" || name == "uR" || name == "UR" || name == "LR";
}

// Adds the places of % that must be doubled, within one literal.
void find_registers(std::string_view text, size_t begin, size_t end, std::vector<size_t>& places) {
  for (size_t i = begin; i < end; ++i) {
    if (text[i] != '%') continue;
    if (i + 1 < end && text[i + 1] == '%') {
      ++i;
      continue;
    }
    size_t last = i + 1;
    while (last < end && in_name(text[last])) ++last;
    if (special_registers().contains(text.substr(i + 1, last - i - 1))) places.push_back(i);
  }
}

// The rest of an asm statement, from its "(".
void scan_asm(std::string_view text, Scanner& scanner, std::vector<size_t>& places) {
  std::vector<size_t> found;
  bool operands = false;
  for (int depth = 0; !scanner.done();) {
    const size_t begin = scanner.at();
    if (scanner.skip_comment()) continue;
    const char c = scanner.peek();
    if (in_name(c)) {
      if (is_raw_prefix(scanner.take_name()) && scanner.skip_raw_string() && !operands) {
        find_registers(text, begin, scanner.at(), found);
      }
      continue;
    }
    if (c == '"' || c == '\'') {
      scanner.skip_literal();
      if (!operands) find_registers(text, begin, scanner.at(), found);
      continue;
    }
    if (c == ':' && depth == 1) operands = true;
    if (c == '(') ++depth;
    scanner.step();
    if (c == ')' && --depth == 0) break;
  }
  // Without operands the string is taken as it stands.
  if (operands) places.insert(places.end(), found.begin(), found.end());
}

}  // namespace

std::string escape_special_registers(std::string_view source) {
  std::vector<size_t> places;
  Scanner scanner(source);
  while (!scanner.done()) {
    if (scanner.skip_comment()) continue;
    const char c = scanner.peek();
    if (c == '"' || c == '\'') {
      scanner.skip_literal();
    } else if (in_name(c)) {
      // 1'000 is one word; its apostrophe opens nothing.
      const bool number = std::isdigit(static_cast<unsigned char>(c)) != 0;
      const auto name = scanner.take_name();
      while (number && scanner.peek() == '\'' && in_name(scanner.peek(1))) {
        scanner.step();
        scanner.take_name();
      }
      if (is_raw_prefix(name)) scanner.skip_raw_string();
      if (name != "asm" && name != "__asm__" && name != "__asm") continue;
      scanner.skip_blank_and_comments();
      while (in_name(scanner.peek())) {  // volatile, inline, goto
        scanner.take_name();
        scanner.skip_blank_and_comments();
      }
      if (scanner.peek() == '(') scan_asm(source, scanner, places);
    } else {
      scanner.step();
    }
  }
  std::string out;
  size_t copied = 0;
  for (const size_t place : places) {
    out += source.substr(copied, place - copied);
    out += '%';
    copied = place;
  }
  return out += source.substr(copied);
}

}  // namespace fb::toolchain
