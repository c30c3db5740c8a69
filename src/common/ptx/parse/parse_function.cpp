#include <fmt/format.h>

#include "common/ptx/parse/module_parser.h"

namespace fb::ptx {

// After .entry or .func: [(returns)] name [(params)] directives (; or body)
bool ModuleParser::parse_function(Linkage linkage, bool entry) {
  function_ = {};
  function_.linkage = linkage;
  function_.entry = entry;
  scopes_ = {};
  scopes_.push();
  source_ = {};
  uint32_t index = 0;
  std::string_view name;
  if (!parse_signature(function_, name) || !parse_function_directives(function_)) return false;
  const bool has_body = token().is('{');
  function_.defined = has_body;
  // Declared before its body is read: functions may call themselves.
  Function declaration = function_;
  if (!add_function(std::move(declaration), name, index)) return false;
  if (!has_body) return expect(';');
  const bool good = parse_body();
  module_.functions[index] = std::move(function_);
  return good;
}

bool ModuleParser::parse_signature(Function& function, std::string_view& name) {
  std::vector<Variable> returns, params;
  std::vector<std::string_view> return_names, param_names;
  if (accept_directive(".attribute") && !parse_attribute()) return false;
  if (!function.entry && token().is('(') && !parse_parameters(returns, &return_names)) return false;
  function.at = token().at;
  if (!take_name(name)) return false;
  function.name = name;
  if (token().is('(') && !parse_parameters(params, &param_names)) return false;
  function.params = static_cast<uint32_t>(params.size());
  function.returns = static_cast<uint32_t>(returns.size());
  function.variables = std::move(params);
  for (Variable& variable : returns) function.variables.push_back(std::move(variable));
  param_names.insert(param_names.end(), return_names.begin(), return_names.end());
  for (uint32_t i = 0; i < param_names.size(); ++i) {
    if (!scopes_.declare(param_names[i], {Binding::Kind::variable, i, 0}) && param_names[i] != "_") {
      return fail(function.variables[i].at, fmt::format("{} is declared twice", param_names[i]));
    }
  }
  return true;
}

// ( .param .b32 x, .param .align 8 .b8 y[16] )
bool ModuleParser::parse_parameters(std::vector<Variable>& list, std::vector<std::string_view>* names) {
  if (!expect('(')) return false;
  if (accept(')')) return true;
  do {
    if (list.size() >= kMaxListElements) return fail_here("too many parameters");
    if (!accept_directive(".param")) {
      if (at_directive(".reg")) return fail_here("parameters in registers are not supported");
      return fail_expected(".param");
    }
    VariableHead head{.space = Space::param};
    Variable variable;
    std::vector<uint64_t> dimensions;
    std::string_view name;
    if (!parse_variable_head(head) || !parse_declarator(head, variable, dimensions, name)) return false;
    if (variable.unsized) variable.bytes = 0;
    list.push_back(std::move(variable));
    if (names) names->push_back(name);
  } while (accept(','));
  return expect(')');
}

bool ModuleParser::parse_triple(uint32_t (&triple)[3]) {
  for (uint32_t& value : triple) value = 1;
  for (size_t i = 0; i < 3; ++i) {
    uint64_t value = 0;
    if (!take_integer(value, 0x7FFFFFFF, "a size")) return false;
    triple[i] = static_cast<uint32_t>(value);
    if (!accept(',')) return true;
  }
  return true;
}

bool ModuleParser::parse_function_directives(Function& function) {
  LaunchBounds& bounds = function.bounds;
  const auto take_number = [this](uint32_t& into) {
    uint64_t value = 0;
    if (!take_integer(value, 0xFFFFFFFF, "a number")) return false;
    into = static_cast<uint32_t>(value);
    return true;
  };
  uint32_t ignored = 0;
  while (token().kind == Token::Kind::directive) {
    bool good = true;
    if (accept_directive(".maxntid")) {
      good = parse_triple(bounds.max_threads);
    } else if (accept_directive(".reqntid")) {
      good = parse_triple(bounds.required_threads);
    } else if (accept_directive(".reqnctapercluster")) {
      good = parse_triple(bounds.cluster);
    } else if (accept_directive(".minnctapersm") || accept_directive(".maxnctapersm")) {
      good = take_number(bounds.min_blocks_per_sm);
    } else if (accept_directive(".maxnreg")) {
      good = take_number(bounds.max_registers);
    } else if (accept_directive(".maxclusterrank")) {
      good = take_number(bounds.max_cluster_rank);
    } else if (accept_directive(".explicitcluster")) {
      bounds.explicit_cluster = true;
    } else if (accept_directive(".noreturn")) {
      function.no_return = true;
    } else if (accept_directive(".abi_preserve") || accept_directive(".abi_preserve_control")) {
      good = take_number(ignored);
    } else if (accept_directive(".attribute")) {
      good = parse_attribute();
    } else if (accept_directive(".pragma")) {
      good = parse_pragma(&function);
    } else if (accept_directive(".unique") || accept_directive(".blocksareclusters")) {
      // Nothing for us.
    } else {
      return fail_here(fmt::format("{} is not a directive of a function", token().text));
    }
    if (!good) return false;
  }
  return true;
}

// A declaration and a definition of one name are one function. `name` is a view into the text, as it becomes a key.
bool ModuleParser::add_function(Function&& function, std::string_view name, uint32_t& index) {
  index = static_cast<uint32_t>(module_.functions.size());
  const auto [it, is_new] = symbols_.emplace(name, Symbol{Symbol::Kind::function, index});
  if (is_new) {
    module_.functions.push_back(std::move(function));
    return true;
  }
  index = it->second.index;
  if (it->second.kind != Symbol::Kind::function || (module_.functions[index].defined && function.defined)) {
    return fail(function.at, fmt::format("{} is declared twice", name));
  }
  Function& known = module_.functions[index];
  if (known.entry != function.entry || known.params != function.params || known.returns != function.returns) {
    return fail(function.at, fmt::format("{} is declared twice, with different parameters", name));
  }
  if (!known.defined) known = std::move(function);
  return true;
}

}  // namespace fb::ptx
