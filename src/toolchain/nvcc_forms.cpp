#include "toolchain/nvcc_forms.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <vector>

#include "toolchain/text_edits.h"

namespace fb::toolchain {
namespace {

// The configuration of a launch, from the token behind "<<<". Returns the token of ">>>", or `from` if there is none.
size_t edit_launch(const Tokens& tokens, size_t from, std::vector<TextEdit>& edits) {
  constexpr std::array<const char*, 4> kTypes = {"dim3", "dim3", "size_t", "cudaStream_t"};
  std::vector<TextEdit> found;
  size_t argument = 0;
  bool at_begin = true;
  int depth = 0;
  for (size_t k = from; k < tokens.size(); ++k) {
    if (depth == 0 && tokens.is_run(k, '>', 3)) {
      edits.insert(edits.end(), found.begin(), found.end());
      return k;
    }
    if (tokens.is(k, ";")) break;
    if (at_begin && tokens.is(k, "{") && argument < kTypes.size())
      found.push_back({tokens[k].begin, 0, kTypes[argument]});
    at_begin = depth == 0 && tokens.is(k, ",");
    if (at_begin) ++argument;
    if (tokens.opens(k)) ++depth;
    if (tokens.closes(k) && --depth < 0) break;
  }
  return from;
}

bool is_restrict(const Tokens& tokens, size_t k) { return tokens.is(k, "__restrict__") || tokens.is(k, "__restrict"); }

// Whether the qualifier at `k` belongs to an array's elements.
bool of_array(const Tokens& tokens, size_t k) {
  if (tokens.is_word(k + 1) && tokens.is(k + 2, "[")) return true;
  // "array<" before it, and no other bracket between.
  if (!tokens.is(k + 1, ",")) return false;
  for (size_t back = k; back > 0; --back) {
    if (tokens.is(back, "<")) return tokens.is(back - 1, "array");
    if (!tokens.is_word(back) && !tokens.is(back, "*") && !tokens.is(back, ":")) return false;
  }
  return false;
}

// A program's own declval(), from the token "template": where this is a function without attributes, the place of its
// declaration behind the template's parameters.
std::optional<size_t> place_in_declval(const Tokens& tokens, size_t k) {
  if (!tokens.is(k, "template") || !tokens.is(k + 1, "<")) return std::nullopt;
  size_t at = k + 2;
  for (int depth = 1; depth > 0; ++at) {
    if (at >= tokens.size() || tokens.is(at, ";") || tokens.is(at, "{")) return std::nullopt;
    depth += tokens.is(at, "<") ? 1 : tokens.is(at, ">") ? -1 : 0;
  }
  for (size_t name = at; tokens.is_word(name) || tokens.is(name, "&") || tokens.is(name, ":"); ++name) {
    if (tokens.is(name, "__host__") || tokens.is(name, "__device__")) return std::nullopt;
    if (name > at && tokens.is(name, "declval") && tokens.is(name + 1, "(") && tokens.is(name + 2, ")"))
      return tokens[at].begin;
  }
  return std::nullopt;
}

// Where lines and columns are in the text; places beyond its end are left out.
std::vector<size_t> offsets_of(const std::vector<Location>& places, std::string_view text) {
  std::vector<size_t> lines = {0};  // where they begin
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') lines.push_back(i + 1);
  }
  std::vector<size_t> offsets;
  for (const Location& at : places) {
    if (at.line != 0 && at.line <= lines.size()) offsets.push_back(lines[at.line - 1] + at.column - 1);
  }
  return offsets;
}

}  // namespace

std::string with_clang_forms(std::string_view source) {
  std::vector<TextEdit> edits;
  const Tokens tokens(source);
  int parentheses = 0;
  std::vector<int> outer;  // parentheses that are open around each brace
  for (size_t k = 0; k < tokens.size(); ++k) {
    if (tokens.is_run(k, '<', 3)) {
      k = edit_launch(tokens, k + 3, edits);
      if (k >= tokens.size()) break;
    }
    if (tokens.is(k, "template") && tokens.is(k + 1, "~"))
      edits.push_back({tokens[k].begin, tokens[k].end - tokens[k].begin, ""});
    if (const auto place = place_in_declval(tokens, k)) edits.push_back({*place, 0, "__host__ __device__ "});
    if (tokens.is(k, "{")) {
      outer.push_back(parentheses);
      parentheses = 0;
    } else if (tokens.is(k, "}") && !outer.empty()) {
      parentheses = outer.back();
      outer.pop_back();
    } else if (tokens.is(k, "(")) {
      ++parentheses;
    } else if (tokens.is(k, ")") && parentheses > 0) {
      --parentheses;
    } else if (parentheses == 0 && is_restrict(tokens, k) && of_array(tokens, k)) {
      edits.push_back({tokens[k].begin, tokens[k].end - tokens[k].begin, ""});
    }
  }
  return apply_edits(source, std::move(edits));
}

namespace {

bool names_device_function(const Tokens& tokens, size_t k) {
  return tokens.is(k, "__global__") || tokens.is(k, "__device__");
}

// The same pieces without line ends and comments, so that lines stay where they are.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const CxxPiece piece = piece_at(text, at);
    at = piece.end;
    const bool blank = piece.kind == CxxPiece::Kind::comment || piece.kind == CxxPiece::Kind::blank;
    line += blank ? " " : piece.text(text);
  }
  return line;
}

// Whether the brace at `k` begins the body of a function of the device: its head has __global__ or __device__ and a
// list of parameters.
bool begins_device_function(const Tokens& tokens, size_t k) {
  bool parameters = false;
  for (size_t back = k; back > 0; --back) {
    const size_t t = back - 1;
    if (tokens.is(t, ";") || tokens.is(t, "{") || tokens.is(t, "}")) return false;
    parameters |= tokens.is(t, ")");
    if (parameters && names_device_function(tokens, t)) return true;
  }
  return false;
}

// The first token of the name that ends before `k`: words and template arguments, joined by "::". `k`: there is none.
size_t begin_of_name(const Tokens& tokens, size_t k) {
  size_t begin = k;
  for (size_t at = k; at > 0;) {
    if (tokens.is(at - 1, ">")) {
      int angles = 0, brackets = 0;  // in brackets, < and > compare
      do {
        --at;
        if (tokens.closes(at)) ++brackets;
        if (tokens.opens(at)) --brackets;
        if (brackets == 0 && tokens.is(at, ">")) ++angles;
        if (brackets == 0 && tokens.is(at, "<")) --angles;
      } while (at > 0 && (angles > 0 || brackets > 0));
      if (angles != 0 || brackets != 0 || at == 0) return k;
    }
    if (!tokens.is_word(at - 1)) return begin;
    begin = --at;
    if (at < 2 || !tokens.is_run(at - 2, ':', 2)) return begin;
    begin = at -= 2;
    if (at == 0 || !(tokens.is_word(at - 1) || tokens.is(at - 1, ">")) || tokens.is(at - 1, "return")) return begin;
  }
  return begin;
}

// The token of the bracket that closes the one at `k`; size() if none does.
size_t closing(const Tokens& tokens, size_t k) {
  int depth = 0;
  for (; k < tokens.size(); ++k) {
    if (tokens.opens(k)) ++depth;
    if (tokens.closes(k) && --depth == 0) return k;
  }
  return k;
}

}  // namespace

std::set<std::string> kernel_templates(std::string_view source) {
  std::set<std::string> names;
  const Tokens tokens(source);
  for (size_t k = 0; k < tokens.size(); ++k) {
    if (!tokens.is(k, "__global__")) continue;
    bool is_template = false;
    for (size_t back = k; back > 0 && !is_template; --back) {
      if (tokens.is(back - 1, ";") || tokens.is(back - 1, "}") || tokens.is(back - 1, "{")) break;
      is_template = tokens.is(back - 1, "template");
    }
    // __launch_bounds__(…) may come before the name.
    for (size_t t = k + 1; is_template && t + 1 < tokens.size() && !tokens.is(t, "{") && !tokens.is(t, ";"); ++t) {
      if (!tokens.is_word(t) || !tokens.is(t + 1, "(")) continue;
      if (!tokens[t].text(source).starts_with("__")) {
        names.emplace(tokens[t].text(source));
        break;
      }
      t = closing(tokens, t + 1);
    }
  }
  return names;
}

std::string with_device_launches(std::string_view source, const std::set<std::string>& templates) {
  std::vector<TextEdit> edits;
  const Tokens tokens(source);
  std::vector<bool> of_device;  // by open brace
  for (size_t k = 0; k < tokens.size(); ++k) {
    if (tokens.is(k, "{"))
      of_device.push_back((!of_device.empty() && of_device.back()) || begins_device_function(tokens, k));
    if (tokens.is(k, "}") && !of_device.empty()) of_device.pop_back();
    if (of_device.empty() || !of_device.back() || !tokens.is_run(k, '<', 3)) continue;
    const size_t name = begin_of_name(tokens, k);
    size_t end = k + 3;
    for (int depth = 0; end < tokens.size() && !(depth == 0 && tokens.is_run(end, '>', 3)); ++end) {
      if (tokens.opens(end)) ++depth;
      if (tokens.closes(end) && --depth < 0) break;
    }
    if (name == k || end >= tokens.size() || !tokens.is_run(end, '>', 3) || !tokens.is(end + 3, "(")) continue;
    const size_t last = closing(tokens, end + 3);
    if (last >= tokens.size()) continue;
    const bool deduced = templates.contains(std::string(tokens[k - 1].text(source)));
    const auto text = [&](size_t from, size_t to) {
      return std::string(source.substr(tokens[from].begin, tokens[to].end - tokens[from].begin));
    };
    const std::string before =
        deduced ? fmt::format("::fabricbench::launch_kernel_of<decltype(::fabricbench::kernel_type{}), ",
                              in_one_line(text(end + 3, last)))
                : "::fabricbench::launch_kernel<";
    edits.push_back({tokens[name].begin, 0, before});
    edits.push_back({tokens[k].begin, 3, ">("});
    edits.push_back({tokens[end].begin, 3, ")"});
    k = end + 2;
  }
  return apply_edits(source, std::move(edits));
}

std::string with_typenames(std::string_view source, const std::vector<Location>& places) {
  std::vector<TextEdit> edits;
  const Tokens tokens(source);
  for (const size_t offset : offsets_of(places, source)) {
    size_t k = 0;
    while (k < tokens.size() && tokens[k].begin != offset) ++k;
    if (tokens.is(k, "decltype") || (tokens.is_word(k) && (tokens.is(k + 1, ":") || tokens.is(k + 1, "<"))))
      edits.push_back({offset, 0, "typename "});
  }
  return apply_edits(source, std::move(edits));
}

std::string with_raw_shared(std::string_view source, const std::vector<Location>& names) {
  std::vector<TextEdit> edits;
  const Tokens tokens(source);
  for (const size_t offset : offsets_of(names, source)) {
    size_t name = 0, begin = 0;
    for (; name < tokens.size() && tokens[name].begin != offset; ++name) {
      if (tokens.is(name, "__shared__")) begin = name;
    }
    if (name >= tokens.size() || !tokens.is_word(name) || !tokens.is(begin, "__shared__")) continue;
    size_t end = name + 1;
    while (tokens.is(end, "[")) {
      while (end < tokens.size() && !tokens.is(end, "]")) ++end;
      ++end;
    }
    if (!tokens.is(end, ";")) continue;  // one variable, without an initial value
    const std::string_view variable = tokens[name].text(source);
    const std::string_view dimensions = source.substr(tokens[name].end, tokens[end].begin - tokens[name].end);
    edits.push_back({tokens[begin].end, 0, " ::fabricbench::RawShared<"});
    edits.push_back({tokens[name].begin, tokens[end].begin - tokens[name].begin,
                     fmt::format("{0}> {1}_raw_; auto& {1} = {1}_raw_.object()", dimensions, variable)});
  }
  return apply_edits(source, std::move(edits));
}

}  // namespace fb::toolchain
