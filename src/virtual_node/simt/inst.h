#pragma once

// A program in the form the engine runs: flat arrays, operands as row offsets, one function pointer per instruction.

#include <climits>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/ptx/module.h"
#include "virtual_node/simt/timing.h"

namespace fb::simt {

using Mask = uint32_t;  // one bit per lane

inline constexpr uint32_t kLanes = 32;
// Distance of the addresses of functions in mem::kCodeWindow.
inline constexpr uint64_t kCodeStride = 16;

inline constexpr Mask kAllLanes = ~Mask{0};

class Warp;
struct Inst;

// Executes `inst` for the lanes in `warp.exec` and returns the next instruction. Lanes outside `exec` keep every
// register and byte they have.
using Exec = const Inst* (*)(Warp& warp, const Inst& inst);

// Operand slot that is absent.
inline constexpr int32_t kAbsent = INT32_MIN;

// An operand is the byte offset of a row: 32 elements of the operand's width (a predicate's row is one Mask).
// Non-negative: in the frame. Negative: in the constant pool, counted from its end; literals are rows there, so that
// instructions never ask what kind of operand they have.
struct Inst {
  Exec run = nullptr;
  int32_t guard = kAbsent;  // predicate that selects lanes
  Mask guard_flip = 0;      // all ones for @!p
  // In the order of the form's syntax.
  int32_t op[7] = {kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent};
  uint32_t origin = 0;  // index into Program::origins
  int64_t imm = 0;      // address offset, or what the form says
  union {
    const Inst* target = nullptr;  // branches
    const int32_t* list;           // list operands: rows, in order; op[k] is the index of operand k's first
    const Span* span;              // exec_span
  };
  uint8_t width[7] = {0, 0, 0, 0, 0, 0, 0};  // bytes of the register behind op[k]; 4 or 8 for an address
  uint8_t negated = 0;                       // bit k: predicate operand k is written !p
  uint16_t aux = 0;                          // order and scope (memory_order.h), or what the form says
  uint8_t slot = kNoSlot;                    // of a load whose latency is not known beforehand (timing.h)
  bool past_l1 = false;                      // of a load: .cg, .cs, .cv, L1::no_allocate
};

// Where an instruction comes from; for reports and listeners, never on the hot path.
struct Origin {
  uint32_t function = 0;  // ptx::Module::functions
  uint32_t index = 0;     // in its body
};

// A byte range of a frame.
struct Slot {
  int32_t offset = 0;
  uint32_t bytes = 0;
};

// Parameters and .param variables live in the frame as 32 lanes × bytes, lane-major.
struct LaneBytes {
  int32_t offset = 0;
  uint32_t bytes = 0;  // per lane
};

struct CallSite;
using Builtin = void (*)(Warp& warp, const Inst& inst, const CallSite& site);

struct FunctionInfo {
  std::string name;
  const ptx::Function* source = nullptr;
  uint32_t index = 0;           // in ptx::Module::functions
  const Inst* entry = nullptr;  // null: a builtin, or never called
  uint32_t first = 0;           // its index in Program::code
  Builtin builtin = nullptr;
  uint32_t frame_bytes = 0;
  uint32_t local_bytes = 0;           // per thread, this function's own
  uint32_t registers_per_thread = 0;  // ptxas' number where it was asked, else our estimate of it
  std::vector<LaneBytes> params;      // device functions only; kernels read the launch's parameter block
  std::vector<LaneBytes> returns;
  // Kernels: the offset of each parameter in the parameter block.
  std::vector<uint32_t> param_offsets;
  uint32_t param_bytes = 0;
  uint32_t static_shared_bytes = 0;
};

// A call: arguments and results are in the caller's frame.
struct CallSite {
  uint32_t callee = ptx::kNoIndex;  // FunctionInfo index; none: through the register row op[1]
  std::vector<LaneBytes> args;
  std::vector<LaneBytes> results;
};

// How an instruction's accesses to shared memory were in conflict when they were looked at (shared_banks.h).
struct BankSample {
  uint16_t extra = 0;       // cycles beyond those without conflicts
  uint16_t until_next = 0;  // executions that are not looked at
  uint32_t looked_at = 0;
};

struct Program {
  const ptx::Module* module = nullptr;
  std::vector<Inst> code;  // all functions, one after the other
  std::vector<Origin> origins;
  std::vector<std::byte> constants;  // the pool; base[1] of a warp points to its end
  std::vector<std::vector<int32_t>> lists;
  std::vector<FunctionInfo> functions;                    // parallel to module->functions
  std::deque<Span> spans;                                 // none: time passes by the number of instructions
  uint32_t cycle = 0;                                     // picoseconds; 0 without spans
  std::shared_ptr<std::vector<BankSample>> bank_samples;  // parallel to code; null without spans
  std::vector<CallSite> calls;
  std::vector<std::vector<const Inst*>> branch_tables;  // Inst::imm of brx.idx
  // What is live at the head of the loop that a backward branch closes (Inst::imm of the branch).
  std::vector<std::vector<Slot>> loop_live;
  // Where ways are counted (branch_ways.h): shared, because running code is const.
  std::shared_ptr<std::vector<uint8_t>> branch_ways;

  // Of a linked program (common/ptx/link/link.h): among the driver's functions, or among the others.
  const FunctionInfo* find(std::string_view name, bool of_driver = false) const;
};

}  // namespace fb::simt
