#include "common/ptx/parse/match_form.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/strings.h"
#include "common/ptx/words.h"

namespace fb::ptx {
namespace {

// Slots of types and spaces are filled in order; no form has an optional slot followed by one that takes the same
// words.
template <class Item>
bool fills_slots(const FormSpec& spec, OpcodePart::Kind kind, const std::vector<Item>& items) {
  size_t next = 0;
  for (const OpcodePart& part : spec.parts) {
    if (part.kind != kind) continue;
    if (next < items.size() && part.takes(items[next])) {
      ++next;
    } else if (!part.optional) {
      return false;
    }
  }
  return next == items.size();
}

// Whether each part from `part` on can take its share of the words. Tries all choices: primary and secondary eviction
// priorities have words in common.
bool shares_out(std::span<const OpcodePart> parts, const ModSet& words) {
  while (!parts.empty() && parts.front().kind != OpcodePart::Kind::mods) parts = parts.subspan(1);
  if (parts.empty()) return words.none();
  const OpcodePart& part = parts.front();
  const auto rest = parts.subspan(1);
  const ModSet mine = part.mods & words;
  if (part.together && mine == part.mods) return shares_out(rest, words & ~part.mods);
  if (!part.together) {
    for (size_t i = mine._Find_first(); i < mine.size(); i = mine._Find_next(i)) {
      ModSet others = words;
      if (shares_out(rest, others.reset(i))) return true;
    }
  }
  return part.optional && shares_out(rest, words);
}

bool matches(const FormSpec& spec, const OpcodeMatch& match) {
  ModSet all;
  for (const OpcodePart& part : spec.parts) all |= part.mods;
  if ((match.mods & ~all).any()) return false;
  return fills_slots(spec, OpcodePart::Kind::type, match.types) &&
         fills_slots(spec, OpcodePart::Kind::space, match.spaces) && shares_out(spec.parts, match.mods);
}

// Puts one word where it belongs; false: a modifier given twice.
bool add_word(OpcodeMatch& match, Word word) {
  switch (word.kind) {
    case Word::Kind::type:
      match.types.push_back(word.type());
      return true;
    case Word::Kind::space:
      match.spaces.push_back(word.space());
      return true;
    case Word::Kind::mod:
      break;
  }
  if (match.mods[word.value]) return false;
  match.mods.set(word.value);
  return true;
}

bool knows_word(const FormSpec& spec, Word word) {
  return std::ranges::any_of(spec.parts, [word](const OpcodePart& part) {
    switch (word.kind) {
      case Word::Kind::type:
        return part.takes(word.type());
      case Word::Kind::space:
        return part.takes(word.space());
      case Word::Kind::mod:
        return part.kind == OpcodePart::Kind::mods && part.mods[word.value];
    }
    return false;
  });
}

std::string list_syntax(std::span<const FormSpec* const> forms) {
  constexpr size_t kShown = 4;
  std::string text;
  for (size_t i = 0; i < forms.size() && i < kShown; ++i) {
    if (i > 0) text += "; ";
    text += syntax_of(forms[i]->form);
  }
  if (forms.size() > kShown) text += "; …";
  return text;
}

std::string quote(std::string_view text) { return '"' + std::string(text) + '"'; }

// Why no form matches: the first word that no form of the opcode has, or that the words do not go together.
std::string explain(std::span<const std::string_view> words, std::span<const FormSpec* const> forms) {
  const std::string opcode(words.front());
  for (const auto spelling : words.subspan(1)) {
    const auto word = find_word(spelling);
    const bool known =
        word && std::ranges::any_of(forms, [&](const FormSpec* spec) { return knows_word(*spec, *word); });
    if (!known) {
      const bool is_type = word && word->kind == Word::Kind::type;
      return fmt::format("{}: {} .{} does not belong to any form of {} ({})", opcode, is_type ? "type" : "modifier",
                         spelling, opcode, list_syntax(forms));
    }
  }
  return opcode + ": no form of " + opcode + " takes just these modifiers and types (" + list_syntax(forms) + ")";
}

// Looks among the forms of words[0]; `extra` are modifiers that an alias adds.
void match_words(OpcodeMatch& match, std::span<const std::string_view> words, std::span<const std::string_view> extra,
                 std::span<const FormSpec* const> forms) {
  match = {};
  for (const auto list : {words.subspan(1), extra}) {
    for (const auto spelling : list) {
      const auto word = find_word(spelling);
      if (!word) return;
      if (!add_word(match, *word)) {
        match.problem = std::string(words.front()) + ": modifier ." + std::string(spelling) + " is given twice";
        return;
      }
    }
  }
  for (const FormSpec* spec : forms) {
    if (matches(*spec, match)) match.forms.push_back(spec);
  }
}

}  // namespace

OpcodeMatch match_opcode(std::string_view opcode) {
  const auto words = split(opcode, '.');
  auto forms = forms_with_opcode(words.front());
  OpcodeMatch match;
  match_words(match, words, {}, forms);
  if (!match.forms.empty()) return match;

  if (const auto alias = find_alias(words.front()); !alias.empty() && match.problem.empty()) {
    const auto alias_words = split(alias, '.');
    const auto alias_forms = forms_with_opcode(alias_words.front());
    match_words(match, words, std::span(alias_words).subspan(1), alias_forms);
    if (!match.forms.empty()) return match;
    forms = alias_forms;
  }
  if (forms.empty()) {
    match.problem = quote(opcode) + " is not an instruction this machine knows";
  } else if (match.problem.empty()) {
    match.problem = explain(words, forms);
  }
  return match;
}

}  // namespace fb::ptx
