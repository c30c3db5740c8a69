#include "judge/data/dictionary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <unordered_set>
#include <utility>

#include "common/base/elf_view.h"
#include "common/base/strings.h"
#include "judge/data/elements.h"

namespace fb::judge {
namespace {

constexpr size_t kMostConstants = 1024;

// Zeros, ones, ends of ranges, and special numbers of f32, f64, f16 and bf16.
constexpr std::array<uint64_t, 24> kSpecial = {0,
                                               ~uint64_t{0},
                                               0x80000000,
                                               0x7fffffff,
                                               0x8000000000000000,
                                               0x7fffffffffffffff,
                                               1,
                                               0xffffffff,
                                               0x7fc00000,
                                               0xffc00000,
                                               0x7fffffff00000000,
                                               0x7ff8000000000000,
                                               0x7f800000,
                                               0xff800000,
                                               0x00000001,
                                               0x7f7fffff,
                                               0x8000,
                                               0x80008000,
                                               0x7c007c00,
                                               0x7f807f80,
                                               0xdeadbeef,
                                               0xdeadbeefdeadbeef,
                                               0xaaaaaaaaaaaaaaaa,
                                               0xcdcdcdcdcdcdcdcd};

class Collection {
 public:
  void add(uint64_t value) {
    if (values_.size() < kMostConstants && known_.insert(value).second) values_.push_back(value);
  }
  std::vector<uint64_t> take() { return std::move(values_); }

 private:
  std::vector<uint64_t> values_;
  std::unordered_set<uint64_t> known_;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.'; }

// "12", "-3", "0x1F", "0f3F800000", "0d3FF0000000000000": PTX has no others that matter.
std::optional<uint64_t> number_of(std::string_view word) {
  const bool negative = word.starts_with('-');
  if (negative) word.remove_prefix(1);
  int base = 10;
  if (word.size() > 2 && word[0] == '0' && std::string_view("xXfFdD").find(word[1]) != std::string_view::npos) {
    base = 16;
    word.remove_prefix(2);
  }
  if (word.ends_with('U')) word.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (failed != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return negative ? 0 - value : value;
}

// Lines that say where code comes from, and sections for debuggers.
bool is_about_source(std::string_view line) {
  for (const std::string_view begin :
       {".loc", ".file", ".version", ".target", ".address_size", ".section", ".b8", ".b16", ".b32", ".b64", "//"}) {
    if (line.starts_with(begin)) return true;
  }
  return false;
}

void collect_ptx(std::string_view ptx, Collection& values) {
  while (!ptx.empty()) {
    const size_t end = std::min(ptx.find('\n'), ptx.size() - 1);
    std::string_view line = trim(ptx.substr(0, end + 1));
    ptx.remove_prefix(end + 1);
    if (is_about_source(line)) continue;
    for (size_t k = 0; k < line.size();) {
      const bool starts = std::isdigit(static_cast<unsigned char>(line[k])) != 0 &&
                          (k == 0 || (!is_word(line[k - 1]) && line[k - 1] != '%'));
      if (!starts) {
        ++k;
        continue;
      }
      size_t stop = k;
      while (stop < line.size() && is_word(line[stop]) && line[stop] != '.') ++stop;
      const size_t begin = k > 0 && line[k - 1] == '-' ? k - 1 : k;
      if (const auto value = number_of(line.substr(begin, stop - begin))) values.add(*value);
      k = stop;
    }
  }
}

template <class T>
T read_at(std::span<const std::byte> bytes, size_t at) {
  T value{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof value) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Bytes of a ModRM operand behind the opcode, with SIB and displacement.
size_t operand_bytes(std::span<const std::byte> code, size_t at) {
  if (at >= code.size()) return 1;
  const auto modrm = static_cast<uint8_t>(code[at]);
  const uint8_t mode = modrm >> 6, base = modrm & 7;
  if (mode == 3) return 1;
  size_t bytes = 1 + (base == 4 ? 1 : 0);
  if (mode == 1) bytes += 1;
  if (mode == 2 || (mode == 0 && base == 5)) bytes += 4;
  return bytes;
}

// Without a disassembler: every byte may be the opcode of an instruction with an immediate. Some are not; what is then
// found does no harm.
void collect_immediates(std::span<const std::byte> code, Collection& values) {
  for (size_t k = 0; k < code.size(); ++k) {
    const auto opcode = static_cast<uint8_t>(code[k]);
    const bool wide = k > 0 && (static_cast<uint8_t>(code[k - 1]) & 0xF8) == 0x48;
    size_t at = 0;
    if (opcode >= 0xB8 && opcode <= 0xBF) {  // mov r, imm
      if (wide) values.add(read_at<uint64_t>(code, k + 1));
      at = k + 1;
    } else if (opcode == 0xC7 || opcode == 0x81 || opcode == 0x69) {  // mov, arithmetic, imul
      at = k + 1 + operand_bytes(code, k + 1);
    } else if (opcode == 0x68 || opcode == 0x3D || opcode == 0xA9) {  // push, cmp, test
      at = k + 1;
    } else {
      continue;
    }
    constexpr uint32_t kLeast = 256;
    if (const auto value = read_at<uint32_t>(code, at); value >= kLeast && value <= 0xFFFFFF00u) values.add(value);
  }
}

void collect_data(std::span<const std::byte> data, Collection& values) {
  constexpr size_t kMostData = 16 << 10;
  for (size_t k = 0; k + 8 <= std::min(data.size(), kMostData); k += 8) {
    values.add(read_at<uint32_t>(data, k));
    values.add(read_at<uint32_t>(data, k + 4));
    values.add(read_at<uint64_t>(data, k));
  }
}

// A number that the fill could have drawn, or zero.
bool is_in_range(const std::string& fill, double value) {
  if (value == 0) return true;
  const double size = std::fabs(value);
  if (!std::isfinite(value)) return false;
  if (fill == "integers") return size <= 8 && value == std::trunc(value);
  if (fill == "unit") return size <= 1 && size >= 0x1p-20;
  return size >= 0x1p-4 && size < 0x1p5;
}

}  // namespace

std::vector<uint64_t> constants_of_ptx(std::string_view ptx) {
  Collection values;
  collect_ptx(ptx, values);
  return values.take();
}

std::vector<uint64_t> constants_of_host_code(std::span<const std::byte> code) {
  Collection values;
  collect_immediates(code, values);
  return values.take();
}

std::vector<uint64_t> constants_of_object(const std::string& path) {
  const std::string file = read_file(path);
  Collection values;
  const auto beside = std::filesystem::path(path).replace_extension(".ptx");
  if (std::filesystem::exists(beside)) collect_ptx(read_file(beside), values);
  for (size_t at = file.find("\n.version "); at != std::string::npos; at = file.find("\n.version ", at + 1))
    collect_ptx(std::string_view(file).substr(at, file.find('\0', at) - at), values);
  const auto elf = ElfView::of(file);
  if (!elf) return values.take();
  for (const Elf64_Shdr& section : elf->sections()) {
    const std::string_view name = elf->name(section).value_or(std::string_view());
    const auto contents = std::as_bytes(std::span(elf->contents(section)));
    if (name == ".text") collect_immediates(contents, values);
    if (name == ".data" || name.starts_with(".rodata.cst")) collect_data(contents, values);
  }
  return values.take();
}

uint64_t Dictionary::draw(Rng& rng, uint32_t call) const {
  const uint64_t kind = rng.below(8);
  if (kind < 3 && !seen.empty()) {
    const uint64_t word = seen[rng.below(seen.size())];
    return word << 32 | word;
  }
  if (kind < 6 && !constants.empty()) {
    const uint64_t value = constants[rng.below(constants.size())];
    return value > UINT32_MAX ? value : value << 32 | value;
  }
  if (kind == 6) return call + rng.below(4);
  return kSpecial[rng.below(kSpecial.size())];
}

void plant(const catalog::Tensor& tensor, std::span<std::byte> bytes, const Dictionary& dictionary, uint32_t call,
           uint64_t seed) {
  if (tensor.fill == "none" || tensor.fill.empty()) return;
  constexpr uint64_t kOneIn = 12, kOneInFew = 3, kFew = 64;
  const size_t width = catalog::size_of(tensor.dtype);
  const uint64_t elements = bytes.size() / width;
  Rng rng(seed);
  const uint64_t one_in = elements <= kFew ? kOneInFew : kOneIn;
  for (uint64_t k = rng.below(one_in); k < elements; k += 1 + rng.below(2 * one_in - 1)) {
    const uint64_t value = dictionary.draw(rng, call);
    std::byte* at = bytes.data() + k * width;
    std::array<std::byte, 8> bits{};
    std::memcpy(bits.data(), &value, sizeof value);
    if (tensor.fill == "bits") {
      // Now and then one half only: protocols may look at the other.
      const bool half = width >= 4 && rng.below(8) == 0;
      const size_t from = half && rng.below(2) != 0 ? width / 2 : 0;
      std::memcpy(at + from, bits.data() + from, half ? width / 2 : width);
    } else if (is_in_range(tensor.fill, read_element(tensor.dtype, bits.data()))) {
      std::memcpy(at, bits.data(), width);
    }
  }
}

}  // namespace fb::judge
