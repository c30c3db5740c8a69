#include "machine/exact/reductions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "common/base/strings.h"
#include "machine/exact/exact_numbers.h"

namespace fb::reductions {
namespace {

using cases::Format;
using cases::Round;
using Maybe = std::optional<uint64_t>;

// A cell of a lane; two operands, or what it returns.
constexpr uint32_t kLanes = 32, kCell = 16, kArea = kLanes * kCell, kOperands = 2 * kCell;
constexpr uint64_t kOld = 0x5A5A'5A5A'5A5A'5A5A;

uint64_t low(uint64_t value, uint32_t bits) { return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1); }

int64_t with_sign(uint64_t value, uint32_t bits) { return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits); }

uint32_t bits_of(const std::string& type) {
  if (type == "e4m3" || type == "e5m2") return 8;
  return static_cast<uint32_t>(std::stoul(type.substr(type.find_first_of("0123456789"))));
}

Reduction read_reduction(const std::string& opcode) {
  Reduction r;
  r.opcode = opcode;
  r.multimem = opcode.starts_with("multimem");
  r.kind = opcode.contains("bulk")        ? Kind::bulk
           : opcode.contains("ld_reduce") ? Kind::load_reduce
           : opcode.contains(".st.")      ? Kind::store
           : opcode.starts_with("atom")   ? Kind::atom
                                          : Kind::red;
  static constexpr std::string_view kOperations[] = {"add", "min", "max", "and",  "or",
                                                     "xor", "inc", "dec", "exch", "cas"};
  for (const std::string_view part : split(opcode, '.')) {
    const std::string word(part);
    if (std::ranges::find(kOperations, word) != std::end(kOperations)) r.operation = word;
    if (word == "global" || word.starts_with("shared")) r.space = word;
    if (word == "v2" || word == "v4" || word == "v8") r.registers = static_cast<uint32_t>(word[1] - '0');
    if (word.starts_with("acc::")) r.sums = word.substr(5);
    const std::string element = word.substr(0, word.find('x'));
    const bool number = word.size() > 1 && std::string_view("busf").contains(word[0]) &&
                        std::isdigit(static_cast<unsigned char>(word[1])) != 0;
    if (!number && !cases::format_of(element)) continue;
    r.type = element;
    r.element_bits = bits_of(element);
    if (element != word) r.in_register = static_cast<uint32_t>(word.back() - '0');
  }
  // Beside shared memory, a bulk copy names the memory that it reduces.
  if (r.kind == Kind::bulk) r.space = "global";
  return r;
}

void read_values(const std::string& row, List& list) {
  const size_t colon = row.find(" : "), dot = row.find('.');
  const std::string examples = row.substr(colon + 3);
  for (const std::string_view example : split(examples, ',')) {
    Written w{.operation = row.substr(0, dot), .type = row.substr(dot + 1, colon - dot - 1)};
    std::vector<uint64_t> numbers;
    for (const std::string_view word : split(example, ' ')) {
      if (!word.empty() && word != "=") numbers.push_back(std::stoull(std::string(word), nullptr, 16));
    }
    w.old = numbers.at(0);
    w.operand = numbers.at(1);
    if (numbers.size() == 4) w.second = numbers[2];
    w.result = numbers.back();
    list.values.push_back(w);
  }
}

double number_of(const Format& f, uint64_t code) { return cases::is_nan(f, code) ? NAN : cases::value_of(f, code); }

Maybe smaller(const Format& f, uint64_t a, uint64_t b, bool largest) {
  if (cases::is_nan(f, a)) return cases::is_nan(f, b) ? f.nan : b;
  if (cases::is_nan(f, b)) return a;
  // Codes without their sign go up with the magnitude.
  const auto key = [&](uint64_t code) {
    const auto magnitude = static_cast<int64_t>(code & (cases::sign_bit(f) - 1));
    return cases::is_negative(f, code) ? -magnitude - 1 : magnitude;
  };
  return (key(a) < key(b)) != largest ? a : b;
}

// Rounded once; what is too large for 8 bits becomes the largest finite number.
uint64_t rounded(const Format& to, double value, bool saturate) {
  const uint64_t code = cases::multiply(to, Round::nearest_even, value, 1);
  return saturate && cases::is_infinite(to, code) ? code - 1 : code;
}

// What the members of a multicast object give together.
Maybe fold(const Reduction& r, const std::vector<uint64_t>& members) {
  if (r.operation == "add" && cases::format_of(r.type) && r.element_bits <= 16) {
    const Format &f = *cases::format_of(r.type), &sums = r.sums.empty() ? f : *cases::format_of(r.sums);
    double sum = number_of(f, members[0]);
    for (size_t m = 1; m < members.size(); ++m) {
      const uint64_t code = cases::add(sums, Round::nearest_even, sum, number_of(f, members[m]));
      sum = number_of(sums, r.element_bits == 8 && cases::is_infinite(sums, code) && r.sums.empty() ? code - 1 : code);
    }
    return rounded(f, sum, r.element_bits == 8);
  }
  Maybe result = members[0];
  for (size_t m = 1; m < members.size() && result; ++m)
    result = combine(r.operation, r.type, *result, members[m], 0, false);
  return result;
}

class Writer {
 public:
  Writer() {
    text_ = fmt::format(
        ".version 9.1\n.target sm_100a\n.address_size 64\n"
        ".visible .entry reductions(.param .u64 cells, .param .u64 in, .param .u64 out)\n{{\n"
        "  .reg .pred %odd;\n  .reg .b32 %lane, %t;\n  .reg .b64 %cells, %in, %out, %own, %a, %x, %y;\n"
        "  .shared .align 16 .b8 tile[{}];\n  mov.u32 %lane, %tid.x;\n  and.b32 %t, %lane, 1;\n"
        "  setp.ne.u32 %odd, %t, 0;\n  ld.param.u64 %in, [in];\n  mad.wide.u32 %in, %lane, {}, %in;\n"
        "  ld.param.u64 %out, [out];\n  mad.wide.u32 %out, %lane, {}, %out;\n"
        "  ld.param.u64 %cells, [cells];\n  mad.wide.u32 %own, %lane, {}, %cells;\n"
        "  mov.u64 %x, tile;\n  mad.wide.u32 %x, %lane, {}, %x;\n",
        kArea, kOperands, kCell, kCell, kCell);
  }

  void write(const Reduction& r, bool shared, bool odd_only) {
    const uint32_t w = r.register_bits();
    text_ += fmt::format("  {{\n  .reg .b{} %r<8>, %e<8>, %f<8>;\n", w);
    const auto each = [&](const char* format, const char* name, const char* from, uint32_t offset) {
      for (uint32_t k = 0; k < r.registers; ++k)
        text_ += fmt::format(fmt::runtime(format), w, name, k, from, offset + k * w / 8);
    };
    each("  ld.global.b{} {}{}, [{}+{}];\n", "%e", "%in", 0);
    each("  ld.global.b{} {}{}, [{}+{}];\n", "%f", "%in", kCell);
    each("  ld.global.b{} {}{}, [{}+{}];\n", "%r", "%out", 0);
    text_ += "  mov.u64 %a, %own;\n";
    if (shared) copy("shared", "%x", "global", "%own");
    if (shared) text_ += r.space.empty() ? "  cvta.shared.u64 %a, %x;\n" : "  mov.u64 %a, %x;\n";
    if (r.kind == Kind::bulk) {
      copy("shared", "%x", "global", "%in");
      text_ += "  fence.proxy.async.shared::cta;\n";
    }
    const std::string result = list("%r", r), operand = list("%e", r);
    text_ += fmt::format("  {}{} {};\n", odd_only ? "@%odd " : "", r.opcode,
                         r.kind == Kind::load_reduce ? result + ", [%a]"
                         : r.kind == Kind::bulk      ? fmt::format("[%a], [%x], {}", kCell)
                         : r.kind != Kind::atom      ? "[%a], " + operand
                         : r.operation == "cas"      ? result + ", [%a], " + operand + ", " + list("%f", r)
                                                     : result + ", [%a], " + operand);
    if (r.kind == Kind::bulk) text_ += "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n";
    if (shared) copy("global", "%own", "shared", "%x");
    for (uint32_t k = 0; k < r.registers; ++k)
      text_ += fmt::format("  st.global.b{} [%out+{}], %r{};\n", w, k * w / 8, k);
    text_ += fmt::format("  add.u64 %in, %in, {};\n  add.u64 %out, %out, {};\n  add.u64 %own, %own, {};\n  }}\n",
                         kLanes * kOperands, kArea, kArea);
  }

  std::string end() { return text_ + "  ret;\n}\n"; }

 private:
  static std::string list(const char* name, const Reduction& r) {
    if (r.registers == 1) return fmt::format("{}0", name);
    std::string text;
    for (uint32_t k = 0; k < r.registers; ++k) text += fmt::format("{}{}{}", k == 0 ? "{" : ", ", name, k);
    return text + "}";
  }

  void copy(const char* to_space, const char* to, const char* from_space, const char* from) {
    for (const uint32_t at : {0, 8})
      text_ +=
          fmt::format("  ld.{}.b64 %y, [{}+{}];\n  st.{}.b64 [{}+{}], %y;\n", from_space, from, at, to_space, to, at);
  }

  std::string text_;
};

uint64_t draw_value(const std::string& type, uint32_t bits, Rng& rng) {
  const uint64_t any = low(rng.next(), bits);
  const Format* f = cases::format_of(type);
  // What infinities of 8 bits give is said nowhere.
  if (f && bits == 8) return cases::is_infinite(*f, any) ? any - 1 : any;
  if (f && rng.below(2) == 0) {
    // Near 1, so that sums round.
    const uint64_t bias = (uint64_t{1} << (f->exponent_bits - 1)) - 4 + rng.below(8);
    return (any & ~(((uint64_t{1} << f->exponent_bits) - 1) << f->mantissa_bits)) | bias << f->mantissa_bits;
  }
  if (rng.below(3) != 0) return any;
  const uint64_t corner = f ? f->largest + rng.below(3) : low(~uint64_t{0}, bits - static_cast<uint32_t>(rng.below(2)));
  return rng.below(2) == 0 ? rng.below(4) : corner;
}

uint64_t get(const std::byte* at, uint32_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}

// Memory whose values may be unknown, by words of 64 bits.
struct Image {
  explicit Image(std::vector<uint64_t> words) : words_(std::move(words)), unknown_(words_.size()) {}
  void put(uint64_t at, uint32_t bytes, Maybe value) {
    if (!value) unknown_[at / 8] = true;
    const uint64_t bits = value.value_or(0);
    std::memcpy(reinterpret_cast<std::byte*>(words_.data()) + at, &bits, bytes);
  }
  std::vector<Maybe> values() const {
    std::vector<Maybe> all;
    for (size_t k = 0; k < words_.size(); ++k) all.push_back(unknown_[k] ? std::nullopt : Maybe(words_[k]));
    return all;
  }

 private:
  std::vector<uint64_t> words_;
  std::vector<bool> unknown_;
};

}  // namespace

List read_list(const std::string& text) {
  List list;
  for (const std::string_view row : split(text, '\n')) {
    if (row.starts_with("//")) continue;
    if (row.contains(" : ")) {
      read_values(std::string(row), list);
      continue;
    }
    for (const std::string_view word : split(row, ' ')) {
      if (!word.empty()) list.reductions.push_back(read_reduction(std::string(word)));
    }
  }
  return list;
}

Maybe combine(const std::string& operation, const std::string& type, uint64_t old, uint64_t operand, uint64_t second,
              bool flush) {
  const uint32_t bits = std::min(bits_of(type), 64U);
  if (operation == "and") return old & operand;
  if (operation == "or") return old | operand;
  if (operation == "xor") return old ^ operand;
  if (operation == "exch" || operation.empty()) return operand;
  if (operation == "cas") return old == operand ? second : old;
  if (operation == "inc") return old >= operand ? 0 : old + 1;
  if (operation == "dec") return old == 0 || old > operand ? operand : old - 1;
  const bool add = operation == "add", largest = operation == "max";
  if (const Format* f = cases::format_of(type)) {
    if (!add) return smaller(*f, old, operand, largest);
    if (flush) old = cases::flush(*f, old), operand = cases::flush(*f, operand);
    const uint64_t sum = cases::add(*f, Round::nearest_even, number_of(*f, old), number_of(*f, operand));
    if (cases::is_nan(*f, sum) && bits == 64) return std::nullopt;
    return flush ? cases::flush(*f, sum) : sum;
  }
  if (add) return low(old + operand, bits);
  const bool less = type[0] == 's' ? with_sign(old, bits) < with_sign(operand, bits) : old < operand;
  return less != largest ? old : operand;
}

Program make_program(const List& list, bool multimem, Rng& rng) {
  Program p;
  Writer writer;
  std::vector<Reduction> chosen;
  for (const Reduction& r : list.reductions) {
    if (r.multimem == multimem) chosen.push_back(r);
  }
  const uint32_t members = multimem ? kMembers : 1;
  for (uint32_t m = 0; m < members; ++m) p.cells[m].resize(chosen.size() * kArea / 8);
  p.in.resize(chosen.size() * kLanes * kOperands / 8);
  for (const Reduction& r : chosen) {
    std::vector<const Written*> written;
    for (const Written& w : list.values) {
      if (w.operation == r.operation && w.type == r.type) written.push_back(&w);
    }
    const auto index = static_cast<uint64_t>(&r - chosen.data());
    const uint32_t bytes = r.element_bits > 64 ? 8 : r.element_bits / 8;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      auto* operands = reinterpret_cast<std::byte*>(p.in.data()) + (index * kLanes + lane) * kOperands;
      for (uint32_t at = 0; at < kCell; at += bytes) {
        const auto draw = [&] { return draw_value(r.type, 8 * bytes, rng); };
        uint64_t old = draw(), operand = draw(), second = draw();
        // Of 128 bits, halves must not be equal by themselves.
        if (rng.below(4) == 0 && r.element_bits <= 64) operand = old;
        if (r.element_bits > 64 && lane % 2 == 0) operand = old;
        if (!written.empty() && rng.below(3) == 0) {
          const Written& w = *written[rng.below(written.size())];
          old = w.old, operand = w.operand, second = w.second;
        }
        std::memcpy(operands + at, &operand, bytes);
        std::memcpy(operands + kCell + at, &second, bytes);
        for (uint32_t m = 0; m < members; ++m) {
          const uint64_t cell = m == 0 ? old : m == 1 && r.kind == Kind::load_reduce ? operand : draw();
          std::memcpy(reinterpret_cast<std::byte*>(p.cells[m].data()) + index * kArea + lane * kCell + at, &cell,
                      bytes);
        }
      }
    }
  }
  Image out(std::vector<uint64_t>(chosen.size() * kArea / 8, kOld));
  std::vector<Image> left;
  for (uint32_t m = 0; m < members; ++m) left.emplace_back(p.cells[m]);
  for (const Reduction& r : chosen) {
    const auto index = static_cast<uint64_t>(&r - chosen.data());
    const bool shared = r.space.starts_with("shared") || (r.space.empty() && !r.multimem && rng.below(2) == 0);
    const bool odd_only = rng.below(3) == 0;
    const bool flush = !shared && r.type == "f32" && r.kind != Kind::load_reduce;
    writer.write(r, shared, odd_only);
    const uint32_t bytes = r.element_bits / 8, all = r.kind == Kind::bulk ? kCell : r.bytes();
    for (uint32_t lane = odd_only ? 1 : 0; lane < kLanes; lane += odd_only ? 2 : 1) {
      const uint64_t place = index * kArea + lane * kCell;
      const auto* operands = reinterpret_cast<const std::byte*>(p.in.data()) + (index * kLanes + lane) * kOperands;
      const auto cell = [&](uint32_t m) { return reinterpret_cast<const std::byte*>(p.cells[m].data()) + place; };
      if (bytes == 16) {
        const bool stores = r.operation == "exch" || std::memcmp(cell(0), operands, 16) == 0;
        for (const uint32_t at : {0U, 8U}) {
          out.put(place + at, 8, get(cell(0) + at, 8));
          if (stores) left[0].put(place + at, 8, get(operands + (r.operation == "exch" ? 0 : kCell) + at, 8));
        }
        continue;
      }
      for (uint32_t at = 0; at < all; at += bytes) {
        if (r.kind == Kind::load_reduce) {
          std::vector<uint64_t> values;
          for (uint32_t m = 0; m < members; ++m) values.push_back(get(cell(m) + at, bytes));
          out.put(place + at, bytes, fold(r, values));
          continue;
        }
        if (r.kind == Kind::atom) out.put(place + at, bytes, get(cell(0) + at, bytes));
        for (uint32_t m = 0; m < members; ++m) {
          left[m].put(place + at, bytes,
                      combine(r.operation, r.type, get(cell(m) + at, bytes), get(operands + at, bytes),
                              get(operands + kCell + at, bytes), flush));
        }
      }
    }
  }
  p.out = out.values();
  for (uint32_t m = 0; m < members; ++m) p.cells_left[m] = left[m].values();
  p.ptx = writer.end();
  return p;
}

}  // namespace fb::reductions
