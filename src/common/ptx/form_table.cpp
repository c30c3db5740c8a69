#include "common/ptx/form_table.h"

#include <unordered_map>

#include "common/base/check.h"

namespace fb::ptx {
namespace {

struct FormTable {
  std::vector<FormSpec> specs;
  std::unordered_map<std::string_view, std::vector<const FormSpec*>> by_opcode;

  FormTable() {
    constexpr auto kCount = static_cast<size_t>(Form::count_);
    specs.reserve(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      const auto form = static_cast<Form>(i);
      auto spec = compile_syntax(form, syntax_of(form));
      FB_CHECK(spec.has_value(), spec.error().list.front().message);
      specs.push_back(*std::move(spec));
    }
    for (const FormSpec& spec : specs) by_opcode[spec.opcode].push_back(&spec);
  }
};

const FormTable& table() {
  static const FormTable instance;
  return instance;
}

}  // namespace

const FormSpec& spec_of(Form form) { return table().specs[static_cast<size_t>(form)]; }

std::span<const FormSpec* const> forms_with_opcode(std::string_view opcode) {
  const auto it = table().by_opcode.find(opcode);
  if (it == table().by_opcode.end()) return {};
  return it->second;
}

}  // namespace fb::ptx
