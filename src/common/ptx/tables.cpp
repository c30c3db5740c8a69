#include <algorithm>

#include "common/ptx/module.h"

namespace fb::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  uint32_t bits;
  TypeKind kind;
};

constexpr TypeRow kTypes[] = {
    {"none", 0, TypeKind::none},
#define TYPE(name, bits, kind) {#name, bits, TypeKind::kind},
#include "common/ptx/types.def"
#undef TYPE
};

constexpr std::string_view kMods[] = {
#define MOD(id, spelling) spelling,
#include "common/ptx/mods.def"
#undef MOD
};

constexpr uint32_t T1 = 1, T2 = 2, T3 = 3, T4 = 4, T5 = 5;

struct FormRow {
  std::string_view id;
  uint32_t tier;
  std::string_view syntax;
};

constexpr FormRow kForms[] = {
#define FORM(id, tier, syntax, traits) {#id, tier, syntax},
#include "common/ptx/forms.def"
#undef FORM
};

struct SpecialRegRow {
  std::string_view spelling;
  Type type;
};

constexpr SpecialRegRow kSpecialRegs[] = {
#define SREG(id, spelling, type) {spelling, Type::type},
#include "common/ptx/special_regs.def"
#undef SREG
};

constexpr std::string_view kSpaces[] = {"generic", "global", "shared", "shared::cluster", "local", "param", "const"};

}  // namespace

std::string_view to_string(Type type) { return kTypes[static_cast<size_t>(type)].name; }
uint32_t bits_of(Type type) { return kTypes[static_cast<size_t>(type)].bits; }
TypeKind kind_of(Type type) { return kTypes[static_cast<size_t>(type)].kind; }
std::string_view to_string(Space space) { return kSpaces[static_cast<size_t>(space)]; }
std::string_view to_string(Mod mod) { return kMods[static_cast<size_t>(mod)]; }
std::string_view to_string(Form form) { return kForms[static_cast<size_t>(form)].id; }
std::string_view syntax_of(Form form) { return kForms[static_cast<size_t>(form)].syntax; }
uint32_t tier_of(Form form) { return kForms[static_cast<size_t>(form)].tier; }
std::string_view to_string(SpecialReg reg) { return kSpecialRegs[static_cast<size_t>(reg)].spelling; }
Type type_of(SpecialReg reg) { return kSpecialRegs[static_cast<size_t>(reg)].type; }

const Function* Module::find_function(std::string_view name, bool of_driver) const {
  const auto it =
      std::ranges::find_if(functions, [&](const Function& f) { return f.of_driver == of_driver && f.name == name; });
  return it == functions.end() ? nullptr : &*it;
}

const Variable* Module::find_variable(std::string_view name, bool of_driver) const {
  const auto it =
      std::ranges::find_if(variables, [&](const Variable& v) { return v.of_driver == of_driver && v.name == name; });
  return it == variables.end() ? nullptr : &*it;
}

}  // namespace fb::ptx
