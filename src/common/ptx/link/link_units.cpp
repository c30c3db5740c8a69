#include "common/ptx/link/link_units.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "common/ptx/link/renumber.h"

namespace fb::ptx {
namespace {

// "_Z6helperi, helper(int)": what the linker sees, and what the author wrote.
std::string spelled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr),
                                                          &std::free);
  return plain ? fmt::format("{} ({})", name, plain.get()) : name;
}

bool is_dynamic_shared(const Variable& v) { return v.space == Space::shared && v.unsized; }

// How much a definition counts against others of its name; 0: none, or not seen by other units.
int strength(Linkage linkage) {
  switch (linkage) {
    case Linkage::visible:
      return 3;
    case Linkage::weak:
      return 2;
    case Linkage::common:
      return 1;
    case Linkage::local:
    case Linkage::external:
      return 0;
  }
  return 0;
}
int strength(const Function& f) { return f.defined ? strength(f.linkage) : 0; }
int strength(const Variable& v) { return strength(v.linkage); }

bool is_wanted(const Function& f) { return !f.defined; }
bool is_wanted(const Variable& v) { return v.linkage == Linkage::external && !is_dynamic_shared(v); }

class Linker {
 public:
  Linker(std::vector<LinkUnit> units, const IsSupplied& is_supplied)
      : units_(std::move(units)), is_supplied_(is_supplied) {
    for (size_t u = 0; u < units_.size(); ++u) {
      LinkUnit& unit = units_[u];
      if (!unit.name.empty()) continue;
      const auto named = std::ranges::find_if(unit.module.files, [](const std::string& f) { return !f.empty(); });
      unit.name = named != unit.module.files.end() ? *named : fmt::format("module {}", u + 1);
    }
  }

  Result<Module> link() {
    for (uint32_t u = 0; u < units_.size(); ++u) collect(u);
    numbers_.resize(units_.size());
    uint32_t first_file = 0;
    for (uint32_t u = 0; u < units_.size(); ++u) {
      numbers_[u].first_file = first_file;
      first_file += static_cast<uint32_t>(units_[u].module.files.size());
      number(u, units_[u].module.functions, numbers_[u].functions, functions_);
      number(u, units_[u].module.variables, numbers_[u].variables, variables_);
    }
    for (uint32_t u = 0; u < units_.size(); ++u) {
      refer(u, units_[u].module.functions, numbers_[u].functions);
      refer(u, units_[u].module.variables, numbers_[u].variables);
    }
    if (!errors_.list.empty()) return std::unexpected(std::move(errors_));
    Module whole = gather();
    std::vector<bool> live = find_live(whole);
    if (!errors_.list.empty()) return std::unexpected(std::move(errors_));
    drop_dead(whole, live);
    return whole;
  }

 private:
  using Kept = std::vector<std::pair<uint32_t, uint32_t>>;  // {unit, number there} by number in the whole
  struct Definition {
    bool is_function = false;
    uint32_t unit = 0, index = 0;
    int strength = 0;
  };

  void fail(std::string message) { errors_.list.push_back({{}, std::move(message)}); }
  const std::string& unit_name(uint32_t u) const { return units_[u].name; }

  void collect(uint32_t u) {
    const Module& m = units_[u].module;
    for (uint32_t k = 0; k < m.functions.size(); ++k)
      define(m.functions[k].name, {true, u, k, strength(m.functions[k])});
    for (uint32_t k = 0; k < m.variables.size(); ++k)
      define(m.variables[k].name, {false, u, k, strength(m.variables[k])});
  }

  void define(const std::string& name, const Definition& made) {
    if (made.strength == 0) return;
    const auto [at, is_new] = definitions_.emplace(name, made);
    if (is_new) return;
    Definition& known = at->second;
    if (known.is_function != made.is_function) {
      fail(fmt::format("{} is a {} in {} and a {} in {}", spelled(name), known.is_function ? "function" : "variable",
                       unit_name(known.unit), made.is_function ? "function" : "variable", unit_name(made.unit)));
    } else if (known.strength == strength(Linkage::visible) && made.strength == known.strength) {
      fail(fmt::format("duplicate symbol {}: defined in {} and in {}", spelled(name), unit_name(known.unit),
                       unit_name(made.unit)));
    } else if (made.strength > known.strength || is_larger_common(made, known)) {
      known = made;
    }
  }

  bool is_larger_common(const Definition& a, const Definition& b) const {
    return a.strength == strength(Linkage::common) && b.strength == a.strength && variable(a).bytes > variable(b).bytes;
  }
  const Variable& variable(const Definition& d) const { return units_[d.unit].module.variables[d.index]; }
  const Function& function(const Definition& d) const { return units_[d.unit].module.functions[d.index]; }

  // The definition that the symbol stands for; null: itself.
  template <class Symbol>
  const Definition* meant(uint32_t u, uint32_t k, const Symbol& symbol) const {
    if (strength(symbol) == 0 && !is_wanted(symbol)) return nullptr;
    const auto found = definitions_.find(symbol.name);
    if (found == definitions_.end()) return nullptr;
    const Definition& d = found->second;
    const bool itself = d.is_function == std::is_same_v<Symbol, Function> && d.unit == u && d.index == k;
    return itself ? nullptr : &d;
  }

  // Gives numbers in the whole to the symbols that stay.
  template <class Symbol>
  void number(uint32_t u, const std::vector<Symbol>& symbols, std::vector<uint32_t>& numbers, Kept& kept) {
    numbers.assign(symbols.size(), kNoIndex);
    for (uint32_t k = 0; k < symbols.size(); ++k) {
      if (meant(u, k, symbols[k])) continue;
      numbers[k] = static_cast<uint32_t>(kept.size());
      kept.emplace_back(u, k);
    }
  }

  // … and to the others those of what they stand for.
  template <class Symbol>
  void refer(uint32_t u, const std::vector<Symbol>& symbols, std::vector<uint32_t>& numbers) {
    for (uint32_t k = 0; k < symbols.size(); ++k) {
      const Definition* d = meant(u, k, symbols[k]);
      if (d && check_same(u, symbols[k], *d))
        numbers[k] = d->is_function ? numbers_[d->unit].functions[d->index] : numbers_[d->unit].variables[d->index];
    }
  }

  bool check_same(uint32_t u, const Function& f, const Definition& d) {
    if (!d.is_function) return other_kind(u, f.name, d);
    // clang declares a kernel of another file, which the host or a kernel launches, as a function.
    const bool launched = !f.defined && !f.entry && function(d).entry && f.returns == 0;
    if (launched ? f.params == function(d).params : same_interface(f, function(d))) return true;
    fail(fmt::format("{} has other parameters in {} than in {}", spelled(f.name), unit_name(u), unit_name(d.unit)));
    return false;
  }
  bool check_same(uint32_t u, const Variable& v, const Definition& d) {
    if (d.is_function) return other_kind(u, v.name, d);
    const Variable& other = variable(d);
    if (v.space != other.space) {
      fail(fmt::format("{} is a .{} variable in {} and a .{} one in {}", spelled(v.name), to_string(v.space),
                       unit_name(u), to_string(other.space), unit_name(d.unit)));
      return false;
    }
    if (v.unsized || other.unsized || v.bytes == other.bytes || v.linkage == Linkage::common) return true;
    fail(fmt::format("{} has {} bytes in {} and {} in {}", spelled(v.name), v.bytes, unit_name(u), other.bytes,
                     unit_name(d.unit)));
    return false;
  }
  bool other_kind(uint32_t u, const std::string& name, const Definition& d) {
    fail(fmt::format("{} is a {} in {} and a {} in {}", spelled(name), d.is_function ? "variable" : "function",
                     unit_name(u), d.is_function ? "function" : "variable", unit_name(d.unit)));
    return false;
  }

  Module gather() {
    Module whole;
    const auto version = [](const Module& m) { return std::pair(m.version_major, m.version_minor); };
    for (const LinkUnit& unit : units_) {
      const Module& part = unit.module;
      if (version(part) > version(whole)) std::tie(whole.version_major, whole.version_minor) = version(part);
      if (whole.target.empty()) {
        whole.target = part.target;
        whole.address_bits = part.address_bits;
      }
      whole.files.insert(whole.files.end(), part.files.begin(), part.files.end());
    }
    for (const auto& [u, k] : functions_) {
      whole.functions.push_back(std::move(units_[u].module.functions[k]));
      numbers_[u].apply(whole.functions.back());
    }
    for (const auto& [u, k] : variables_) {
      whole.variables.push_back(std::move(units_[u].module.variables[k]));
      numbers_[u].apply(whole.variables.back());
    }
    return whole;
  }

  // Which functions kernels and the values of variables reach. What these need and nothing defines is missing; the
  // rest (of a library's file, most of it) may need what it likes.
  std::vector<bool> find_live(const Module& whole) {
    std::vector<bool> live(whole.functions.size(), false);
    std::vector<uint32_t> todo;
    const auto refer_to = [&](const Operand& symbol, uint32_t unit) {
      if (symbol.kind == OperandKind::symbol && !symbol.in_function && is_wanted(whole.variables[symbol.index]))
        undefined(unit, whole.variables[symbol.index].name);
      if (symbol.kind != OperandKind::function) return;
      const Function& f = whole.functions[symbol.index];
      if (!f.defined && !is_supplied_(f.name)) undefined(unit, f.name);
      if (live[symbol.index]) return;
      live[symbol.index] = true;
      todo.push_back(symbol.index);
    };
    const std::function<void(const Operand&, uint32_t)> visit = [&](const Operand& operand, uint32_t unit) {
      refer_to(operand, unit);
      for (const Operand& element : operand.elements) visit(element, unit);
    };
    const auto visit_function = [&](uint32_t f) {
      const uint32_t unit = functions_[f].first;
      for (const Instruction& inst : whole.functions[f].body) {
        for (const Operand& operand : inst.operands) visit(operand, unit);
      }
      for (const TargetList& list : whole.functions[f].target_lists) {
        for (const uint32_t target : list.functions) {
          Operand operand;
          operand.kind = OperandKind::function;
          operand.index = target;
          refer_to(operand, unit);
        }
      }
    };
    for (uint32_t v = 0; v < whole.variables.size(); ++v) {
      for (const Relocation& relocation : whole.variables[v].relocations) visit(relocation.symbol, variables_[v].first);
    }
    for (uint32_t f = 0; f < whole.functions.size(); ++f) {
      if (!whole.functions[f].entry || live[f]) continue;
      live[f] = true;
      todo.push_back(f);
    }
    while (!todo.empty()) {
      const uint32_t f = todo.back();
      todo.pop_back();
      visit_function(f);
    }
    return live;
  }

  void undefined(uint32_t unit, const std::string& name) {
    if (!reported_.insert(fmt::format("{}:{}", unit, name)).second) return;
    fail(fmt::format("undefined symbol {}: {} uses it, and no file that is linked defines it", spelled(name),
                     unit_name(unit)));
  }

  // Functions that nothing reaches, and declarations of variables that stand for nothing.
  static void drop_dead(Module& whole, const std::vector<bool>& live) {
    Renumbering numbers;
    std::vector<Function> functions;
    for (uint32_t f = 0; f < whole.functions.size(); ++f) {
      numbers.functions.push_back(live[f] ? static_cast<uint32_t>(functions.size()) : kNoIndex);
      if (live[f]) functions.push_back(std::move(whole.functions[f]));
    }
    std::vector<Variable> variables;
    for (Variable& variable : whole.variables) {
      const bool stays = !is_wanted(variable);
      numbers.variables.push_back(stays ? static_cast<uint32_t>(variables.size()) : kNoIndex);
      if (stays) variables.push_back(std::move(variable));
    }
    for (Function& function : functions) numbers.apply(function);
    for (Variable& variable : variables) numbers.apply(variable);
    whole.functions = std::move(functions);
    whole.variables = std::move(variables);
  }

  std::vector<LinkUnit> units_;
  const IsSupplied& is_supplied_;
  std::unordered_map<std::string, Definition> definitions_;
  std::vector<Renumbering> numbers_;
  Kept functions_, variables_;
  std::unordered_set<std::string> reported_;
  Errors errors_;
};

}  // namespace

Result<Module> link_units(std::vector<LinkUnit> units, const IsSupplied& is_supplied) {
  return Linker(std::move(units), is_supplied).link();
}

}  // namespace fb::ptx
