#pragma once

// Changes to C++ text that a scan of its tokens finds, applied at once.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/cxx_scanner.h"

namespace fb::toolchain {

// Replaces `erased` characters at `at`. Edits of one text do not overlap; of those at one place the first comes first.
struct TextEdit {
  size_t at = 0;
  size_t erased = 0;
  std::string inserted = {};
};

inline std::string apply_edits(std::string_view text, const std::vector<TextEdit>& edits) {
  std::multimap<size_t, const TextEdit*> by_place;
  for (const TextEdit& edit : edits) by_place.emplace(edit.at, &edit);
  std::string out;
  size_t copied = 0;
  for (const auto& [at, edit] : by_place) {
    out += text.substr(copied, at - copied);
    out += edit->inserted;
    copied = at + edit->erased;
  }
  return out += text.substr(copied);
}

// The pieces of C++ text without comments and blanks; a backslash that continues a line counts as blank.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {
    using Kind = CxxPiece::Kind;
    for (size_t at = 0; at < text.size();) {
      const CxxPiece piece = piece_at(text, at);
      at = piece.end;
      if (piece.kind != Kind::comment && piece.kind != Kind::blank && piece.text(text) != "\\")
        pieces_.push_back(piece);
    }
  }

  size_t size() const { return pieces_.size(); }
  const CxxPiece& operator[](size_t k) const { return pieces_[k]; }
  bool is(size_t k, std::string_view text) const { return k < size() && pieces_[k].text(text_) == text; }
  bool is_word(size_t k) const { return k < size() && pieces_[k].kind == CxxPiece::Kind::word; }
  bool is_literal(size_t k) const { return k < size() && pieces_[k].kind == CxxPiece::Kind::literal; }
  bool opens(size_t k) const { return is(k, "(") || is(k, "[") || is(k, "{"); }
  bool closes(size_t k) const { return is(k, ")") || is(k, "]") || is(k, "}"); }
  // Signs without a blank between them, such as the three of "<<<".
  bool is_run(size_t k, char sign, size_t count) const {
    for (size_t n = 0; n < count; ++n) {
      if (!is(k + n, std::string_view(&sign, 1)) || (n > 0 && pieces_[k + n].begin != pieces_[k + n - 1].end))
        return false;
    }
    return true;
  }

  // The token of the bracket that closes the one at `k`; size() if none does.
  size_t closing(size_t k) const {
    int depth = 0;
    for (; k < size(); ++k) {
      if (opens(k)) ++depth;
      if (closes(k) && --depth == 0) return k;
    }
    return k;
  }
  // The token behind the ">" that closes the "<" at `k`; nothing if none does.
  std::optional<size_t> behind_angles(size_t k) const {
    int angles = 0, brackets = 0;  // in brackets, < and > compare
    for (; k < size() && !is(k, ";"); ++k) {
      brackets += opens(k) ? 1 : closes(k) ? -1 : 0;
      if (brackets != 0) continue;
      angles += is(k, "<") ? 1 : is(k, ">") ? -1 : 0;
      if (angles == 0) return k + 1;
    }
    return std::nullopt;
  }

 private:
  std::string_view text_;
  std::vector<CxxPiece> pieces_;
};

}  // namespace fb::toolchain
