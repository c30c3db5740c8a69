#include "common/ptx/words.h"

#include <unordered_map>
#include <utility>

namespace fb::ptx {
namespace {

using WordMap = std::unordered_map<std::string_view, Word>;

WordMap collect_words() {
  WordMap words;
  const auto add = [&words](std::string_view spelling, Word::Kind kind, auto value) {
    words.emplace(spelling, Word{kind, static_cast<uint16_t>(value)});
  };
#define TYPE(name, bits, kind) add(#name, Word::Kind::type, Type::name);
#include "common/ptx/types.def"
#undef TYPE
#define MOD(id, spelling) add(spelling, Word::Kind::mod, Mod::id);
#include "common/ptx/mods.def"
#undef MOD
  constexpr std::pair<std::string_view, Space> kWords[] = {
      {"global", Space::global},      {"shared", Space::shared},
      {"shared::cta", Space::shared}, {"shared::cluster", Space::shared_cluster},
      {"local", Space::local},        {"param", Space::param},
      {"param::entry", Space::param}, {"param::func", Space::param},
      {"const", Space::constant}};
  for (const auto& [spelling, space] : kWords) add(spelling, Word::Kind::space, space);
  return words;
}

struct GroupRow {
  std::string_view name;
  std::string_view words;
};

constexpr GroupRow kGroups[] = {
#define GROUP(name, words) {#name, words},
#define ALIAS(opcode, meaning)
#include "common/ptx/groups.def"
#undef ALIAS
#undef GROUP
};

constexpr GroupRow kAliases[] = {
#define GROUP(name, words)
#define ALIAS(opcode, meaning) {#opcode, meaning},
#include "common/ptx/groups.def"
#undef ALIAS
#undef GROUP
};

template <size_t N>
std::string_view find_row(const GroupRow (&rows)[N], std::string_view name) {
  for (const GroupRow& row : rows) {
    if (row.name == name) return row.words;
  }
  return {};
}

}  // namespace

std::optional<Word> find_word(std::string_view spelling) {
  static const WordMap words = collect_words();
  const auto it = words.find(spelling);
  if (it == words.end()) return std::nullopt;
  return it->second;
}

std::optional<Type> find_type(std::string_view spelling) {
  const auto word = find_word(spelling);
  if (!word || word->kind != Word::Kind::type) return std::nullopt;
  return word->type();
}

std::optional<SpecialReg> find_special_reg(std::string_view spelling) {
  static const auto regs = [] {
    std::unordered_map<std::string_view, SpecialReg> map;
    for (size_t i = 0; i < static_cast<size_t>(SpecialReg::count_); ++i) {
      map.emplace(to_string(static_cast<SpecialReg>(i)), static_cast<SpecialReg>(i));
    }
    return map;
  }();
  const auto it = regs.find(spelling);
  if (it == regs.end()) return std::nullopt;
  return it->second;
}

std::string_view find_group(std::string_view name) { return find_row(kGroups, name); }
std::string_view find_alias(std::string_view opcode) { return find_row(kAliases, opcode); }

}  // namespace fb::ptx
