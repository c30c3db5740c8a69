#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/ptx/module.h"

namespace fb::ptx {

// What a name means inside a function.
struct Binding {
  enum class Kind : uint8_t { none, reg, reg_vector, variable, targets, label };
  Kind kind = Kind::none;
  uint32_t index = 0;  // into the function's registers, variables, target lists; for labels: the body
  uint32_t count = 0;  // elements of a reg_vector
};

// A use of a label that is not known yet: an operand of an instruction, or an entry of a target list.
struct LabelUse {
  std::string_view name;
  Location at;
  uint32_t owner = 0;  // index into the body or the target lists
  uint32_t entry = 0;  // which operand or entry
  bool in_list = false;
};

// The nested { } scopes of one function. Names are views into the parsed text.
class Scopes {
 public:
  void push() { stack_.emplace_back(); }
  // Drops the innermost scope; label uses that it cannot resolve go to the scope around it.
  void pop();
  size_t depth() const { return stack_.size(); }

  // False: the innermost scope has that name already.
  bool declare(std::string_view name, Binding binding);
  // %r<count>: registers first … first + count - 1 as prefix0 … prefix<count - 1>
  bool declare_range(std::string_view prefix, uint32_t first, uint32_t count);
  Binding find(std::string_view name) const;

  void use_label(const LabelUse& use) { stack_.back().label_uses.push_back(use); }
  // Label uses of the innermost scope that its own labels answer; they are taken out.
  std::vector<std::pair<LabelUse, uint32_t>> take_resolved();
  const std::vector<LabelUse>& unresolved() const { return stack_.back().label_uses; }

 private:
  struct Range {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  struct Scope {
    std::unordered_map<std::string_view, Binding> names;
    std::unordered_map<std::string_view, Range> ranges;
    std::vector<LabelUse> label_uses;
  };
  static Binding find_in(const Scope& scope, std::string_view name, std::string_view prefix, uint32_t number);

  std::vector<Scope> stack_;
};

}  // namespace fb::ptx
