#include "machine/exact/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <regex>
#include <stdexcept>

#include "common/base/strings.h"

namespace fb::cases {
namespace {

constexpr std::string_view kWritten = "defg", kTemporary = "klmntuvw";

uint64_t hexadecimal(std::string_view word, uint32_t line) {
  uint64_t value = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (status != std::errc{} || end != word.data() + word.size())
    throw std::runtime_error(fmt::format("line {}: not a hexadecimal number: {}", line, word));
  return value;
}

Values numbers(std::string_view text, uint32_t line) {
  Values values;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) values.push_back(hexadecimal(word, line));
  }
  return values;
}

Example read_example(const Case& c, std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) throw std::runtime_error(fmt::format("line {}: an example has no =", c.line));
  Example e;
  e.in = numbers(text.substr(0, equals), c.line);
  for (const uint64_t value : numbers(text.substr(equals + 1), c.line)) e.out.emplace_back(value);
  if (e.in.size() != c.read.size() || e.out.size() != c.written.size())
    throw std::runtime_error(fmt::format("line {}: {} values for {} registers that are read, {} for {} written ones",
                                         c.line, e.in.size(), c.read.size(), e.out.size(), c.written.size()));
  return e;
}

void find_registers(Case& c) {
  static const std::regex name(R"((^|[^\w.])([a-gk-nt-z])(1|8|16|32|64|128)\b)");
  for (std::sregex_iterator m(c.text.begin(), c.text.end(), name), end; m != end; ++m) {
    const Register r{(*m)[2].str() + (*m)[3].str(), static_cast<uint32_t>(std::stoul((*m)[3].str()))};
    auto& list = kWritten.contains(r.name[0]) ? c.written : kTemporary.contains(r.name[0]) ? c.temporary : c.read;
    if (std::ranges::find(list, r.name, &Register::name) == list.end()) list.push_back(r);
  }
  std::ranges::sort(c.written, {}, &Register::name);
}

// `a.{b,c} x`: `a.b x` and `a.c x`. Braces of an opcode have no blanks in them, those of operands do.
std::vector<std::string> expand(const std::string& text) {
  size_t open = text.find('{');
  while (open != std::string::npos && text.find(' ', open) < text.find('}', open)) open = text.find('{', open + 1);
  if (open == std::string::npos) return {text};
  const size_t close = text.find('}', open);
  const std::string words = text.substr(open + 1, close - open - 1);
  std::vector<std::string> all;
  for (const std::string_view word : split(words, ',')) {
    for (std::string& one : expand(text.substr(0, open) + std::string(word) + text.substr(close + 1)))
      all.push_back(std::move(one));
  }
  return all;
}

// Every value has 8 bytes of its own, for each lane.
class Kernel {
 public:
  std::string write(const std::vector<Case>& cases) {
    text_ =
        ".version 8.8\n.target sm_100a\n.address_size 64\n"
        ".visible .entry cases(.param .u64 in, .param .u64 out, .param .u64 old)\n{\n"
        "  .reg .pred %odd;\n  .reg .b32 %t;\n  .reg .b64 %l, %in, %out, %old;\n"
        "  mov.u32 %t, %tid.x;\n  mul.wide.u32 %l, %t, 8;\n  and.b32 %t, %t, 1;\n  setp.ne.u32 %odd, %t, 0;\n"
        "  ld.param.u64 %in, [in];\n  add.u64 %in, %in, %l;\n  ld.param.u64 %out, [out];\n"
        "  add.u64 %out, %out, %l;\n  ld.param.u64 %old, [old];\n";
    for (const Case& c : cases) write(c);
    return text_ + "  ret;\n}\n";
  }

 private:
  void load(const Register& r, const std::string& from) {
    text_ += r.bits == 1 ? fmt::format("  ld.global.b32 %t, [{}];\n  setp.ne.b32 {}, %t, 0;\n", from, r.name)
                         : fmt::format("  ld.global.b{} {}, [{}];\n", r.bits, r.name, from);
  }

  void store(const Register& r) {
    const std::string to = fmt::format("%out+{}", kLanes * 8 * written_++);
    text_ += r.bits == 1 ? fmt::format("  selp.b32 %t, 1, 0, {};\n  st.global.b32 [{}], %t;\n", r.name, to)
                         : fmt::format("  st.global.b{} [{}], {};\n", r.bits, to, r.name);
  }

  void write(const Case& c) {
    text_ += "  {\n";
    for (const auto* list : {&c.read, &c.written, &c.temporary}) {
      for (const Register& r : *list)
        text_ += fmt::format("  .reg .{} {};\n", r.bits == 1 ? "pred" : fmt::format("b{}", r.bits), r.name);
    }
    for (const Register& r : c.read) load(r, fmt::format("%in+{}", kLanes * 8 * read_++));
    for (const std::string& i : c.instructions) text_ += "  " + i + ";\n";
    for (const Register& r : c.written) store(r);
    for (const Register& r : c.written) load(r, "%old");
    for (const std::string& i : c.instructions) text_ += i.starts_with('@') ? "  " + i + ";\n" : "  @%odd " + i + ";\n";
    for (const Register& r : c.written) store(r);
    text_ += "  }\n";
  }

  std::string text_;
  uint64_t read_ = 0, written_ = 0;
};

}  // namespace

std::vector<Case> read_cases(const std::string& text) {
  std::vector<Case> cases;
  uint32_t line = 0;
  for (const std::string_view row : split(text, '\n')) {
    ++line;
    if (row.empty() || row.starts_with("//")) continue;
    const size_t colon = row.find(" :");
    for (std::string& expanded : expand(std::string(row.substr(0, colon)))) {
      Case& c = cases.emplace_back();
      c.line = line;
      c.text = std::move(expanded);
      for (const std::string_view i : split(c.text, ';')) c.instructions.emplace_back(trim(i));
      find_registers(c);
      if (colon == std::string_view::npos) continue;
      for (const std::string_view e : split(row.substr(colon + 2), ',')) c.examples.push_back(read_example(c, e));
    }
  }
  return cases;
}

std::string make_kernel(const std::vector<Case>& cases) { return Kernel().write(cases); }

}  // namespace fb::cases
