#include "report/site/highlight.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace fb::report::site {
namespace {

constexpr auto kKeywords = std::to_array<std::string_view>({"alignas",
                                                            "alignof",
                                                            "asm",
                                                            "auto",
                                                            "break",
                                                            "case",
                                                            "catch",
                                                            "class",
                                                            "concept",
                                                            "const",
                                                            "const_cast",
                                                            "consteval",
                                                            "constexpr",
                                                            "continue",
                                                            "decltype",
                                                            "default",
                                                            "delete",
                                                            "do",
                                                            "dynamic_cast",
                                                            "else",
                                                            "enum",
                                                            "explicit",
                                                            "extern",
                                                            "false",
                                                            "final",
                                                            "for",
                                                            "friend",
                                                            "goto",
                                                            "if",
                                                            "inline",
                                                            "mutable",
                                                            "namespace",
                                                            "new",
                                                            "noexcept",
                                                            "nullptr",
                                                            "operator",
                                                            "override",
                                                            "private",
                                                            "protected",
                                                            "public",
                                                            "reinterpret_cast",
                                                            "requires",
                                                            "return",
                                                            "sizeof",
                                                            "static",
                                                            "static_assert",
                                                            "static_cast",
                                                            "struct",
                                                            "switch",
                                                            "template",
                                                            "this",
                                                            "throw",
                                                            "true",
                                                            "try",
                                                            "typedef",
                                                            "typename",
                                                            "union",
                                                            "using",
                                                            "virtual",
                                                            "volatile",
                                                            "while"});
constexpr auto kTypes = std::to_array<std::string_view>(
    {"bool",    "char",      "double",   "float",  "int",    "int16_t",  "int32_t",  "int64_t",
     "int8_t",  "long",      "short",    "signed", "size_t", "uint16_t", "uint32_t", "uint64_t",
     "uint8_t", "uintptr_t", "unsigned", "void",   "dim3",   "float2",   "float4",   "int2",
     "int4",    "uint2",     "uint4",    "half",   "half2",  "Args",     "Rank",     "PeerMemory"});
constexpr auto kDevice = std::to_array<std::string_view>({"__global__",
                                                          "__device__",
                                                          "__host__",
                                                          "__shared__",
                                                          "__constant__",
                                                          "__forceinline__",
                                                          "__noinline__",
                                                          "__launch_bounds__",
                                                          "__restrict__",
                                                          "__syncthreads",
                                                          "__syncwarp",
                                                          "__threadfence",
                                                          "__threadfence_system",
                                                          "__threadfence_block",
                                                          "__nanosleep",
                                                          "threadIdx",
                                                          "blockIdx",
                                                          "blockDim",
                                                          "gridDim",
                                                          "warpSize",
                                                          "atomicAdd",
                                                          "atomicCAS",
                                                          "atomicExch",
                                                          "cooperative_groups"});

bool is_word(char c) {
  return c == '_' || (static_cast<uint8_t>(c) < 0x80 && std::isalnum(static_cast<uint8_t>(c)) != 0);
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The CSS class of a word; empty: none.
std::string_view kind_of(std::string_view word) {
  const auto among = [&](const auto& list) { return std::ranges::find(list, word) != list.end(); };
  if (among(kKeywords)) return "k";
  if (among(kTypes)) return "t";
  if (among(kDevice) || word.starts_with("__shfl") || word.starts_with("__nv_")) return "d";
  const bool is_call = word.starts_with("cuda") && word.size() > 4 && std::isupper(static_cast<uint8_t>(word[4])) != 0;
  return is_call ? "d" : "";
}

class Highlighter {
 public:
  explicit Highlighter(std::string_view code) : rest_(code) {}

  std::vector<Html> lines() {
    while (!rest_.empty()) step();
    if (!line_.empty()) lines_.push_back(std::move(line_));
    return std::move(lines_);
  }

 private:
  void step() {
    const char c = rest_.front();
    if (rest_.starts_with("//")) return take("c", end_of_line());
    if (rest_.starts_with("/*")) return take("c", after("*/", 2));
    if (rest_.starts_with("R\"")) return take("s", raw_string());
    if (c == '"' || c == '\'') return take("s", literal(c));
    if (c == '#' && at_start_) return take("p", directive());
    if (is_digit(c)) return take("n", number());
    if (is_word(c)) {
      const size_t length = words(0);
      return take(kind_of(rest_.substr(0, length)), length);
    }
    take("", 1 + plain(1));
  }

  // Lengths of what begins here.
  size_t end_of_line() const { return std::min(rest_.find('\n'), rest_.size()); }
  size_t after(std::string_view mark, size_t from) const {
    const size_t found = rest_.find(mark, from);
    return found == std::string_view::npos ? rest_.size() : found + mark.size();
  }
  size_t words(size_t from) const {
    while (from < rest_.size() && is_word(rest_[from])) ++from;
    return from;
  }
  size_t number() const {
    size_t i = 1;
    while (i < rest_.size() && (is_word(rest_[i]) || rest_[i] == '.' || (rest_[i] == '\'' && is_digit(rest_[i - 1]))))
      ++i;
    return i;
  }
  // What has no colour, as far as nothing else can begin in it.
  size_t plain(size_t from) const {
    size_t i = from;
    while (i < rest_.size() && !is_word(rest_[i]) &&
           std::string_view("/\"'#\n").find(rest_[i]) == std::string_view::npos)
      ++i;
    return i - from;
  }
  // A literal ends with its line at the latest.
  size_t literal(char quote) const {
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == quote) {
        return i + 1;
      } else if (rest_[i] == '\n') {
        return i;
      }
    }
    return rest_.size();
  }
  size_t raw_string() const {
    constexpr size_t kLongestDelimiter = 16;
    const size_t open = rest_.find('(', 2);
    if (open == std::string_view::npos || open - 2 > kLongestDelimiter) return literal('"');
    return after(fmt::format("){}\"", rest_.substr(2, open - 2)), open);
  }
  size_t directive() const {
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_.substr(i).starts_with("//") || rest_.substr(i).starts_with("/*")) return i;
      if (rest_[i] == '\n' && rest_[i - 1] != '\\') return i;
    }
    return rest_.size();
  }

  void take(std::string_view kind, size_t length) {
    std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(length);
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view piece = text.substr(0, end);
      if (!piece.empty()) {
        line_ += kind.empty() ? Html::text(piece) : html("<span class=\"{}\">{}</span>", kind, piece);
        if (piece.find_first_not_of(" \t\r") != std::string_view::npos) at_start_ = false;
      }
      if (end == text.size()) return;
      lines_.push_back(std::move(line_));
      line_ = {};
      at_start_ = true;
      text.remove_prefix(end + 1);
    }
  }

  std::string_view rest_;
  bool at_start_ = true;  // of a line
  Html line_;
  std::vector<Html> lines_;
};

}  // namespace

std::vector<Html> highlight_lines(std::string_view code) { return Highlighter(code).lines(); }

}  // namespace fb::report::site
