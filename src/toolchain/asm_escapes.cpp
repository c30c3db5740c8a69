#include "toolchain/asm_escapes.h"

#include <cctype>
#include <set>
#include <vector>

#include "base/cxx_scanner.h"

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

// The pieces of C++ text one after the other, without comments and blanks. A backslash that continues a line counts as
// blank.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { next(); }

  bool done() const { return piece_.begin >= text_.size(); }
  const CxxPiece& piece() const { return piece_; }
  bool is(std::string_view text) const { return !done() && piece_.text(text_) == text; }
  bool is_word() const { return !done() && piece_.kind == CxxPiece::Kind::word; }
  void next() {
    using Kind = CxxPiece::Kind;
    do {
      const size_t at = piece_.end;
      piece_ = at < text_.size() ? piece_at(text_, at) : CxxPiece{Kind::sign, text_.size(), text_.size()};
    } while (!done() && (piece_.kind == Kind::comment || piece_.kind == Kind::blank || is("\\")));
  }

 private:
  std::string_view text_;
  CxxPiece piece_;
};

// Adds the offsets of each % that must be doubled, within one literal.
void find_registers(std::string_view text, size_t begin, size_t end, std::vector<size_t>& found) {
  for (size_t i = begin; i < end; ++i) {
    if (text[i] != '%') continue;
    if (i + 1 < end && text[i + 1] == '%') {
      ++i;
      continue;
    }
    size_t last = i + 1;
    while (last < end && in_name(text[last])) ++last;
    if (special_registers().contains(text.substr(i + 1, last - i - 1))) found.push_back(i);
  }
}

// The rest of an asm statement, from its "(".
void scan_asm(std::string_view text, Scanner& scanner, std::vector<size_t>& found_at) {
  std::vector<size_t> found;
  bool operands = false;
  for (int depth = 0; !scanner.done(); scanner.next()) {
    if (scanner.piece().kind == CxxPiece::Kind::literal && !operands)
      find_registers(text, scanner.piece().begin, scanner.piece().end, found);
    if (scanner.is(":") && depth == 1) operands = true;
    if (scanner.is("(")) ++depth;
    if (scanner.is(")") && --depth == 0) break;
  }
  // Without operands the compiler takes the string literally.
  if (operands) found_at.insert(found_at.end(), found.begin(), found.end());
}

}  // namespace

std::string escape_special_registers(std::string_view source) {
  std::vector<size_t> found_at;
  Scanner scanner(source);
  while (!scanner.done()) {
    const bool is_asm = scanner.is("asm") || scanner.is("__asm__") || scanner.is("__asm");
    scanner.next();
    if (!is_asm) continue;
    while (scanner.is_word()) scanner.next();  // volatile, inline, goto
    if (scanner.is("(")) scan_asm(source, scanner, found_at);
  }
  std::string out;
  size_t copied = 0;
  for (const size_t at : found_at) {
    out += source.substr(copied, at - copied);
    out += '%';
    copied = at;
  }
  return out += source.substr(copied);
}

}  // namespace fb::toolchain
