#include <fmt/format.h>

#include "common/ptx/parse/module_parser.h"

namespace fb::ptx {

bool ModuleParser::parse_instruction() {
  Instruction instruction;
  if (!parse_guard(instruction.guard) || !parse_opcode(instruction.at)) return false;
  const OpcodeMatch& match = match_cached(written_.opcode);
  if (match.forms.empty()) return fail(instruction.at, match.problem);
  written_.match = &match;
  instruction.source = source_;
  instruction.mods = match.mods;
  instruction.types = match.types;
  instruction.spaces = match.spaces;

  std::optional<Diagnostic> problem;
  if (match.forms.front()->form == Form::call) {
    instruction.form = Form::call;
    if (!parse_call(instruction)) return false;
  } else {
    if (!parse_operands()) return false;
    problem = assign_operands(written_, function_, instruction);
    if (!problem) problem = check_rules(instruction, function_, written_.opcode);
  }
  if (problem) {
    const Location at = problem->at.line != 0 ? problem->at : instruction.at;
    fail(at, std::move(problem->message));
    return true;  // the statement was read to its end: nothing to skip
  }
  note_labels(instruction, static_cast<uint32_t>(function_.body.size()));
  function_.body.push_back(std::move(instruction));
  return true;
}

// @p or @!p
bool ModuleParser::parse_guard(Guard& guard) {
  if (!accept('@')) return true;
  guard.negated = accept('!');
  const Location at = token().at;
  std::string_view name;
  if (!take_name(name)) return false;
  const Binding binding = scopes_.find(name);
  if (binding.kind != Binding::Kind::reg) return fail(at, fmt::format("the guard {} is not a declared register", name));
  const Register& reg = function_.registers[binding.index];
  if (reg.type != Type::pred) return fail(at, fmt::format("the guard {} is .{}, not .pred", name, to_string(reg.type)));
  guard.reg = binding.index;
  return true;
}

bool ModuleParser::parse_opcode(Location& at) {
  at = token().at;
  if (token().kind != Token::Kind::name) return fail_expected("an instruction");
  lexer_.extend_opcode();
  written_.opcode = token().text;
  lexer_.advance();
  if (token().kind != Token::Kind::directive) return true;
  // "mov .u32": rare, and no longer one piece of the text.
  std::string joined(written_.opcode);
  while (token().kind == Token::Kind::directive) {
    joined += token().text;
    lexer_.advance();
  }
  const auto known = matches_.find(joined);
  written_.opcode =
      known != matches_.end() ? known->first : std::string_view(joined_opcodes_.emplace_back(std::move(joined)));
  return true;
}

// Real modules spell few hundred opcodes and use them a million times.
const OpcodeMatch& ModuleParser::match_cached(std::string_view opcode) {
  const auto it = matches_.find(opcode);
  if (it != matches_.end()) return it->second;
  return matches_.emplace(opcode, match_opcode(opcode)).first->second;
}

bool ModuleParser::parse_operands() {
  written_.operands.clear();
  written_.names.clear();
  if (accept(';')) return true;
  bool after_bar = false;
  while (true) {
    if (written_.operands.size() >= kMaxListElements) return fail_here("too many operands");
    WrittenOperand& next = written_.operands.emplace_back();
    next.after_bar = after_bar;
    if (!parse_operand(next.operand)) return false;
    if (accept(';')) return true;
    after_bar = accept('|');
    if (!after_bar && !accept(',')) return fail_expected(", or ;");
  }
}

// Labels are resolved when their scope closes: until then the text may still define a nearer one.
void ModuleParser::note_labels(const Instruction& instruction, uint32_t index) {
  for (uint32_t i = 0; i < instruction.operands.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    if (operand.kind != OperandKind::label) continue;
    scopes_.use_label({written_.names[operand.index], operand.at, index, i, false});
  }
}

// call [(returns),] callee [, (params)] [, targets];
bool ModuleParser::parse_call(Instruction& call) {
  written_.names.clear();
  call.operands.resize(4);
  Operand &returns = call.operands[0], &callee = call.operands[1], &params = call.operands[2],
          &targets = call.operands[3];
  if (token().is('(') && (!parse_call_list(returns) || !expect(','))) return false;
  if (!parse_operand(callee)) return false;
  if (accept(',')) {
    if (token().is('(')) {
      if (!parse_call_list(params)) return false;
      if (accept(',') && !parse_operand(targets)) return false;
    } else if (!parse_operand(targets)) {
      return false;
    }
  }
  if (!check_call(call)) return false;
  return expect(';');
}

bool ModuleParser::parse_call_list(Operand& list) {
  list.at = token().at;
  list.kind = OperandKind::vector;
  if (!expect('(')) return false;
  if (accept(')')) return true;
  do {
    if (list.elements.size() >= kMaxListElements) return fail_here("too many parameters");
    if (!parse_element(list.elements.emplace_back())) return false;
  } while (accept(','));
  return expect(')');
}

bool ModuleParser::check_call(const Instruction& call) {
  const Operand& callee = call.operands[1];
  const Operand& targets = call.operands[3];
  for (const Operand* list : {&call.operands[0], &call.operands[2]}) {
    for (const Operand& element : list->elements) {
      if (element.kind == OperandKind::label) {
        return fail(element.at, fmt::format("call: {} is not declared", written_.names[element.index]));
      }
      if (element.kind == OperandKind::vector || element.kind == OperandKind::address ||
          element.kind == OperandKind::target_list) {
        return fail(element.at, "call: a parameter must be a .param variable, a register or a constant");
      }
    }
  }
  if (targets.kind != OperandKind::none && targets.kind != OperandKind::target_list) {
    return fail(targets.at, "call: expected the name of a .callprototype or .calltargets");
  }
  size_t returns = 0, params = 0;
  if (callee.kind == OperandKind::function) {
    returns = module_.functions[callee.index].returns;
    params = module_.functions[callee.index].params;
  } else if (callee.kind == OperandKind::reg) {
    if (targets.kind == OperandKind::none) return fail(callee.at, "call: an indirect call needs its prototype");
    const TargetList& list = function_.target_lists[targets.index];
    if (!list.functions.empty()) return true;
    returns = list.returns.size();
    params = list.params.size();
  } else if (callee.kind == OperandKind::label) {
    return fail(callee.at, fmt::format("call: {} is not declared", written_.names[callee.index]));
  } else {
    return fail(callee.at, "call: the callee must be a function or a register");
  }
  if (call.operands[0].elements.size() != returns || call.operands[2].elements.size() != params) {
    return fail(call.at, fmt::format("call: the callee has {} parameters and {} returns, the call {} and {}", params,
                                     returns, call.operands[2].elements.size(), call.operands[0].elements.size()));
  }
  return true;
}

}  // namespace fb::ptx
