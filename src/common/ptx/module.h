#pragma once

// A PTX module as plain data: what the parser fills, the printer prints, the verifier checks and the engine lowers.
// Names are resolved: registers, symbols and labels are indices, never strings.

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ptx/assembled.h"

namespace fb::ptx {

enum class Type : uint8_t {
  none,
#define TYPE(name, bits, kind) name,
#include "common/ptx/types.def"
#undef TYPE
};

enum class TypeKind : uint8_t { none, bits, unsigned_int, signed_int, floating, packed, predicate };

std::string_view to_string(Type type);
uint32_t bits_of(Type type);  // 1 for pred
TypeKind kind_of(Type type);
inline uint32_t bytes_of(Type type) { return bits_of(type) / 8; }

// State spaces. `shared` is .shared and .shared::cta; `param` covers kernel and function parameters.
enum class Space : uint8_t { generic, global, shared, shared_cluster, local, param, constant };

std::string_view to_string(Space space);

// Every word that may follow a dot in an opcode, apart from types: .relaxed, .L1::no_allocate, .m16n8k16 …
enum class Mod : uint16_t {
#define MOD(id, spelling) id,
#include "common/ptx/mods.def"
#undef MOD
  count_,
};

std::string_view to_string(Mod mod);  // without the dot

using ModSet = std::bitset<static_cast<size_t>(Mod::count_)>;

// One row of forms.def: what the manual lists under one syntax line.
enum class Form : uint16_t {
#define FORM(id, tier, syntax, traits) id,
#include "common/ptx/forms.def"
#undef FORM
  count_,
};

std::string_view to_string(Form form);  // the id, e.g. "mul_wide"
std::string_view syntax_of(Form form);  // the manual's line, e.g. "mul.wide.{s16,u16,s32,u32} d, a, b"
uint32_t tier_of(Form form);            // 1 … 5: T1 … T5 of the design

enum class SpecialReg : uint8_t {
#define SREG(id, spelling, type) id,
#include "common/ptx/special_regs.def"
#undef SREG
  count_,
};

std::string_view to_string(SpecialReg reg);  // with the %: "%tid.x"
Type type_of(SpecialReg reg);

inline constexpr uint32_t kNoIndex = ~0u;

// A line of CUDA C++ from .loc; file indexes Module::files; line 0: unknown.
struct SourceLine {
  uint32_t file = kNoIndex;
  uint32_t line = 0;
  uint32_t column = 0;
  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

enum class OperandKind : uint8_t {
  none,         // optional operand that is absent
  sink,         // "_"
  reg,          // index into Function::registers
  special,      // index is a SpecialReg
  integer,      // bits: 64-bit two's complement
  float32,      // bits: binary32 pattern in the low half (0f…)
  float64,      // bits: binary64 pattern (0d…, 1.5)
  symbol,       // index into Module::variables, or Function::variables when `in_function`; bits: byte offset added
  function,     // index into Module::functions
  label,        // index into Function::body: the instruction behind the label (may equal body.size())
  target_list,  // index into Function::target_lists (brx.idx, call through a .calltargets/.callprototype)
  vector,       // elements: {a, b, c, d}
  address,      // [base + bits]; elements[0] is the base (reg, symbol, integer or special);
                // tensor addresses [map, {c0, c1}] carry the coordinates as elements[1] (a vector)
};

struct Operand {
  OperandKind kind = OperandKind::none;
  bool negated = false;      // !p
  bool in_function = false;  // for symbols
  uint32_t index = kNoIndex;
  uint64_t bits = 0;
  std::vector<Operand> elements;
  Location at;
};

struct Guard {
  uint32_t reg = kNoIndex;  // none: always executed
  bool negated = false;
};

// Operands come in the order of the form's syntax, absent optional ones as `none`; a pair `p|q` is two operands
// (the second `none` when not written). Modifiers are a set, because their order varies in the wild; types and state
// spaces keep their order, because there it has meaning (cvt.dst.src, cp.async.bulk.dst.src).
struct Instruction {
  Form form{};
  Guard guard;
  ModSet mods;
  std::vector<Type> types;
  std::vector<Space> spaces;
  std::vector<Operand> operands;
  Location at;
  SourceLine source;

  bool has(Mod mod) const { return mods[static_cast<size_t>(mod)]; }
  Type type(size_t i = 0) const { return i < types.size() ? types[i] : Type::none; }
};

struct Register {
  std::string name;  // as written, for messages: "%rd4"
  Type type = Type::none;
};

enum class Linkage : uint8_t { local, visible, external, weak, common };

// An initialiser word that is an address: filled in when the module is loaded.
struct Relocation {
  uint64_t offset = 0;   // of the word in Variable::init
  uint32_t bytes = 8;    // its width
  Operand symbol;        // symbol or function; bits: addend
  bool generic = false;  // generic(sym): generic address; otherwise the address in the symbol's space
};

struct Variable {
  std::string name;
  Space space = Space::global;
  Linkage linkage = Linkage::local;
  Type type = Type::b8;
  uint32_t align = 1;
  uint64_t bytes = 0;  // 0 with `unsized`: extern __shared__ T x[]
  bool unsized = false;
  std::vector<uint8_t> init;  // empty, or `bytes` long
  std::vector<Relocation> relocations;
  bool of_driver = false;  // link.h
  Location at;
};

// .branchtargets (labels), .calltargets (functions) or .callprototype (signature only).
struct TargetList {
  std::string name;
  std::vector<uint32_t> labels;     // body indices
  std::vector<uint32_t> functions;  // Module::functions
  std::vector<Variable> returns;    // of a prototype
  std::vector<Variable> params;
};

// Performance and launch directives; 0: not given.
struct LaunchBounds {
  uint32_t max_threads[3] = {0, 0, 0};       // .maxntid
  uint32_t required_threads[3] = {0, 0, 0};  // .reqntid
  uint32_t min_blocks_per_sm = 0;
  uint32_t max_registers = 0;
  uint32_t cluster[3] = {0, 0, 0};  // .reqnctapercluster
  uint32_t max_cluster_rank = 0;
  bool explicit_cluster = false;
};

struct Function {
  std::string name;
  bool entry = false;
  bool defined = false;  // false: only declared (.extern .func, or a forward declaration never filled)
  Linkage linkage = Linkage::local;
  bool no_return = false;
  bool of_driver = false;  // link.h
  LaunchBounds bounds;
  Assembled assembled;
  // Parameters first and by position: variables[0 … params) are parameters, then `returns` return slots, then the
  // function's own .local/.shared/.param variables. All of .param or (own ones) their stated space.
  uint32_t params = 0;
  uint32_t returns = 0;
  std::vector<Variable> variables;
  std::vector<Register> registers;
  std::vector<Instruction> body;
  std::vector<TargetList> target_lists;
  std::vector<std::pair<std::string, uint32_t>> labels;  // name → body index, in text order
  Location at;
};

struct Module {
  uint32_t version_major = 0, version_minor = 0;
  std::string target;  // "sm_90a"
  uint32_t address_bits = 64;
  std::vector<std::string> files;  // .file, by their number; unused numbers are empty
  std::vector<Variable> variables;
  std::vector<Function> functions;

  // Of a linked module: the driver's own names, or those of the rest.
  const Function* find_function(std::string_view name, bool of_driver = false) const;
  const Variable* find_variable(std::string_view name, bool of_driver = false) const;
};

}  // namespace fb::ptx
