#include <fmt/format.h>

#include <string>

#include "common/base/strings.h"
#include "common/ptx/form_table.h"
#include "common/ptx/words.h"

namespace fb::ptx {
namespace {

// Recursive descent over one syntax line. The first mistake sticks in `problem`; the rest is then read to no effect.
class SyntaxReader {
 public:
  SyntaxReader(Form form, std::string_view syntax) : rest_(syntax) { spec_.form = form; }

  Result<FormSpec> read() {
    spec_.opcode = take_word();
    if (spec_.opcode.empty()) fail("no opcode");
    while (!failed() && !rest_.empty() && rest_.front() != ' ') read_part();
    if (accept(" ") && spec_.opcode != "call") read_operands();
    if (spec_.opcode == "call") rest_ = {};
    if (!failed() && !rest_.empty()) fail("cannot read \"" + std::string(rest_) + "\"");
    if (failed()) return error(std::string(to_string(spec_.form)) + ": " + problem_);
    return std::move(spec_);
  }

 private:
  bool failed() const { return !problem_.empty(); }
  void fail(std::string problem) {
    if (!failed()) problem_ = std::move(problem);
  }

  bool accept(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail("expected \"" + std::string(text) + "\" before \"" + std::string(rest_) + "\"");
  }

  static bool is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  // A word may hold "::" but not end in one colon: the colon of "b:u32" is not part of the name.
  std::string_view take_word() {
    size_t n = 0;
    while (n < rest_.size()) {
      if (is_word_char(rest_[n])) {
        ++n;
      } else if (rest_.substr(n).starts_with("::")) {
        n += 2;
      } else {
        break;
      }
    }
    const auto word = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return word;
  }

  // ".word", ".{a,b}", "{.word}", "{.{a,b}}", "{.a.b}"
  void read_part() {
    OpcodePart part;
    part.optional = accept("{");
    expect(".");
    bool first = true;
    if (accept("{")) {
      do add_word(part, take_word(), first);
      while (accept(","));
      expect("}");
    } else {
      add_word(part, take_word(), first);
    }
    while (part.optional && accept(".")) {
      part.together = true;
      add_word(part, take_word(), first);
    }
    if (part.optional) expect("}");
    spec_.vectors |= part.mods[static_cast<size_t>(Mod::v4)] && part.mods.count() > 1;
    spec_.parts.push_back(part);
  }

  void add_word(OpcodePart& part, std::string_view spelling, bool& first) {
    if (const auto group = find_group(spelling); !group.empty()) {
      for (const auto member : split(group, ' ')) add_plain_word(part, member, first);
    } else {
      add_plain_word(part, spelling, first);
    }
  }

  void add_plain_word(OpcodePart& part, std::string_view spelling, bool& first) {
    const auto word = find_word(spelling);
    if (!word) return fail(fmt::format("unknown word \"{}\"", spelling));
    const auto kind = word->kind == Word::Kind::type    ? OpcodePart::Kind::type
                      : word->kind == Word::Kind::space ? OpcodePart::Kind::space
                                                        : OpcodePart::Kind::mods;
    if (!first && kind != part.kind) return fail(fmt::format("\"{}\" is of another kind than its group", spelling));
    first = false;
    part.kind = kind;
    switch (kind) {
      case OpcodePart::Kind::type:
        part.types.set(word->value);
        break;
      case OpcodePart::Kind::space:
        part.spaces.set(word->value);
        break;
      case OpcodePart::Kind::mods:
        part.mods.set(word->value);
        break;
    }
  }

  void read_operands() {
    read_operand(false, false);
    while (!failed() && !rest_.empty()) {
      if (accept(", ")) {
        read_operand(false, false);
      } else if (accept("|")) {
        read_operand(false, true);
      } else if (accept("{|")) {
        read_operand(true, true);
        expect("}");
      } else if (accept("{, ")) {
        read_operand(true, false);
        if (accept(" @")) read_condition();
        expect("}");
      } else {
        return;
      }
    }
  }

  void read_operand(bool optional, bool paired) {
    OperandSpec operand;
    operand.optional = optional;
    operand.paired = paired;
    operand.may_negate = accept("{!}");
    if (accept("…")) {
      operand.name = "…";
      operand.role = OperandRole::anything;
    } else if (accept("[")) {
      operand.name = take_word();
      operand.role = operand.name == "tensor" ? OperandRole::tensor_address : OperandRole::address;
      expect("]");
    } else {
      operand.name = take_word();
      operand.role = role_of(operand.name);
    }
    if (operand.name.empty()) fail("an operand without a name");
    operand.may_sink = accept("/_");
    if (accept(":")) read_width(operand.width);
    operand.width.or_wider = accept("+");
    spec_.operands.push_back(operand);
  }

  static OperandRole role_of(std::string_view name) {
    if (name == "d" || name == "e") return OperandRole::destination;
    if (name == "p" || name == "q") return OperandRole::predicate_destination;
    if (name == "D") return OperandRole::list_destination;
    if (name == "A" || name == "B" || name == "C") return OperandRole::list_source;
    if (name == "x") return OperandRole::any_source;
    if (name == "cond") return OperandRole::predicate_source;
    if (name == "imm") return OperandRole::immediate;
    if (name == "label") return OperandRole::label;
    if (name == "targets") return OperandRole::targets;
    return OperandRole::source;
  }

  void read_width(Width& width) {
    const auto word = take_word();
    if (word == "2x") {
      width.rule = Width::Rule::twice_slot;
    } else if (word == "any") {
      width.rule = Width::Rule::any;
    } else if (word == "t2" || word == "t3") {
      width.slot = word == "t2" ? 1 : 2;
    } else if (const auto type = find_type(word)) {
      width.rule = Width::Rule::fixed;
      width.fixed = *type;
    } else {
      fail("unknown width \"" + std::string(word) + "\"");
    }
  }

  void read_condition() {
    OpcodePart part;
    bool first = true;
    add_word(part, take_word(), first);
    auto& operand = spec_.operands.back();
    operand.conditional = true;
    operand.condition = part.mods;
    if (part.mods.none()) fail("a condition must be a modifier");
  }

  FormSpec spec_;
  std::string_view rest_;
  std::string problem_;
};

}  // namespace

Result<FormSpec> compile_syntax(Form form, std::string_view syntax) { return SyntaxReader(form, syntax).read(); }

}  // namespace fb::ptx
