#include <fmt/format.h>

#include "common/ptx/parse/module_parser.h"
#include "common/ptx/words.h"

namespace fb::ptx {

// { statements }, with the scopes inside it handled by a counter, not by recursion.
bool ModuleParser::parse_body() {
  if (!expect('{')) return false;
  const size_t outermost = scopes_.depth();
  while (true) {
    if (token().kind == Token::Kind::end) return fail_expected("}");
    if (errors_.list.size() >= kMaxErrors) return false;
    if (token().is('{')) {
      if (scopes_.depth() >= kMaxScopeDepth) return fail_here("scopes are nested too deeply");
      scopes_.push();
      lexer_.advance();
    } else if (token().is('}')) {
      const bool last = scopes_.depth() == outermost;
      close_scope();
      lexer_.advance();
      if (last) return true;
    } else if (!parse_statement()) {
      skip_statement();
    }
  }
}

// Labels belong to the scope they stand in: inline assembly repeats its names.
void ModuleParser::close_scope() {
  for (const auto& [use, target] : scopes_.take_resolved()) {
    if (use.in_list) {
      function_.target_lists[use.owner].labels[use.entry] = target;
    } else {
      function_.body[use.owner].operands[use.entry].index = target;
    }
  }
  if (scopes_.depth() == 1) {
    for (const LabelUse& use : scopes_.unresolved()) fail(use.at, fmt::format("the label {} is not defined", use.name));
  }
  scopes_.pop();
}

bool ModuleParser::parse_statement() {
  switch (token().kind) {
    case Token::Kind::name:
      if (lexer_.followed_by_colon()) return parse_label_or_targets();
      return parse_instruction();
    case Token::Kind::directive:
      break;
    default:
      if (token().is('@')) return parse_instruction();
      if (accept(';')) return true;
      return fail_expected("a statement");
  }
  if (accept_directive(".loc")) return parse_loc();
  if (accept_directive(".reg")) return parse_registers();
  if (accept_directive(".pragma")) return parse_pragma();
  if (accept_directive(".file")) return parse_file();
  if (const auto space = at_space()) {
    lexer_.advance();
    return parse_local_variables(*space);
  }
  return fail_here(fmt::format("{} does not belong in a function", token().text));
}

// .reg .b32 %r<10>, x; .reg .v4 .f32 v;
bool ModuleParser::parse_registers() {
  uint32_t elements = 1;
  if (accept_directive(".v2")) elements = 2;
  if (accept_directive(".v4")) elements = 4;
  const auto type = token().kind == Token::Kind::directive ? find_type(token().text.substr(1)) : std::nullopt;
  if (!type || (bits_of(*type) < 8 && *type != Type::pred)) return fail_expected("a type");
  lexer_.advance();
  do {
    const Location at = token().at;
    std::string_view name;
    if (!take_name(name)) return false;
    uint64_t count = 1;
    const bool range = accept('<');
    if (range) {
      if (!take_integer(count, kMaxFunctionRegisters, "a number of registers") || !expect('>')) return false;
      if (elements > 1) return fail(at, "ranges of vector registers are not supported");
    }
    const auto first = static_cast<uint32_t>(function_.registers.size());
    if (!add_registers(name, *type, range ? count : elements, range || elements > 1)) return false;
    const auto kind = elements > 1 ? Binding::Kind::reg_vector : Binding::Kind::reg;
    const bool fresh = range ? scopes_.declare_range(name, first, static_cast<uint32_t>(count))
                             : scopes_.declare(name, {kind, first, elements});
    if (!fresh) return fail(at, fmt::format("{} is declared twice", name));
  } while (accept(','));
  return expect(';');
}

bool ModuleParser::add_registers(std::string_view name, Type type, uint64_t count, bool numbered) {
  total_registers_ += count;
  if (function_.registers.size() + count > kMaxFunctionRegisters || total_registers_ > kMaxModuleRegisters) {
    return fail_here("too many registers");
  }
  for (uint64_t i = 0; i < count; ++i) {
    auto& reg = function_.registers.emplace_back(Register{std::string(name), type});
    if (numbered) reg.name += std::to_string(i);
  }
  return true;
}

bool ModuleParser::parse_local_variables(Space space) {
  VariableHead head{.space = space};
  if (!parse_variable_head(head)) return false;
  do {
    Variable variable;
    std::vector<uint64_t> dimensions;
    std::string_view name;
    if (!parse_declarator(head, variable, dimensions, name)) return false;
    if (accept('=') && !parse_initializer(variable, dimensions)) return false;
    if (variable.unsized) variable.bytes = 0;
    const auto index = static_cast<uint32_t>(function_.variables.size());
    if (!scopes_.declare(name, {Binding::Kind::variable, index, 0})) {
      return fail(variable.at, fmt::format("{} is declared twice", name));
    }
    function_.variables.push_back(std::move(variable));
  } while (accept(','));
  return expect(';');
}

// .loc file line column [, function_name label [+ n], inlined_at file line column]: the first three are the innermost
// line.
bool ModuleParser::parse_loc() {
  uint64_t file = 0, line = 0, column = 0;
  if (!take_integer(file, kMaxFiles - 1, "a file number") || !take_integer(line, 0xFFFFFFFF, "a line") ||
      !take_integer(column, 0xFFFFFFFF, "a column")) {
    return false;
  }
  source_ = {static_cast<uint32_t>(file), static_cast<uint32_t>(line), static_cast<uint32_t>(column)};
  if (file > max_loc_file_) max_loc_file_ = static_cast<uint32_t>(file);
  while (accept(',')) {
    std::string_view word;
    if (!take_name(word)) return false;
    uint64_t ignored = 0;
    if (word == "function_name") {
      if (!take_name(word)) return false;
      if (accept('+') && !take_integer(ignored, ~uint64_t{0}, "an offset")) return false;
    } else if (word == "inlined_at") {
      for (int i = 0; i < 3; ++i) {
        if (!take_integer(ignored, ~uint64_t{0}, "a number")) return false;
      }
    } else {
      return fail_here(fmt::format("{} does not belong to .loc", word));
    }
  }
  accept(';');
  return true;
}

bool ModuleParser::parse_label_or_targets() {
  const Location at = token().at;
  std::string_view name;
  if (!take_name(name) || !expect(':')) return false;
  const bool branches = at_directive(".branchtargets");
  const bool calls = at_directive(".calltargets");
  const bool prototype = at_directive(".callprototype");
  if (!branches && !calls && !prototype) {
    const auto index = static_cast<uint32_t>(function_.body.size());
    if (!scopes_.declare(name, {Binding::Kind::label, index, 0})) {
      return fail(at, fmt::format("the label {} is defined twice", name));
    }
    function_.labels.emplace_back(name, index);
    return true;
  }
  lexer_.advance();
  const auto index = static_cast<uint32_t>(function_.target_lists.size());
  if (!scopes_.declare(name, {Binding::Kind::targets, index, 0})) {
    return fail(at, fmt::format("{} is declared twice", name));
  }
  TargetList& list = function_.target_lists.emplace_back();
  list.name = name;
  if (branches) return parse_branch_targets(list);
  if (calls) return parse_call_targets(list);
  return parse_call_prototype(list);
}

bool ModuleParser::parse_branch_targets(TargetList& list) {
  do {
    if (list.labels.size() >= kMaxListElements * 16) return fail_here("too many branch targets");
    LabelUse use;
    use.at = token().at;
    use.owner = static_cast<uint32_t>(function_.target_lists.size() - 1);
    use.entry = static_cast<uint32_t>(list.labels.size());
    use.in_list = true;
    if (!take_name(use.name)) return false;
    list.labels.push_back(kNoIndex);
    scopes_.use_label(use);
  } while (accept(','));
  return expect(';');
}

bool ModuleParser::parse_call_targets(TargetList& list) {
  do {
    Operand target;
    if (!parse_symbol_reference(target)) return false;
    if (target.kind != OperandKind::function) return fail(target.at, "a call target must be a function");
    list.functions.push_back(target.index);
  } while (accept(','));
  return expect(';');
}

// (.param .b32 _) _ (.param .b64 _, .param .b64 _) [.noreturn];
bool ModuleParser::parse_call_prototype(TargetList& list) {
  if (token().is('(') && !parse_parameters(list.returns, nullptr)) return false;
  std::string_view name;
  if (!take_name(name)) return false;
  if (token().is('(') && !parse_parameters(list.params, nullptr)) return false;
  Function ignored;
  return parse_function_directives(ignored) && expect(';');
}

}  // namespace fb::ptx
