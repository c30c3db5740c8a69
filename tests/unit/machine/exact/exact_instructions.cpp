#include "machine/exact/exact_instructions.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>

#include "common/base/strings.h"
#include "machine/exact/exact_numbers.h"

namespace fb::cases {
namespace {

using Wide = __int128;
using UWide = unsigned __int128;
using Maybe = std::optional<uint64_t>;
using Strings = std::vector<std::string>;

struct NotComputed {};  // thrown and caught in this file

uint64_t low(uint64_t value, uint32_t bits) { return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1); }

struct Type {
  std::string name;  // of one element
  char kind = 0;     // u, s, b or f
  uint32_t bits = 0;
  uint32_t elements = 1;

  uint32_t all_bits() const { return bits * elements; }
  const Format& format() const {
    const Format* f = format_of(name);
    if (!f) throw NotComputed{};
    return *f;
  }
  Wide integer(uint64_t value) const {
    value = low(value, bits);
    return kind == 's' && (value >> (bits - 1) & 1) != 0 ? static_cast<Wide>(value) - (Wide{1} << bits)
                                                         : static_cast<Wide>(value);
  }
  Wide least() const { return kind == 's' ? -(Wide{1} << (bits - 1)) : 0; }
  Wide greatest() const { return (Wide{1} << (kind == 's' ? bits - 1 : bits)) - 1; }
  Wide clamp(Wide value) const { return std::clamp(value, least(), greatest()); }
};

std::optional<Type> type_of(std::string word) {
  Type t;
  if (const size_t x = word.rfind('x'); x != std::string::npos && x + 2 == word.size() && x > 1) {
    t.elements = static_cast<uint32_t>(word[x + 1] - '0');
    word.resize(x);
  }
  t.name = word;
  if (word == "pred") {
    t.kind = 'b';
    t.bits = 1;
  } else if (const Format* f = format_of(word)) {
    t.kind = 'f';
    t.bits = word == "tf32" ? 32 : static_cast<uint32_t>(1 + f->exponent_bits + f->mantissa_bits);
    if (t.bits == 6) t.bits = 8;  // e3m2 and e2m3 lie in bytes
  } else if (word == "ue8m0") {
    t.kind = 'f';
    t.bits = 8;
  } else if (word.size() >= 2 && std::string_view("usb").contains(word[0])) {
    t.kind = word[0];
    const auto [end, status] = std::from_chars(word.data() + 1, word.data() + word.size(), t.bits);
    if (status != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return t;
}

// One instruction as written.
struct Instruction {
  std::string name;
  Strings words;  // modifiers, without types
  std::vector<Type> types;
  Strings operands;
  bool pair = false;  // writes p|q

  bool has(std::string_view word) const { return std::ranges::find(words, word) != words.end(); }
  const Type& type(size_t k = 0) const {
    if (k >= types.size()) throw NotComputed{};
    return types[k];
  }
  Round round() const {
    for (const std::string& w : words) {
      if (w.starts_with("rz")) return Round::zero;
      if (w.starts_with("rm")) return Round::down;
      if (w.starts_with("rp")) return Round::up;
      if (w == "rna") return Round::nearest_away;
    }
    return Round::nearest_even;
  }
};

Strings split_operands(std::string_view text) {
  Strings parts;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    depth += (c == '{') - (c == '}');
    if ((c == ',' && depth == 0) || (c == '|' && parts.empty())) {
      parts.emplace_back(trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  parts.emplace_back(trim(part));
  return parts;
}

Instruction read(std::string_view text) {
  const size_t space = text.find(' ');
  Instruction i;
  const auto words = split(text.substr(0, space), '.');
  i.name = words[0];
  for (size_t k = 1; k < words.size(); ++k) {
    if (auto t = type_of(std::string(words[k]))) {
      i.types.push_back(*t);
    } else {
      i.words.emplace_back(words[k]);
    }
  }
  i.operands = split_operands(text.substr(space + 1));
  i.pair = text.substr(0, text.find(',')).contains('|');
  return i;
}

// Integers

bool compare_values(std::string_view how, int order, bool unordered) {
  if (how == "num") return !unordered;
  if (how == "nan") return unordered;
  if (how.size() == 3) return unordered || compare_values(how.substr(0, 2), order, false);
  if (unordered) return false;
  return how == "eq"                  ? order == 0
         : how == "ne"                ? order != 0
         : how == "lt" || how == "lo" ? order < 0
         : how == "le" || how == "ls" ? order <= 0
         : how == "gt" || how == "hi" ? order > 0
                                      : order >= 0;
}

uint64_t reverse(uint64_t value, uint32_t bits) {
  uint64_t result = 0;
  for (uint32_t k = 0; k < bits; ++k) result |= (value >> k & 1) << (bits - 1 - k);
  return result;
}

// The bytes or halves of two registers, each with its sign, multiplied and summed.
uint64_t dot(const Instruction& i, uint64_t a, uint64_t b, uint64_t c) {
  const bool bytes = i.name == "dp4a";
  const Type ta{"", i.type(0).kind, bytes ? 8U : 16U}, tb{"", i.type(1).kind, 8};
  Wide sum = static_cast<Wide>(c);
  for (uint32_t k = 0; k < (bytes ? 4 : 2); ++k) {
    const uint32_t at = i.has("hi") ? 16 : 0;
    sum += ta.integer(a >> k * ta.bits) * tb.integer(b >> (at + k * 8));
  }
  return low(static_cast<uint64_t>(sum), 32);
}

uint64_t permute(const Instruction& i, uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t bytes = a | b << 32;
  const auto byte = [&](uint64_t k) { return bytes >> (8 * (k & 7)) & 0xFF; };
  uint64_t result = 0;
  for (uint64_t k = 0; k < 4; ++k) {
    const uint64_t s = c & 3;
    uint64_t value = 0;
    if (i.has("f4e")) {
      value = byte(s + k);
    } else if (i.has("b4e")) {
      value = byte(s + 8 - k);
    } else if (i.has("rc8")) {
      value = byte(s);
    } else if (i.has("ecl")) {
      value = byte(std::max(s, k));
    } else if (i.has("ecr")) {
      value = byte(std::min(s, k));
    } else if (i.has("rc16")) {
      value = byte((s & 1) * 2 + (k & 1));
    } else {
      const uint64_t selector = c >> (4 * k) & 15;
      value = byte(selector);
      if ((selector & 8) != 0) value = (value & 0x80) != 0 ? 0xFF : 0;
    }
    result |= value << (8 * k);
  }
  return result;
}

uint64_t extract_bits(const Type& t, uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t position = b & 0xFF, length = c & 0xFF;
  if (length == 0) return 0;
  const auto bit = [&](uint64_t k) { return a >> std::min<uint64_t>(k, t.bits - 1) & 1; };
  const uint64_t top = t.kind == 's' ? bit(std::min<uint64_t>(position + length - 1, t.bits - 1)) : 0;
  uint64_t result = 0;
  for (uint64_t k = 0; k < t.bits; ++k) result |= (k < length && position + k < t.bits ? bit(position + k) : top) << k;
  return result;
}

uint64_t insert_bits(const Type& t, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  const uint64_t position = c & 0xFF, length = d & 0xFF;
  for (uint64_t k = 0; k < length && position + k < t.bits && k < 64; ++k)
    b = (b & ~(uint64_t{1} << (position + k))) | (a >> k & 1) << (position + k);
  return b;
}

// Shifts one bit at a time, so that no amount is special.
uint64_t shift(const Type& t, bool left, uint64_t a, uint64_t amount) {
  const bool fill = t.kind == 's' && (a >> (t.bits - 1) & 1) != 0;
  for (uint64_t k = 0; k < std::min<uint64_t>(amount, 64); ++k)
    a = left ? low(a << 1, t.bits) : a >> 1 | static_cast<uint64_t>(fill) << (t.bits - 1);
  return a;
}

uint64_t funnel(const Instruction& i, uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t n = i.has("wrap") ? c % 32 : std::min<uint64_t>(c, 32);
  const UWide both = UWide{b} << 32 | a;
  return low(static_cast<uint64_t>(i.has("l") ? both << n >> 32 : both >> n), 32);
}

uint64_t find_nth(uint64_t mask, uint64_t base, int64_t offset) {
  if (offset == 0) return (mask >> base & 1) != 0 ? base : 0xFFFF'FFFF;
  const int step = offset > 0 ? 1 : -1;
  int64_t left = std::abs(offset);
  for (int64_t at = static_cast<int64_t>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<uint64_t>(at);
  }
  return 0xFFFF'FFFF;
}

uint64_t byte_differences(const Instruction& i, uint64_t a, uint64_t b, uint64_t c) {
  const Type ta{"", i.type(1).kind, 8}, tb{"", i.type(2).kind, 8};
  for (uint32_t k = 0; k < 4; ++k) {
    const Wide difference = ta.integer(a >> 8 * k) - tb.integer(b >> 8 * k);
    c += static_cast<uint64_t>(difference < 0 ? -difference : difference);
  }
  return low(c, 32);
}

// Floating point of one element

uint64_t saturated(const Format& f, uint64_t code) {
  if (is_nan(f, code) || is_negative(f, code)) return 0;
  const uint64_t one = ((uint64_t{1} << (f.exponent_bits - 1)) - 1) << f.mantissa_bits;
  return std::min(code, one);
}

uint64_t finished(const Instruction& i, const Format& f, uint64_t code) {
  // Of conversions it flushes what is an f32 only.
  if (i.has("ftz") && (i.name != "cvt" || &f == &kF32)) code = flush(f, code);
  if (i.has("sat")) code = saturated(f, code);
  if (i.has("relu") && !is_nan(f, code) && is_negative(f, code)) code = 0;
  return code;
}

double operand_value(const Format& f, uint64_t code) { return is_nan(f, code) ? NAN : value_of(f, code); }

Maybe extreme(const Instruction& i, const Format& f, std::vector<uint64_t> codes) {
  const bool least = i.name == "min", xorsign = i.has("xorsign");
  uint64_t sign = 0;
  for (uint64_t& c : codes) {
    if (i.has("ftz")) c = flush(f, c);
    sign ^= c & sign_bit(f);
    if (i.has("abs")) c &= sign_bit(f) - 1;
  }
  const bool nan = std::ranges::any_of(codes, [&](uint64_t c) { return is_nan(f, c); });
  if (nan && i.has("NaN")) return f.nan;
  std::erase_if(codes, [&](uint64_t c) { return is_nan(f, c); });
  if (codes.empty()) return f.nan;
  // -0 is below +0.
  const auto below = [&](uint64_t a, uint64_t b) {
    const double x = value_of(f, a), y = value_of(f, b);
    return x != y ? x < y : is_negative(f, a) && !is_negative(f, b);
  };
  const uint64_t code = least ? *std::ranges::min_element(codes, below) : *std::ranges::max_element(codes, below);
  if (xorsign && nan) return std::nullopt;
  return xorsign ? code | sign : code;
}

Maybe arithmetic(const Instruction& i, const Format& to, std::vector<uint64_t> codes,
                 const std::vector<const Format*>& formats) {
  std::vector<double> x;
  for (size_t k = 0; k < codes.size(); ++k) {
    if (i.has("ftz")) codes[k] = flush(*formats[k], codes[k]);
    x.push_back(operand_value(*formats[k], codes[k]));
  }
  const Round r = i.round();
  const std::string& n = i.name;
  uint64_t code = 0;
  if (n == "add") {
    code = add(to, r, x[0], x[1]);
  } else if (n == "sub") {
    code = add(to, r, x[0], -x[1]);
  } else if (n == "mul") {
    code = multiply(to, r, x[0], x[1]);
  } else if (n == "fma" || n == "mad") {
    code = fma(to, r, x[0], x[1], x[2]);
  } else if (n == "div") {
    code = divide(to, r, x[0], x[1]);
  } else if (n == "rcp") {
    code = divide(to, r, 1, x[0]);
  } else if (n == "sqrt") {
    code = square_root(to, r, x[0]);
  } else {
    throw NotComputed{};
  }
  // Which NaN an f64 instruction gives is open.
  if (is_nan(to, code) && &to == &kF64 && !i.has("sat")) return std::nullopt;
  return finished(i, to, code);
}

bool is_of_class(const Instruction& i, uint64_t code) {
  const Format& f = i.type().format();
  const bool nan = is_nan(f, code), infinite = is_infinite(f, code), subnormal = is_subnormal(f, code);
  const bool zero = (code & (sign_bit(f) - 1)) == 0;
  return i.has("finite")       ? !nan && !infinite
         : i.has("infinite")   ? infinite
         : i.has("number")     ? !nan
         : i.has("notanumber") ? nan
         : i.has("normal")     ? !nan && !infinite && !subnormal && !zero
                               : subnormal;
}

// Conversions of one element

Maybe to_integer(const Instruction& i, const Type& to, const Type& from, uint64_t code) {
  const Format& f = from.format();
  if (i.has("ftz") && &f == &kF32) code = flush(f, code);
  if (is_nan(f, code)) return std::nullopt;
  const double x = to_integral(i.round(), value_of(f, code));
  const double edge = 1e30;
  return static_cast<uint64_t>(to.clamp(static_cast<Wide>(std::clamp(x, -edge, edge))));
}

Maybe to_float(const Instruction& i, const Type& to, const Type& from, uint64_t value) {
  const Wide x = from.integer(value);
  const Wide high = x >> 32, rest = x - (high << 32);
  return finished(i, to.format(),
                  from_integer(to.format(), i.round(), static_cast<double>(high), static_cast<double>(rest)));
}

Maybe float_to_float(const Instruction& i, const Type& to, const Type& from, uint64_t code) {
  const Format &f = from.format(), &t = to.format();
  if (i.has("ftz") && &f == &kF32) code = flush(f, code);
  const bool integral = i.has("rni") || i.has("rzi") || i.has("rmi") || i.has("rpi");
  double x = operand_value(f, code);
  if (integral && std::isfinite(x)) x = to_integral(i.round(), x);
  // A bf16 that becomes an f32 is moved; what its NaN becomes is open, as of an f64.
  if (std::isnan(x) && (t.nan == 0 || &t == &kF64 || &f == &kBf16)) return std::nullopt;
  if (std::isinf(x) && i.has("satfinite")) x = x > 0 ? 1e300 : -1e300;
  uint64_t result = 0;
  if (std::isfinite(x)) {
    const Round r = i.round();
    const Twice twice = [&](double u, double v) {
      const double s = x - u, e = x - v;  // of neighbours: exact, or the sign is clear
      return s + e > 0 ? 1 : s + e < 0 ? -1 : 0;
    };
    if (&t == &kF64) {
      result = std::bit_cast<uint64_t>(x);
    } else {
      result = round_to(t, r, twice, std::signbit(x), i.has("satfinite"));
    }
  } else {
    result = add(t, Round::nearest_even, x, x);
  }
  result = finished(i, t, result);
  if (to.name == "tf32") return is_nan(t, result) ? kF32.nan : result << 13;
  return result;
}

class Evaluation {
 public:
  Evaluation(const Case& c, const Values& in) {
    for (size_t k = 0; k < c.read.size(); ++k) registers_[c.read[k].name] = in[k];
    for (const auto* list : {&c.read, &c.written, &c.temporary}) {
      for (const Register& r : *list) bits_[r.name] = r.bits;
    }
    for (const std::string& text : c.instructions) execute(text);
  }

  Maybe value(const std::string& name) const { return registers_.at(name); }

 private:
  uint64_t read_operand(std::string text) const {
    const bool negated = text.starts_with('!');
    if (negated) text = text.substr(1);
    if (const auto found = registers_.find(text); found != registers_.end()) {
      if (!found->second) throw NotComputed{};
      return negated ? *found->second ^ 1 : *found->second;
    }
    if (text.starts_with("0f") || text.starts_with("0d") || text.starts_with("0x"))
      return std::stoull(text.substr(2), nullptr, 16);
    if (text.find_first_not_of("-0123456789") != std::string::npos) throw NotComputed{};
    return text.starts_with('-') ? static_cast<uint64_t>(std::stoll(text)) : std::stoull(text);
  }

  uint64_t operand(const Instruction& i, size_t k, uint32_t bits) const {
    return low(read_operand(i.operands.at(k)), bits);
  }

  void write(const std::string& name, Maybe value) {
    if (name == "_") return;
    registers_[name] = value ? Maybe(low(*value, bits_.at(name))) : value;
  }

  // Elements of a type of several are computed apart.
  template <class F>
  Maybe by_element(const Type& t, F f) {
    uint64_t result = 0;
    for (uint32_t k = 0; k < t.elements; ++k) {
      const Maybe one = f(k * t.bits);
      if (!one) return std::nullopt;
      result |= low(*one, t.bits) << (k * t.bits);
    }
    return result;
  }

  void execute(const std::string& text) {
    if (text.starts_with('@')) throw NotComputed{};
    const Instruction i = read(text);
    if (i.has("approx") || i.has("full")) throw NotComputed{};
    const std::string& n = i.name;
    if (n == "setp") return set_predicate(i);
    if (n == "mov") return move(i);
    if (n == "lop3" && i.pair) return logic_with_predicate(i);
    write(i.operands.at(0), n == "cvt"             ? convert(i)
                            : n == "set"           ? set(i)
                            : i.type().kind == 'f' ? floating(i)
                                                   : integer(i));
  }

  // Comparisons

  bool compare_at(const Instruction& i, const Type& t, uint32_t shift, size_t first) const {
    uint64_t a = operand(i, first, t.all_bits()) >> shift, b = operand(i, first + 1, t.all_bits()) >> shift;
    a = low(a, t.bits);
    b = low(b, t.bits);
    const std::string& how = i.words.at(0);
    if (t.kind != 'f') {
      const Wide x = t.integer(a), y = t.integer(b);
      return compare_values(how, x < y ? -1 : x > y, false);
    }
    const Format& f = t.format();
    if (i.has("ftz")) {
      a = flush(f, a);
      b = flush(f, b);
    }
    const bool unordered = is_nan(f, a) || is_nan(f, b);
    const double x = unordered ? 0 : value_of(f, a), y = unordered ? 0 : value_of(f, b);
    return compare_values(how, x < y ? -1 : x > y, unordered);
  }

  bool combine(const Instruction& i, bool value, size_t condition) const {
    if (condition >= i.operands.size()) return value;
    const bool c = read_operand(i.operands[condition]) != 0;
    return i.has("and") ? value && c : i.has("or") ? value || c : value != c;
  }

  void set_predicate(const Instruction& i) {
    const Type& t = i.type();
    const size_t first = i.pair ? 2 : 1;
    const bool p = compare_at(i, t, 0, first);
    write(i.operands[0], combine(i, p, first + 2));
    if (i.pair) write(i.operands[1], combine(i, t.elements == 2 ? compare_at(i, t, t.bits, first) : !p, first + 2));
  }

  Maybe set(const Instruction& i) {
    const Type &d = i.type(0), &t = i.type(1);
    uint64_t result = 0;
    const uint32_t width = d.all_bits() / t.elements;
    for (uint32_t k = 0; k < t.elements; ++k) {
      const bool is = combine(i, compare_at(i, t, k * t.bits, 1), 3);
      const uint64_t yes = d.kind == 'f' ? (d.name == "f32"   ? 0x3F80'0000
                                            : d.name == "f16" ? 0x3C00
                                                              : 0x3F80)
                                         : ~uint64_t{0};
      result |= (is ? low(yes, width) : 0) << (k * width);
    }
    return result;
  }

  // Moves

  void move(const Instruction& i) {
    const std::string &d = i.operands[0], &a = i.operands[1];
    const auto list = [](const std::string& text) {
      Strings names = split_operands(std::string_view(text).substr(1, text.size() - 2));
      return names;
    };
    if (i.type().bits > 64) throw NotComputed{};
    if (a.starts_with('{')) {
      const Strings parts = list(a);
      const auto bits = static_cast<uint32_t>(i.type().bits / parts.size());
      uint64_t value = 0;
      for (size_t k = 0; k < parts.size(); ++k) value |= low(read_operand(parts[k]), bits) << (k * bits);
      write(d, value);
    } else if (d.starts_with('{')) {
      const Strings parts = list(d);
      const auto bits = static_cast<uint32_t>(i.type().bits / parts.size());
      const uint64_t value = read_operand(a);
      for (size_t k = 0; k < parts.size(); ++k) write(parts[k], low(value >> (k * bits), bits));
    } else {
      write(d, operand(i, 1, i.type().bits));
    }
  }

  void logic_with_predicate(const Instruction& i) {
    const uint64_t value = lookup(i, 2);
    const bool c = read_operand(i.operands[6]) != 0;
    write(i.operands[0], value);
    write(i.operands[1], i.has("and") ? value != 0 && c : value != 0 || c);
  }

  uint64_t lookup(const Instruction& i, size_t first) const {
    const uint64_t a = operand(i, first, 32), b = operand(i, first + 1, 32), c = operand(i, first + 2, 32),
                   table = operand(i, first + 3, 8);
    uint64_t value = 0;
    for (uint32_t k = 0; k < 32; ++k) value |= (table >> ((a >> k & 1) * 4 + (b >> k & 1) * 2 + (c >> k & 1)) & 1) << k;
    return value;
  }

  // Conversions

  Maybe convert(const Instruction& i) {
    const Type &to = i.type(0), &from = i.type(1);
    if (i.has("rs") || to.name == "ue8m0" || from.name == "ue8m0") throw NotComputed{};
    if (i.has("pack")) {
      uint64_t value = low(static_cast<uint64_t>(to.clamp(from.integer(operand(i, 1, 32)))), to.bits) << to.bits |
                       low(static_cast<uint64_t>(to.clamp(from.integer(operand(i, 2, 32)))), to.bits);
      if (to.bits == 8) value |= operand(i, 3, 32) << 16;
      return value;
    }
    if (to.elements == 2 && from.elements == 1) {
      const Maybe upper = float_to_float(i, to, from, operand(i, 1, from.bits)),
                  lower = float_to_float(i, to, from, operand(i, 2, from.bits));
      if (!upper || !lower) return std::nullopt;
      return *upper << to.bits | *lower;
    }
    const uint64_t a = operand(i, 1, from.all_bits());
    if (to.elements > 1) {
      uint64_t result = 0;
      for (uint32_t k = 0; k < to.elements; ++k) {
        const Format& f = from.format();
        const auto width = static_cast<uint32_t>(1 + f.exponent_bits + f.mantissa_bits);
        const Maybe one = float_to_float(i, to, from, low(a >> (k * from.bits), width));
        if (!one) return std::nullopt;
        result |= *one << (k * to.bits);
      }
      return result;
    }
    if (to.kind == 'f') return from.kind == 'f' ? float_to_float(i, to, from, a) : to_float(i, to, from, a);
    Maybe value = from.kind == 'f'
                      ? to_integer(i, to, from, a)
                      : Maybe(static_cast<uint64_t>(i.has("sat") ? to.clamp(from.integer(a)) : from.integer(a)));
    // A wider register takes the sign along.
    if (value) value = static_cast<uint64_t>(to.integer(*value));
    return value;
  }

  // Arithmetic

  Maybe floating(const Instruction& i) {
    const Type& t = i.type();
    const std::string& n = i.name;
    if (n == "testp") return is_of_class(i, operand(i, 1, t.bits)) ? 1 : 0;
    if (n == "selp" || n == "slct") return integer(i);
    const size_t count = i.operands.size() - 1;
    return by_element(t, [&](uint32_t shift) -> Maybe {
      std::vector<uint64_t> codes;
      std::vector<const Format*> formats;
      for (size_t k = 0; k < count; ++k) {
        // The last operand of add.f32.f16 is of the first type, the others of the second.
        const Type& of = i.types.size() > 1 && k + 1 < count ? i.type(1) : t;
        codes.push_back(low(operand(i, k + 1, of.all_bits()) >> shift, of.bits));
        formats.push_back(&of.format());
      }
      const Format& f = t.format();
      if (n == "abs" || n == "neg") {
        const uint64_t a = i.has("ftz") ? flush(f, codes[0]) : codes[0];
        if (is_nan(f, a)) return std::nullopt;
        return n == "abs" ? a & (sign_bit(f) - 1) : a ^ sign_bit(f);
      }
      if (n == "copysign") return (codes[0] & sign_bit(f)) | (codes[1] & (sign_bit(f) - 1));
      if (n == "min" || n == "max") {
        const Maybe code = extreme(i, f, codes);
        return code && is_nan(f, *code) && &f == &kF64 ? std::nullopt : code;
      }
      if (i.has("oob")) throw NotComputed{};
      return arithmetic(i, f, codes, formats);
    });
  }

  // d = value, and the carry or borrow that a .cc leaves.
  uint64_t with_carry(const Instruction& i, Wide value) {
    const Type& t = i.type();
    if (i.has("cc")) carry_ = value < 0 || value >> t.bits != 0;
    return low(static_cast<uint64_t>(value), t.bits);
  }

  Maybe integer(const Instruction& i) {
    const Type& t = i.type();
    const std::string& n = i.name;
    const auto raw = [&](size_t k) { return operand(i, k, t.all_bits()); };
    const auto number = [&](size_t k) { return t.integer(raw(k)); };
    const auto bits32 = [&](size_t k) { return operand(i, k, 32); };
    const auto result = [&](Wide value) { return low(static_cast<uint64_t>(value), t.bits); };
    if (t.elements == 2) {
      return by_element(t, [&](uint32_t shift) -> Maybe {
        const Wide a = t.integer(raw(1) >> shift), b = t.integer(raw(2) >> shift);
        Wide value = n == "add" ? a + b : n == "min" ? std::min(a, b) : std::max(a, b);
        if (i.has("relu")) value = std::max<Wide>(value, 0);
        return static_cast<uint64_t>(value);
      });
    }
    if (n == "and" || n == "or" || n == "xor") {
      return n == "and" ? raw(1) & raw(2) : n == "or" ? raw(1) | raw(2) : raw(1) ^ raw(2);
    }
    if (n == "not") return low(~raw(1), t.bits);
    if (n == "cnot") return raw(1) == 0;
    if (n == "lop3") return lookup(i, 1);
    if (n == "shl" || n == "shr") return shift(t, n == "shl", raw(1), bits32(2));
    if (n == "shf") return funnel(i, raw(1), raw(2), raw(3));
    if (n == "prmt") return permute(i, raw(1), raw(2), raw(3));
    if (n == "selp") return operand(i, 3, 1) != 0 ? raw(1) : raw(2);
    if (n == "slct") return i.type(1).kind == 'f' ? select_by_float(i) : (bits32(3) >> 31) == 0 ? raw(1) : raw(2);
    if (n == "popc") return std::popcount(raw(1));
    if (n == "clz") return std::countl_zero(raw(1)) - (64 - t.bits);
    if (n == "brev") return reverse(raw(1), t.bits);
    if (n == "bfe") return extract_bits(t, raw(1), bits32(2), bits32(3));
    if (n == "bfi") return insert_bits(t, raw(1), raw(2), bits32(3), bits32(4));
    if (n == "bfind") {
      const uint64_t a = number(1) < 0 ? low(~raw(1), t.bits) : raw(1);
      if (a == 0) return 0xFFFF'FFFF;
      const auto highest = static_cast<uint64_t>(std::bit_width(a)) - 1;
      return i.has("shiftamt") ? t.bits - 1 - highest : highest;
    }
    if (n == "fns") return find_nth(raw(1), bits32(2), static_cast<int32_t>(bits32(3)));
    if (n == "szext") {
      const uint64_t count = i.has("wrap") ? bits32(2) % 32 : std::min<uint64_t>(bits32(2), 32);
      return extract_bits(t, raw(1), 0, count);
    }
    if (n == "bmsk") {
      const bool wrap = i.has("wrap");
      const uint64_t from = wrap ? bits32(1) % 32 : std::min<uint64_t>(bits32(1), 32),
                     count = wrap ? bits32(2) % 32 : std::min<uint64_t>(bits32(2), 32);
      return low(((uint64_t{1} << count) - 1) << from, 32);
    }
    if (n == "dp4a" || n == "dp2a") {
      return dot(i, raw(1), raw(2), raw(3));
    }
    if (n == "vabsdiff4") return byte_differences(i, raw(1), raw(2), raw(3));
    const Wide carry = carry_ ? 1 : 0;
    if (n == "add" || n == "sub") {
      if (i.has("cc")) return with_carry(i, n == "add" ? Wide(raw(1)) + Wide(raw(2)) : Wide(raw(1)) - Wide(raw(2)));
      const Wide value = n == "add" ? number(1) + number(2) : number(1) - number(2);
      return result(i.has("sat") ? t.clamp(value) : value);
    }
    if (n == "addc") return with_carry(i, Wide(raw(1)) + Wide(raw(2)) + carry);
    if (n == "subc") return with_carry(i, Wide(raw(1)) - Wide(raw(2)) - carry);
    if (n == "mul" || n == "mad" || n == "madc") return product(i);
    if (n == "mul24" || n == "mad24") {
      const Type narrow{"", t.kind, 24};
      Wide value = narrow.integer(raw(1)) * narrow.integer(raw(2));
      if (i.has("hi")) value >>= 16;
      value = t.integer(static_cast<uint64_t>(value));
      if (n == "mad24") value += number(3);
      return result(i.has("sat") ? t.clamp(value) : value);
    }
    if (n == "sad") {
      const Wide difference = number(1) - number(2);
      return result((difference < 0 ? -difference : difference) + number(3));
    }
    if (n == "div" || n == "rem") {
      if (number(2) == 0) return std::nullopt;
      return result(n == "div" ? number(1) / number(2) : number(1) % number(2));
    }
    if (n == "abs") return result(number(1) < 0 ? -number(1) : number(1));
    if (n == "neg") return result(-number(1));
    if (n == "min" || n == "max") {
      Wide value = n == "min" ? std::min(number(1), number(2)) : std::max(number(1), number(2));
      if (i.has("relu")) value = std::max<Wide>(value, 0);
      return result(value);
    }
    throw NotComputed{};
  }

  Maybe product(const Instruction& i) {
    const Type& t = i.type();
    const Wide a = t.integer(operand(i, 1, t.bits)), b = t.integer(operand(i, 2, t.bits));
    // Of unsigned 64 bits it needs all 128.
    const UWide whole = static_cast<UWide>(a) * static_cast<UWide>(b);
    if (i.has("wide")) {
      const Type twice{"", t.kind, 2 * t.bits};
      const Wide c = i.name == "mad" ? twice.integer(operand(i, 3, twice.bits)) : 0;
      return static_cast<uint64_t>(whole + static_cast<UWide>(c));
    }
    const UWide half = i.has("hi")
                           ? (t.kind == 's' ? static_cast<UWide>(static_cast<Wide>(whole) >> t.bits) : whole >> t.bits)
                           : whole;
    const uint64_t part = low(static_cast<uint64_t>(half), t.bits);
    if (i.name == "mul") return part;
    const uint64_t c = operand(i, 3, t.bits);
    if (i.has("sat")) return low(static_cast<uint64_t>(t.clamp(t.integer(part) + t.integer(c))), t.bits);
    return with_carry(i, Wide(part) + Wide(c) + (i.name == "madc" && carry_ ? 1 : 0));
  }

  Maybe select_by_float(const Instruction& i) {
    uint64_t c = operand(i, 3, 32);
    if (i.has("ftz")) c = flush(kF32, c);
    const bool chosen = !is_nan(kF32, c) && value_of(kF32, c) >= 0;
    return operand(i, chosen ? 1 : 2, i.type().bits);
  }

  std::map<std::string, Maybe> registers_;
  std::map<std::string, uint32_t> bits_;
  bool carry_ = false;
};

}  // namespace

std::optional<std::vector<Maybe>> evaluate(const Case& c, const Values& in) {
  try {
    const Evaluation e(c, in);
    std::vector<Maybe> out;
    for (const Register& r : c.written) out.push_back(e.value(r.name));
    return out;
  } catch (const NotComputed&) {
    return std::nullopt;
  }
}

}  // namespace fb::cases
