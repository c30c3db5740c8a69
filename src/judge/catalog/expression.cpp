#include "judge/catalog/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>

#include "common/base/check.h"

namespace fb::catalog {

// Recursive descent; writes the steps in postfix order as it goes.
class ExpressionParser {
 public:
  using Op = Expression::Op;

  explicit ExpressionParser(std::string_view text) : text_(text) {}

  Result<Expression> parse() {
    if (sum(0) && next() != '\0') complain(fmt::format("'{}' is not expected here", word()));
    if (!message_.empty()) return error(message_, {1, static_cast<uint32_t>(at_ + 1)});
    Expression expression;
    expression.text_ = text_;
    expression.steps_ = std::move(steps_);
    return expression;
  }

 private:
  static constexpr int kDeepest = 64;

  // Blanks do not matter; '\0' is the end.
  char next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
      ++end;
    return text_.substr(at_, std::max<size_t>(end - at_, 1));
  }
  bool complain(std::string message) {
    if (message_.empty()) message_ = std::move(message);
    return false;
  }
  bool emit(Op op) {
    steps_.push_back({op, 0, {}});
    return true;
  }

  bool sum(int depth) {
    if (depth > kDeepest) return complain("too many levels of parentheses");
    if (!product(depth)) return false;
    while (true) {
      const Op op = next() == '+' ? Op::add : Op::subtract;
      if (!take('+') && !take('-')) return true;
      if (!product(depth) || !emit(op)) return false;
    }
  }

  bool product(int depth) {
    if (!factor(depth)) return false;
    while (true) {
      const char c = next();
      if (c != '*' && c != '/' && c != '%') return true;
      ++at_;
      if (!factor(depth) || !emit(c == '*' ? Op::multiply : c == '/' ? Op::divide : Op::modulo)) return false;
    }
  }

  bool factor(int depth) {
    if (depth > kDeepest) return complain("too many signs in a row");
    if (take('-')) return factor(depth + 1) && emit(Op::negate);
    if (take('(')) return sum(depth + 1) && close();
    const char c = next();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') return name_or_call(depth);
    if (c == '\0') return complain(at_ == 0 ? "is empty" : "ends where a number or a name is expected");
    return complain(fmt::format("'{}' is not expected here", c));
  }

  bool close() { return take(')') || complain("')' is missing"); }

  bool number() {
    const std::string_view digits = word();
    int64_t value = 0;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failed == std::errc::result_out_of_range) return complain(fmt::format("{} is too large", digits));
    if (end != digits.data() + digits.size()) return complain(fmt::format("'{}' is not a number", digits));
    at_ += digits.size();
    steps_.push_back({Op::number, value, {}});
    return true;
  }

  bool name_or_call(int depth) {
    const size_t begin = at_;
    const std::string_view name = word();
    at_ += name.size();
    if (next() != '(') {
      steps_.push_back({Op::name, 0, std::string(name)});
      return true;
    }
    const auto op = function(name);
    if (!op) {
      at_ = begin;
      return complain(fmt::format("there is no function '{}' (there are min, max, ceil_div)", name));
    }
    ++at_;
    if (!sum(depth + 1)) return false;
    if (!take(',')) return complain(fmt::format("{} takes two arguments: ',' is missing", name));
    return sum(depth + 1) && close() && emit(*op);
  }

  static std::optional<Op> function(std::string_view name) {
    if (name == "min") return Op::min;
    if (name == "max") return Op::max;
    if (name == "ceil_div") return Op::ceil_div;
    return std::nullopt;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string message_;
  std::vector<Expression::Step> steps_;
};

Result<Expression> Expression::parse(std::string_view text) { return ExpressionParser(text).parse(); }

namespace {

// The divisor is not zero, and the quotient fits.
int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

}  // namespace

// False: the result does not fit.
bool Expression::apply(Op op, int64_t left, int64_t right, int64_t& result) {
  const bool divides = op == Op::divide || op == Op::modulo || op == Op::ceil_div;
  if (divides && left == std::numeric_limits<int64_t>::min() && right == -1) return false;
  switch (op) {
    case Op::add:
      return !__builtin_add_overflow(left, right, &result);
    case Op::subtract:
      return !__builtin_sub_overflow(left, right, &result);
    case Op::multiply:
      return !__builtin_mul_overflow(left, right, &result);
    case Op::divide:
      result = floor_div(left, right);
      return true;
    case Op::modulo:
      result = left - floor_div(left, right) * right;
      return true;
    case Op::ceil_div:
      result = floor_div(left, right) + (left % right != 0 ? 1 : 0);
      return true;
    case Op::min:
      result = std::min(left, right);
      return true;
    case Op::max:
      result = std::max(left, right);
      return true;
    case Op::number:
    case Op::name:
    case Op::negate:
      break;
  }
  FB_CHECK(false, "not an operation of two operands");
}

Result<int64_t> Expression::evaluate(const Values& values) const {
  std::vector<int64_t> stack;
  for (const Step& step : steps_) {
    if (step.op == Op::number) {
      stack.push_back(step.number);
      continue;
    }
    if (step.op == Op::name) {
      const auto found = values.find(step.name);
      if (found == values.end()) return error(fmt::format("'{}': '{}' has no value", text_, step.name));
      stack.push_back(found->second);
      continue;
    }
    FB_CHECK(stack.size() >= (step.op == Op::negate ? 1 : 2));
    const int64_t right = stack.back();
    stack.pop_back();
    int64_t result = 0;
    if (step.op == Op::negate) {
      if (!apply(Op::subtract, 0, right, result)) return error(fmt::format("'{}': does not fit into 64 bits", text_));
      stack.push_back(result);
      continue;
    }
    const bool divides = step.op == Op::divide || step.op == Op::modulo || step.op == Op::ceil_div;
    if (divides && right == 0) return error(fmt::format("'{}': division by zero", text_));
    if (!apply(step.op, stack.back(), right, result))
      return error(fmt::format("'{}': does not fit into 64 bits", text_));
    stack.back() = result;
  }
  FB_CHECK(stack.size() == 1);
  return stack.back();
}

std::string Expression::cxx() const {
  std::vector<std::string> stack;
  const auto take = [&] {
    std::string top = std::move(stack.back());
    stack.pop_back();
    return top;
  };
  for (const Step& step : steps_) {
    if (step.op == Op::number || step.op == Op::name) {
      stack.push_back(step.op == Op::name ? step.name : fmt::format("int64_t{{{}}}", step.number));
      continue;
    }
    const std::string right = take();
    if (step.op == Op::negate) {
      stack.push_back(fmt::format("(-{})", right));
      continue;
    }
    const std::string left = take();
    constexpr auto kSpelling = [](Op op) -> std::string_view {
      switch (op) {
        case Op::add:
          return "({} + {})";
        case Op::subtract:
          return "({} - {})";
        case Op::multiply:
          return "({} * {})";
        case Op::divide:
          return "floor_div({}, {})";
        case Op::modulo:
          return "floor_mod({}, {})";
        case Op::ceil_div:
          return "ceil_div({}, {})";
        case Op::min:
          return "std::min({}, {})";
        default:
          return "std::max({}, {})";
      }
    };
    stack.push_back(fmt::format(fmt::runtime(kSpelling(step.op)), left, right));
  }
  FB_CHECK(stack.size() == 1);
  return stack.back();
}

std::set<std::string> Expression::names() const {
  std::set<std::string> names;
  for (const Step& step : steps_) {
    if (step.op == Op::name) names.insert(step.name);
  }
  return names;
}

}  // namespace fb::catalog
