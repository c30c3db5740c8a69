#pragma once

// The parser's state and its productions; their bodies are spread over parse_*.cpp by subject. Productions return false
// after reporting what is wrong; their caller then skips to where reading can go on.

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/ptx/module.h"
#include "common/ptx/parse/check_operands.h"
#include "common/ptx/parse/constant.h"
#include "common/ptx/parse/lexer.h"
#include "common/ptx/parse/match_form.h"
#include "common/ptx/parse/scopes.h"

namespace fb::ptx {

// Bounds that no ordinary module reaches, so that hostile text costs little.
inline constexpr size_t kMaxTextBytes = size_t{1} << 30;
inline constexpr size_t kMaxErrors = 50;
inline constexpr size_t kMaxScopeDepth = 100;
inline constexpr int kMaxExpressionDepth = 50;
inline constexpr uint64_t kMaxFunctionRegisters = 1'000'000;
inline constexpr uint64_t kMaxModuleRegisters = 4'000'000;
inline constexpr size_t kMaxListElements = 4096;
inline constexpr size_t kMaxDimensions = 8;
inline constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 40;
inline constexpr uint64_t kMaxInitBytes = uint64_t{256} << 20;  // of all variables together
inline constexpr uint64_t kMaxFiles = 65536;

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text) : lexer_(text) {}
  Result<Module> parse();

 private:
  // A module-scope name.
  struct Symbol {
    enum class Kind : uint8_t { variable, function };
    Kind kind;
    uint32_t index;
  };
  // What a variable declaration says before the name.
  struct VariableHead {
    Space space = Space::global;
    Linkage linkage = Linkage::local;
    Type type = Type::none;
    uint32_t align = 0;
    uint32_t elements = 1;  // 2 or 4 for .v2, .v4
  };

  // parse_basics.cpp: errors, tokens, small pieces
  bool fail(Location at, std::string message);
  bool fail_here(std::string message) { return fail(lexer_.token().at, std::move(message)); }
  bool fail_expected(std::string_view what);
  const Token& token() const { return lexer_.token(); }
  bool at_directive(std::string_view text) const {
    return token().kind == Token::Kind::directive && token().text == text;
  }
  bool accept(char c);
  bool accept_directive(std::string_view text);
  bool expect(char c);
  bool take_name(std::string_view& name);
  bool take_integer(uint64_t& value, uint64_t limit, std::string_view what);
  void skip_statement();
  bool skip_braces();
  bool skip_parentheses();

  // parse_module.cpp
  bool parse_top_level();
  bool parse_version();
  bool parse_target();
  bool parse_address_size();
  bool parse_file();
  bool parse_section();
  // `function`: what the pragma stands before, if it is one.
  bool parse_pragma(Function* function = nullptr);
  bool parse_global(Linkage linkage);
  void finish_files();

  // parse_variable.cpp
  std::optional<Space> at_space() const;
  bool parse_variable_head(VariableHead& head);
  bool parse_declarator(const VariableHead& head, Variable& variable, std::vector<uint64_t>& dimensions,
                        std::string_view& name);
  bool parse_dimensions(Variable& variable, std::vector<uint64_t>& dimensions);
  bool parse_module_variables(VariableHead head);
  bool add_module_variable(Variable variable, std::string_view name);
  bool parse_attribute();

  // parse_initializer.cpp
  bool parse_initializer(Variable& variable, const std::vector<uint64_t>& dimensions);
  bool parse_init_list(Variable& variable, const std::vector<uint64_t>& dimensions, size_t level, uint64_t first);
  bool parse_init_value(Variable& variable, uint64_t index);
  bool parse_init_symbol(Relocation& relocation);
  bool parse_symbol_reference(Operand& operand);
  bool store_init(Variable& variable, uint64_t index, const Constant& value, Location at);
  bool reserve_init(Variable& variable, uint64_t index);
  bool add_masked_byte(Variable& variable, uint64_t index, uint64_t mask, const Relocation& part, Location at);

  // parse_function.cpp
  bool parse_function(Linkage linkage, bool entry);
  bool parse_signature(Function& function, std::string_view& name);
  bool parse_parameters(std::vector<Variable>& list, std::vector<std::string_view>* names);
  bool parse_function_directives(Function& function);
  bool parse_triple(uint32_t (&triple)[3]);
  bool add_function(Function&& function, std::string_view name, uint32_t& index);

  // parse_body.cpp
  bool parse_body();
  bool parse_statement();
  bool parse_registers();
  bool add_registers(std::string_view name, Type type, uint64_t count, bool numbered);
  bool parse_local_variables(Space space);
  bool parse_loc();
  bool parse_label_or_targets();
  bool parse_branch_targets(TargetList& list);
  bool parse_call_targets(TargetList& list);
  bool parse_call_prototype(TargetList& list);
  void close_scope();

  // parse_instruction.cpp
  bool parse_instruction();
  bool parse_guard(Guard& guard);
  bool parse_opcode(Location& at);
  const OpcodeMatch& match_cached(std::string_view opcode);
  bool parse_operands();
  bool parse_call(Instruction& call);
  bool parse_call_list(Operand& list);
  bool check_call(const Instruction& call);
  void note_labels(const Instruction& instruction, uint32_t index);

  // parse_operand.cpp
  bool parse_operand(Operand& operand);
  bool parse_element(Operand& operand);
  bool parse_list(Operand& operand);
  bool parse_address(Operand& operand);
  bool parse_name_operand(Operand& operand);
  bool parse_constant_operand(Operand& operand);
  bool parse_offset(Operand& symbol);

  // parse_constant.cpp
  bool parse_constant(Constant& value);
  bool parse_conditional(Constant& value, int depth);
  bool parse_binary(Constant& value, int min_precedence, int depth);
  bool parse_unary(Constant& value, int depth);
  ConstantOp take_operator(int min_precedence);

  Lexer lexer_;
  Module module_;
  Errors errors_;
  std::unordered_map<std::string_view, Symbol> symbols_;
  std::unordered_map<std::string_view, OpcodeMatch> matches_;
  std::deque<std::string> joined_opcodes_;  // opcodes written with blanks in them, joined
  uint64_t total_registers_ = 0;
  uint64_t total_init_bytes_ = 0;
  uint32_t max_loc_file_ = 0;  // highest file number of a .loc

  // The function being read.
  Function function_;
  Scopes scopes_;
  SourceLine source_;
  WrittenInstruction written_;
};

}  // namespace fb::ptx
