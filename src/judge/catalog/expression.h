#pragma once

// Arithmetic over named whole numbers, as problem.toml writes shapes and costs: "ceil_div(n, world) * 4".

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::catalog {

using Values = std::map<std::string, int64_t, std::less<>>;

// Integers, names, + - * / % ( ), min(a, b), max(a, b), ceil_div(a, b). Division rounds down and % takes the divisor's
// sign, so that a == a / b * b + a % b. Values have 64 bits; overflow is an error and never wraps.
class Expression {
 public:
  Expression() = default;  // 0

  // Errors are located: line 1 and the column in `text`.
  static Result<Expression> parse(std::string_view text);

  // Errors: a name without value, a division by zero, an overflow.
  Result<int64_t> evaluate(const Values& values) const;

  const std::string& text() const { return text_; }
  // As C++, over variables int64_t of these names and the functions floor_div, floor_mod, ceil_div and those of
  // <algorithm>.
  std::string cxx() const;
  std::set<std::string> names() const;

 private:
  friend class ExpressionParser;
  enum class Op : uint8_t { number, name, negate, add, subtract, multiply, divide, modulo, min, max, ceil_div };
  // Postfix: operands before their operator.
  struct Step {
    Op op = Op::number;
    int64_t number = 0;
    std::string name;
  };
  static bool apply(Op op, int64_t left, int64_t right, int64_t& result);

  std::string text_ = "0";
  std::vector<Step> steps_ = {{}};
};

}  // namespace fb::catalog
