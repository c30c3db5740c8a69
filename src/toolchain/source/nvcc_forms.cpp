#include "toolchain/source/nvcc_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "toolchain/device/text_edits.h"

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
  return apply_edits(source, edits);
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

bool in_directive(std::string_view source, size_t at) {
  size_t begin = at;
  for (; begin > 0; --begin) {
    const bool continued = begin > 1 && source[begin - 2] == '\\';
    if (source[begin - 1] == '\n' && !continued) break;
  }
  begin = source.find_first_not_of(" \t\\\n", begin);
  return begin < at && source[begin] == '#';
}

// A declaration of a kernel, by its tokens.
struct KernelDeclaration {
  size_t begin = 0;                     // its first
  size_t template_end = 0;              // behind "template <…>"; `begin`: no template
  size_t global = 0, name = 0;          // "__global__"
  size_t open = 0, close = 0;           // the parentheses of its parameters
  std::string template_arguments = {};  // "<T, n, Rest...>"

  bool is_template() const { return template_end != begin; }
};

// The elements of a list, each as its first token and the one behind its last.
std::vector<std::pair<size_t, size_t>> elements(const Tokens& tokens, size_t begin, size_t end) {
  std::vector<std::pair<size_t, size_t>> found;
  int depth = 0;
  size_t first = begin;
  for (size_t k = begin; k < end; ++k) {
    if (tokens.opens(k) || tokens.is(k, "<")) ++depth;
    if (tokens.closes(k) || tokens.is(k, ">")) --depth;
    if (depth != 0 || !tokens.is(k, ",")) continue;
    found.emplace_back(first, k);
    first = k + 1;
  }
  if (first < end) found.emplace_back(first, end);
  return found;
}

// Where the default value of an element begins, at "="; its end if it has none.
size_t default_value(const Tokens& tokens, std::pair<size_t, size_t> element) {
  int depth = 0;
  for (size_t k = element.first; k < element.second; ++k) {
    if (depth == 0 && tokens.is(k, "=")) return k;
    if (tokens.opens(k) || tokens.is(k, "<")) ++depth;
    if (tokens.closes(k) || tokens.is(k, ">")) --depth;
  }
  return element.second;
}

// "<T, n, Rest...>" of the parameters of a template; nothing if one of them has no name.
std::optional<std::string> arguments_of_parameters(const Tokens& tokens, std::string_view source, size_t begin,
                                                   size_t end) {
  std::string list;
  for (const auto& element : elements(tokens, begin, end)) {
    const size_t name = default_value(tokens, element) - 1;
    if (name <= element.first || !tokens.is_word(name)) return std::nullopt;
    const bool pack = tokens.is(name - 1, ".");
    list += fmt::format("{}{}{}", list.empty() ? "<" : ", ", tokens[name].text(source), pack ? "..." : "");
  }
  return list.empty() ? std::nullopt : std::optional(list + ">");
}

// The kernel whose "__global__" is the token `k`. Nothing for what is no declaration that could be repeated: a
// specialisation, a friend, text of a macro.
std::optional<KernelDeclaration> kernel_at(const Tokens& tokens, std::string_view source, size_t k) {
  if (!tokens.is(k, "__global__") || in_directive(source, tokens[k].begin)) return std::nullopt;
  KernelDeclaration d{.begin = k, .template_end = k, .global = k};
  for (size_t back = k; back > 0; --back) {
    const size_t t = back - 1;
    if (tokens.is(t, ";") || tokens.is(t, "{") || tokens.is(t, "}") || in_directive(source, tokens[t].begin)) break;
    if (tokens.is(t, "friend")) return std::nullopt;
    if (tokens.is(t, "template")) d.begin = t;
  }
  if (d.begin != k) {
    const auto end = tokens.behind_angles(d.begin + 1);
    if (!end || *end > k || !tokens.is(d.begin + 1, "<")) return std::nullopt;
    d.template_end = *end;
    const auto list = arguments_of_parameters(tokens, source, d.begin + 2, *end - 1);
    if (!list) return std::nullopt;
    d.template_arguments = *list;
  } else {
    const auto leads = [&](size_t t) {
      return tokens.is(t, "static") || tokens.is(t, "inline") || tokens.is(t, "extern") || tokens.is(t, "\"C\"");
    };
    while (d.begin > 0 && leads(d.begin - 1)) --d.begin;
    d.template_end = d.begin;
  }
  // __launch_bounds__(…) may come before the name.
  for (size_t t = k + 1; t + 1 < tokens.size(); ++t) {
    if (tokens.is(t, "{") || tokens.is(t, ";") || tokens.is(t, "(")) return std::nullopt;
    if (!tokens.is_word(t) || !tokens.is(t + 1, "(")) continue;
    if (tokens.is(t, "void")) return std::nullopt;
    const size_t close = tokens.closing(t + 1);
    if (!tokens[t].text(source).starts_with("__")) {
      d.name = t;
      d.open = t + 1;
      d.close = close;
      break;
    }
    t = close;
  }
  if (d.name == 0 || !(tokens.is(d.close + 1, ";") || tokens.is(d.close + 1, "{"))) return std::nullopt;
  for (size_t t = d.begin; t < d.close; ++t) {
    if (tokens.is(t, "#")) return std::nullopt;
  }
  return d;
}

// The text of tokens in one line, without default values and __grid_constant__.
std::string plain_list(const Tokens& tokens, std::string_view source, size_t begin, size_t end) {
  std::string list;
  for (const auto& element : elements(tokens, begin, end)) {
    const size_t stop = default_value(tokens, element);
    if (!list.empty()) list += ", ";
    for (size_t k = element.first; k < stop; ++k) {
      if (tokens.is(k, "__grid_constant__")) continue;
      if (k > element.first && tokens[k - 1].end != tokens[k].begin) list += ' ';
      list += tokens[k].text(source);
    }
  }
  return list;
}

// Behind a declaration, or with one before a definition: the function that `launch_chosen` asks for the kernel.
void add_chooser(const Tokens& tokens, std::string_view source, const KernelDeclaration& d,
                 std::vector<TextEdit>& edits) {
  const auto text = [&](size_t from, size_t behind) {
    return in_one_line(source.substr(tokens[from].begin, tokens[behind - 1].end - tokens[from].begin));
  };
  const std::string parameters = plain_list(tokens, source, d.open + 1, d.close);
  const std::string_view name = tokens[d.name].text(source);
  std::string chooser;
  if (d.is_template()) {
    chooser = text(d.begin, d.template_end) + " ";
    if (tokens.is(d.template_end, "requires")) chooser += text(d.template_end, d.global) + " ";
  }
  chooser +=
      fmt::format("static __host__ __device__ ::fabricbench::ChosenKernel<void (*)({0}), {1}{2}> {1}_chosen_({0});",
                  parameters, name, d.template_arguments);
  if (tokens.is(d.close + 1, ";")) {
    edits.push_back({tokens[d.close + 1].end, 0, " " + chooser});
    return;
  }
  edits.push_back({tokens[d.begin].begin, 0, fmt::format("{}; {} ", text(d.begin, d.close + 1), chooser)});
  // Default values are those of the declaration that now comes first.
  const auto erase_defaults = [&](size_t begin, size_t end) {
    for (const auto& element : elements(tokens, begin, end)) {
      const size_t from = default_value(tokens, element);
      if (from == element.second) continue;
      const size_t at = tokens[from].begin;
      const std::string_view erased = source.substr(at, tokens[element.second - 1].end - at);
      edits.push_back({at, erased.size(), std::string(static_cast<size_t>(std::ranges::count(erased, '\n')), '\n')});
    }
  };
  if (d.is_template()) erase_defaults(d.begin + 2, d.template_end - 1);
  erase_defaults(d.open + 1, d.close);
}

}  // namespace

void DeclaredKernels::add(std::string_view source) {
  const Tokens tokens(source);
  for (size_t k = 0; k < tokens.size(); ++k) {
    const auto kernel = kernel_at(tokens, source, k);
    if (!kernel) continue;
    const std::string name(tokens[kernel->name].text(source));
    if (kernel->is_template()) templates_.insert(name);
    parameters_[name].insert(plain_list(tokens, source, kernel->open + 1, kernel->close));
  }
}

bool DeclaredKernels::chosen(const std::string& name) const {
  const auto found = parameters_.find(name);
  return templates_.contains(name) || (found != parameters_.end() && found->second.size() > 1);
}

std::string with_device_launches(std::string_view source, const DeclaredKernels& kernels) {
  std::vector<TextEdit> edits;
  const Tokens tokens(source);
  std::vector<bool> of_device;  // by open brace
  for (size_t k = 0; k < tokens.size(); ++k) {
    if (const auto kernel = kernel_at(tokens, source, k);
        kernel && kernels.chosen(std::string(tokens[kernel->name].text(source))))
      add_chooser(tokens, source, *kernel, edits);
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
    const size_t last = tokens.closing(end + 3);
    if (last >= tokens.size()) continue;
    size_t word = k - 1;  // the name without its template arguments
    for (size_t t = name; t < k; ++t) {
      if (!tokens.is_word(t) && !tokens.is(t, ":")) {
        const auto behind = tokens.is(t, "<") ? tokens.behind_angles(t) : std::nullopt;
        if (behind == k) word = t - 1;
        if (!behind || *behind >= k) break;
        t = *behind - 1;
      }
    }
    if (kernels.chosen(std::string(tokens[word].text(source)))) {
      const size_t from = tokens[end + 3].begin;
      edits.push_back({tokens[name].begin, 0, "::fabricbench::launch_chosen<decltype("});
      edits.push_back({tokens[word].end, 0, "_chosen_"});
      edits.push_back({tokens[k].begin, 3, in_one_line(source.substr(from, tokens[last].end - from)) + ")>("});
    } else {
      edits.push_back({tokens[name].begin, 0, "::fabricbench::launch_kernel<"});
      edits.push_back({tokens[k].begin, 3, ">("});
    }
    edits.push_back({tokens[end].begin, 3, ")"});
    k = end + 2;
  }
  return apply_edits(source, edits);
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
  return apply_edits(source, edits);
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
  return apply_edits(source, edits);
}

}  // namespace fb::toolchain
