#include "simt/lower/lower_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "ptx/printer.h"
#include "ptx/traits.h"
#include "simt/builtins.h"
#include "simt/listener.h"
#include "simt/lower/operands.h"
#include "simt/lower/tear.h"
#include "simt/reference/reference.h"
#include "simt/warp.h"

namespace fb::simt {
namespace {

constexpr uint32_t kScratchRows = 16;
constexpr uint32_t kScratchBytes = 8 * kLanes;
constexpr uint32_t kSinkBytes = 16 * kLanes;
constexpr uint64_t kLargestFrame = 16 << 20;
constexpr uint32_t kMostParamBytes = 32764;  // of a kernel, as CUDA allows

uint32_t align_up(uint32_t value, uint32_t align) {
  const uint32_t a = std::max(align, 1u);
  return (value + a - 1) / a * a;
}

// --- Functions that lowering puts in by itself
// ------------------------------------------------------------------------

// Address of a .local variable: imm is its offset in the function's frame.
const Inst* exec_local_address(Warp& w, const Inst& i) {
  const uint64_t address = w.split().local + static_cast<uint64_t>(i.imm);
  for (Mask m = w.exec; m != 0; m &= m - 1) {
    const auto lane = std::countr_zero(m);
    if (i.width[0] == 8) {
      w.row<uint64_t>(i.op[0])[lane] = address;
    } else {
      w.row<uint32_t>(i.op[0])[lane] = static_cast<uint32_t>(address);
    }
  }
  return &i + 1;
}

// A parameter whose address is taken goes to the stack, as the PTX manual says of mov: op[0] is where its bytes lie in
// the frame, aux how many there are of each lane, imm their offset in the frame's local memory.
const Inst* exec_keep_param(Warp& w, const Inst& i) {
  const uint64_t offset = w.split().local + static_cast<uint64_t>(i.imm);
  for (Mask m = w.exec; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(m));
    std::memcpy(w.local(lane) + offset, w.row<std::byte>(i.op[0]) + size_t{lane} * i.aux, i.aux);
  }
  return &i + 1;
}

// A base address plus a constant, for operands whose instruction has no room for an offset.
const Inst* exec_add_offset(Warp& w, const Inst& i) {
  for (Mask m = w.exec; m != 0; m &= m - 1) {
    const auto lane = std::countr_zero(m);
    if (i.width[0] == 8) {
      w.row<uint64_t>(i.op[0])[lane] = w.src<uint64_t>(i.op[1])[lane] + static_cast<uint64_t>(i.imm);
    } else {
      w.row<uint32_t>(i.op[0])[lane] = w.src<uint32_t>(i.op[1])[lane] + static_cast<uint32_t>(i.imm);
    }
  }
  return &i + 1;
}

}  // namespace

FunctionLowering::FunctionLowering(Program& program, const LowerOptions& options, const SharedLayout& shared,
                                   ConstantPool& constants, uint32_t index, Errors& errors)
    : program_(program),
      options_(options),
      shared_(shared),
      constants_(constants),
      index_(index),
      function_(program.module->functions[index]),
      errors_(errors) {}

// --- The frame
// --------------------------------------------------------------------------------------------------------

void FunctionLowering::lay_out_frame() {
  FunctionInfo& info = program_.functions[index_];
  liveness_ = find_liveness(function_);
  rows_ = allocate_rows(function_, liveness_, !options_.reference);
  uint64_t top = rows_.bytes;
  lane_bytes_.resize(function_.variables.size());
  local_offset_.resize(function_.variables.size());
  find_kept_params();
  uint64_t local = 0;
  for (size_t v = 0; v < function_.variables.size(); ++v) {
    const ptx::Variable& var = function_.variables[v];
    if (var.space == ptx::Space::local || kept_[v]) {
      local_offset_[v] = align_up(static_cast<uint32_t>(local), var.align);
      local = local_offset_[v] + std::max<uint64_t>(var.bytes, 1);
    }
    if (var.space == ptx::Space::param && !(function_.entry && v < function_.params)) {
      const uint64_t bytes = std::max<uint64_t>(var.bytes, 1);
      lane_bytes_[v] = {static_cast<int32_t>(top), static_cast<uint32_t>(bytes)};
      top += (bytes * kLanes + 63) / 64 * 64;
    }
    if (top > kLargestFrame || local > kMaxLocalBytes) {
      errors_.list.push_back({function_.at, fmt::format("{}: a warp of it needs more than {} MiB for its variables",
                                                        function_.name, kLargestFrame >> 20)});
      return;
    }
  }
  // Behind all that: rows which only some instructions need. emit() makes the frame longer when one does.
  info.frame_bytes = static_cast<uint32_t>((top + 63) / 64 * 64);
  sink_ = static_cast<int32_t>(info.frame_bytes);
  scratch_ = sink_ + static_cast<int32_t>(kSinkBytes);
  info.local_bytes = align_up(static_cast<uint32_t>(local), 16);
  info.registers_per_thread = rows_.registers_per_thread;
  if (function_.entry) {
    for (uint32_t p = 0; p < function_.params; ++p) {
      const ptx::Variable& var = function_.variables[p];
      info.param_offsets.push_back(align_up(info.param_bytes, var.align));
      if (var.bytes > kMostParamBytes || info.param_offsets.back() + var.bytes > kMostParamBytes) {
        errors_.list.push_back(
            {function_.at, fmt::format("{}: more than {} bytes of parameters", function_.name, kMostParamBytes)});
        return;
      }
      info.param_bytes = info.param_offsets.back() + static_cast<uint32_t>(var.bytes);
    }
    info.static_shared_bytes = shared_.static_bytes(index_);
  } else {
    info.params.assign(lane_bytes_.begin(), lane_bytes_.begin() + function_.params);
    info.returns.assign(lane_bytes_.begin() + function_.params,
                        lane_bytes_.begin() + function_.params + function_.returns);
  }
}

// Parameters of functions whose address is taken: their name stands elsewhere than in ld.param, st.param and calls.
void FunctionLowering::find_kept_params() {
  kept_.assign(function_.variables.size(), false);
  if (function_.entry) return;
  const auto note = [&](const ptx::Operand& op) {
    if (op.kind == ptx::OperandKind::symbol && op.in_function && op.index < function_.params &&
        variable(op).space == ptx::Space::param)
      kept_[op.index] = true;
  };
  for (const ptx::Instruction& inst : function_.body) {
    if (inst.form == ptx::Form::call) continue;
    for (const ptx::Operand& op : inst.operands) {
      note(op);
      if (op.kind == ptx::OperandKind::address && !is_param_access(inst)) note(op.elements[0]);
    }
  }
}

int32_t FunctionLowering::scratch() {
  FB_CHECK(used_scratch_ < kScratchRows);
  const int32_t row = scratch_ + static_cast<int32_t>(kScratchBytes * used_scratch_++);
  lengthen_frame(row, kScratchBytes);
  return row;
}

int32_t FunctionLowering::sink() {
  lengthen_frame(sink_, kSinkBytes);
  return sink_;
}

void FunctionLowering::lengthen_frame(int32_t row, uint32_t bytes) {
  uint32_t& frame = program_.functions[index_].frame_bytes;
  frame = std::max(frame, static_cast<uint32_t>(row) + bytes);
}

// --- Symbols
// ----------------------------------------------------------------------------------------------------------

const ptx::Variable& FunctionLowering::variable(const ptx::Operand& symbol) const {
  return symbol.in_function ? function_.variables[symbol.index] : program_.module->variables[symbol.index];
}

bool FunctionLowering::is_local(const ptx::Operand& op) const {
  return op.kind == ptx::OperandKind::symbol && op.in_function &&
         (variable(op).space == ptx::Space::local || kept_[op.index]);
}

bool FunctionLowering::is_kernel_param(const ptx::Operand& symbol) const {
  return function_.entry && symbol.in_function && symbol.index < function_.params;
}

uint64_t FunctionLowering::symbol_address(const ptx::Operand& symbol, bool generic) const {
  const ptx::Variable& var = variable(symbol);
  switch (var.space) {
    case ptx::Space::shared:
      return shared_.address_of(index_, symbol) + symbol.bits + (generic ? mem::kSharedWindow : 0);
    case ptx::Space::param:
      return program_.functions[index_].param_offsets[symbol.index] + symbol.bits + (generic ? mem::kParamWindow : 0);
    default:
      return options_.address_of(symbol.index) + symbol.bits;
  }
}

void FunctionLowering::fail(const ptx::Instruction& inst, std::string message) {
  errors_.list.push_back({inst.at, std::move(message)});
}

std::string FunctionLowering::text_of(const ptx::Instruction& inst) const {
  return ptx::print(*program_.module, function_, inst);
}

// --- Operands
// ---------------------------------------------------------------------------------------------------------

int32_t FunctionLowering::place_value(const ptx::Instruction& inst, size_t k, const ptx::Operand& op, uint8_t& width) {
  using Kind = ptx::OperandKind;
  switch (op.kind) {
    case Kind::none:
      return kAbsent;
    case Kind::sink:
      width = static_cast<uint8_t>(immediate_bytes(inst, k));
      return sink();
    case Kind::reg:
      width = static_cast<uint8_t>(ptx::bytes_of(function_.registers[op.index].type));
      return rows_.row[op.index];
    case Kind::integer:
    case Kind::float32:
    case Kind::float64:
      return place_literal(inst, k, op, width);
    case Kind::function:
      width = 8;
      return constants_.row(8, mem::kCodeWindow + kCodeStride * op.index);
    case Kind::symbol:
      width = static_cast<uint8_t>(std::max(immediate_bytes(inst, k), 4u));
      return place_symbol(inst, op, width);
    case Kind::special:
      return place_special(op, width);
    default:
      fail(inst, "an operand of " + text_of(inst) + " can't be lowered");
      return kAbsent;
  }
}

int32_t FunctionLowering::place_literal(const ptx::Instruction& inst, size_t k, const ptx::Operand& op,
                                        uint8_t& width) {
  if (is_predicate_operand(inst, k)) return constants_.mask(op.bits != 0);
  const uint32_t bytes = immediate_bytes(inst, k);
  width = static_cast<uint8_t>(bytes);
  const auto of_double = [&](double value) {
    if (bytes == 4) return constants_.row(4, std::bit_cast<uint32_t>(static_cast<float>(value)));
    return constants_.row(bytes, std::bit_cast<uint64_t>(value));
  };
  if (op.kind == ptx::OperandKind::float64) return of_double(std::bit_cast<double>(op.bits));
  if (op.kind == ptx::OperandKind::float32) {
    if (bytes == 8) return of_double(std::bit_cast<float>(static_cast<uint32_t>(op.bits)));
    return constants_.row(bytes, op.bits);
  }
  return constants_.row(bytes, op.bits, static_cast<int64_t>(op.bits) < 0 ? ~uint64_t{0} : 0);
}

int32_t FunctionLowering::place_symbol(const ptx::Instruction& inst, const ptx::Operand& op, uint8_t& width) {
  if (is_local(op)) {
    const int32_t row = scratch();
    Inst& address = append(&exec_local_address);
    address.op[0] = row;
    address.width[0] = width;
    address.imm = static_cast<int64_t>(local_offset_[op.index] + op.bits);
    return row;
  }
  return has_fixed_address(inst, op) ? constants_.row(width, symbol_address(op, false)) : kAbsent;
}

bool FunctionLowering::has_fixed_address(const ptx::Instruction& inst, const ptx::Operand& symbol) {
  const ptx::Space space = variable(symbol).space;
  if (space == ptx::Space::param && !is_kernel_param(symbol)) {
    fail(inst, fmt::format("{}: the address of a function's parameter is not supported", text_of(inst)));
    return false;
  }
  if (symbol.in_function && (space == ptx::Space::global || space == ptx::Space::constant)) {
    fail(inst, fmt::format("{}: {} variables inside a function are not supported", text_of(inst), to_string(space)));
    return false;
  }
  return true;
}

int32_t FunctionLowering::place_special(const ptx::Operand& op, uint8_t& width) {
  ptx::Instruction mov;
  mov.form = ptx::Form::mov;
  mov.types = {ptx::type_of(static_cast<ptx::SpecialReg>(op.index))};
  mov.operands.resize(2);
  mov.operands[1].kind = ptx::OperandKind::special;
  mov.operands[1].index = op.index;
  width = static_cast<uint8_t>(ptx::bytes_of(mov.types[0]));
  const int32_t row = scratch();
  Inst& read = append(select({mov}));
  read.op[0] = row;
  read.width[0] = width;
  read.imm = op.index;
  return row;
}

void FunctionLowering::place_address(const ptx::Instruction& inst, size_t k, Inst& out, std::vector<int32_t>& list) {
  const ptx::Operand& op = inst.operands[k];
  const ptx::Operand& base = op.elements[0];
  const bool generic = inst.spaces.empty();
  uint8_t width = 8;
  int32_t row = kAbsent;
  if (base.kind == ptx::OperandKind::integer) {
    row = constants_.row(8, base.bits);
  } else if (base.kind == ptx::OperandKind::symbol && !is_local(base)) {
    // In an instruction on generic addresses a variable means its generic address.
    if (!has_fixed_address(inst, base)) return;
    row = constants_.row(8, symbol_address(base, generic));
  } else if (is_local(base)) {
    row = place_symbol(inst, base, width);
    if (generic) program_.code.back().imm += static_cast<int64_t>(mem::kLocalWindow);
  } else {
    row = place_value(inst, k, base, width);
  }
  const auto earlier = inst.operands.begin() + static_cast<std::ptrdiff_t>(k);
  const bool first = std::none_of(inst.operands.begin(), earlier,
                                  [](const ptx::Operand& o) { return o.kind == ptx::OperandKind::address; });
  // Only the first address has room for its offset in the instruction.
  if (first) {
    out.imm = static_cast<int64_t>(op.bits);
  } else if (op.bits != 0) {
    Inst& add = append(&exec_add_offset);
    add.op[0] = scratch();
    add.op[1] = row;
    add.width[0] = width;
    add.imm = static_cast<int64_t>(op.bits);
    row = add.op[0];
  }
  out.op[k] = row;
  out.width[k] = width;
  if (op.elements.size() < 2) return;
  for (const ptx::Operand& c : op.elements[1].elements) {
    uint8_t ignored = 4;
    list.push_back(c.kind == ptx::OperandKind::integer ? constants_.row(4, c.bits) : place_value(inst, k, c, ignored));
  }
}

void FunctionLowering::place_operand(const ptx::Instruction& inst, size_t k, Inst& out, std::vector<int32_t>& list) {
  const ptx::Operand& op = inst.operands[k];
  if (op.negated) out.negated = static_cast<uint8_t>(out.negated | 1u << k);
  switch (op.kind) {
    case ptx::OperandKind::label:
      jumps_.push_back({ptx::kNoIndex, op.index});
      break;
    case ptx::OperandKind::address:
      place_address(inst, k, out, list);
      break;
    case ptx::OperandKind::vector:
      out.op[k] = static_cast<int32_t>(list.size());
      for (const ptx::Operand& e : op.elements) {
        if (e.kind != ptx::OperandKind::reg) continue;
        const auto width = static_cast<uint8_t>(ptx::bytes_of(function_.registers[e.index].type));
        if (out.width[k] != 0 && out.width[k] != width) {
          fail(inst, "registers of different widths in one list: " + text_of(inst));
        }
        out.width[k] = width;
      }
      for (const ptx::Operand& e : op.elements) {
        uint8_t width = 0;
        // A literal is as wide as the registers beside it, which may be wider than the type.
        const bool literal = e.kind == ptx::OperandKind::integer && out.width[k] != 0;
        list.push_back(literal ? constants_.row(out.width[k], e.bits) : place_value(inst, k, e, width));
        if (out.width[k] == 0) out.width[k] = width;
      }
      break;
    default: {
      const int32_t row = place_value(inst, k, op, out.width[k]);
      // A single register where a list may stand is a list of one.
      if (row != kAbsent && is_list_operand(inst, k)) {
        out.op[k] = static_cast<int32_t>(list.size());
        list.push_back(row);
      } else {
        out.op[k] = row;
      }
      break;
    }
  }
}

// ld.param and st.param of named variables. True if `inst` is one.
bool FunctionLowering::place_param_access(const ptx::Instruction& inst, Inst& out, ParamKind& kind) {
  if (!is_param_access(inst)) return false;
  const size_t k = inst.form == ptx::Form::ld ? 1 : 0;
  const ptx::Operand& address = inst.operands[k];
  const ptx::Operand& base = address.elements[0];
  if (base.kind != ptx::OperandKind::symbol || !base.in_function) return false;
  const uint32_t count = inst.has(ptx::Mod::v8) ? 8 : inst.has(ptx::Mod::v4) ? 4 : inst.has(ptx::Mod::v2) ? 2 : 1;
  const uint64_t begin = address.bits + base.bits;
  const uint64_t size = variable(base).bytes;
  if (begin > size || uint64_t{ptx::bytes_of(inst.type())} * count > size - begin) {
    fail(inst, fmt::format("{}: reaches beyond the {} bytes of {}", text_of(inst), size, variable(base).name));
  }
  if (is_kernel_param(base)) {
    kind = ParamKind::kernel;
    out.imm = static_cast<int64_t>(program_.functions[index_].param_offsets[base.index] + begin);
    return true;
  }
  const LaneBytes& bytes = lane_bytes_[base.index];
  if (bytes.bytes > UINT16_MAX) fail(inst, fmt::format("parameter {} is larger than 64 KiB", variable(base).name));
  kind = ParamKind::lanes;
  out.op[k] = bytes.offset;
  out.imm = static_cast<int64_t>(begin);
  out.aux = static_cast<uint16_t>(bytes.bytes);
  return true;
}

// --- Control flow
// -----------------------------------------------------------------------------------------------------

void FunctionLowering::place_call(const ptx::Instruction& inst, Inst& out) {
  CallSite site;
  const auto place = [&](const ptx::Operand& list, std::vector<LaneBytes>& to) {
    for (const ptx::Operand& e : list.elements) {
      if (e.kind != ptx::OperandKind::symbol || !e.in_function || variable(e).space != ptx::Space::param ||
          is_kernel_param(e)) {
        fail(inst, "a call passes .param variables only: " + text_of(inst));
        continue;
      }
      to.push_back(lane_bytes_[e.index]);
    }
  };
  place(inst.operands[0], site.results);
  place(inst.operands[2], site.args);
  const ptx::Operand& target = inst.operands[1];
  if (target.kind == ptx::OperandKind::function) {
    site.callee = target.index;
    const ptx::Function& callee = program_.module->functions[target.index];
    if (callee.entry) fail(inst, fmt::format("{} is a kernel and can't be called", callee.name));
    if (!callee.defined) {
      Builtin& builtin = program_.functions[target.index].builtin;
      builtin = find_builtin(callee.name);
      if (!builtin) {
        fail(inst, fmt::format("{} is called but defined nowhere, and the machine has no function of that name",
                               callee.name));
      }
    }
    if (callee.params != site.args.size() || callee.returns != site.results.size()) {
      fail(inst, fmt::format("{} takes {} parameters and returns {} values; this call gives {} and expects {}",
                             callee.name, callee.params, callee.returns, site.args.size(), site.results.size()));
    }
  } else {
    out.op[1] = place_value(inst, 1, target, out.width[1]);
    if (out.width[1] != 8) fail(inst, "a call through a register needs a 64-bit register: " + text_of(inst));
  }
  out.imm = static_cast<int64_t>(program_.calls.size());
  program_.calls.push_back(std::move(site));
}

void FunctionLowering::place_branch_table(const ptx::Instruction& inst, Inst& out) {
  const uint32_t list = inst.operands[1].index;
  const size_t count = function_.target_lists[list].labels.size();
  if (count > UINT16_MAX) fail(inst, "brx.idx: more than 65535 targets");
  out.aux = static_cast<uint16_t>(count);
  out.imm = static_cast<int64_t>(program_.branch_tables.size());
  tables_.push_back({static_cast<uint32_t>(program_.branch_tables.size()), list});
  program_.branch_tables.emplace_back(count, nullptr);
}

// --- Instructions
// -----------------------------------------------------------------------------------------------------

Inst& FunctionLowering::append(Exec run) {
  Inst inst;
  inst.run = run;
  inst.origin = static_cast<uint32_t>(program_.origins.size());
  program_.origins.push_back({index_, body_index_});
  return program_.code.emplace_back(inst);
}

void FunctionLowering::emit_instruction(const ptx::Instruction& inst) {
  Inst out;
  std::vector<int32_t> list;
  const size_t first_jump = jumps_.size();
  used_scratch_ = 0;
  if (inst.guard.reg != ptx::kNoIndex) out.guard = rows_.row[inst.guard.reg];
  out.guard_flip = inst.guard.negated ? kAllLanes : 0;
  out.aux = encode(ptx::order_of(inst), ptx::scope_of(inst));
  Selection selection{inst, options_.observed, ParamKind::none};
  size_t end = inst.operands.size();
  const bool special = inst.form == ptx::Form::mov && inst.operands[1].kind == ptx::OperandKind::special;
  if (special) {
    out.imm = inst.operands[1].index;
    end = 1;
  } else if (inst.form == ptx::Form::call) {
    place_call(inst, out);
    end = 0;
  } else if (inst.form == ptx::Form::brx_idx) {
    place_branch_table(inst, out);
    end = 1;
  }
  const bool param = place_param_access(inst, out, selection.param);
  Exec run = options_.reference ? select_reference(selection) : nullptr;
  if (!run) run = select(selection);
  if (!run) {
    fail(inst, fmt::format("not supported: {} ({})", text_of(inst), ptx::syntax_of(inst.form)));
    return;
  }
  FB_CHECK(end <= std::size(out.op), ptx::syntax_of(inst.form));
  for (size_t k = 0; k < end; ++k) {
    if (!(param && inst.operands[k].kind == ptx::OperandKind::address)) place_operand(inst, k, out, list);
  }
  const auto here = static_cast<uint32_t>(program_.code.size());
  for (size_t j = first_jump; j < jumps_.size(); ++j) jumps_[j].code = here;
  if (!list.empty()) {
    lists_.push_back({here, static_cast<uint32_t>(program_.lists.size())});
    program_.lists.push_back(std::move(list));
  }
  Inst& placed = append(run);
  out.run = run;
  out.origin = placed.origin;
  placed = out;
}

void FunctionLowering::emit_kept_params() {
  body_index_ = 0;
  for (uint32_t p = 0; p < function_.params; ++p) {
    if (!kept_[p]) continue;
    if (lane_bytes_[p].bytes > UINT16_MAX) {
      errors_.list.push_back(
          {function_.at, fmt::format("parameter {} is larger than 64 KiB", function_.variables[p].name)});
      continue;
    }
    Inst& keep = append(&exec_keep_param);
    keep.op[0] = lane_bytes_[p].offset;
    keep.aux = static_cast<uint16_t>(lane_bytes_[p].bytes);
    keep.imm = static_cast<int64_t>(local_offset_[p]);
  }
}

void FunctionLowering::emit() {
  start_.resize(function_.body.size() + 1);
  const auto begin = program_.code.size();
  emit_kept_params();
  for (body_index_ = 0; body_index_ < function_.body.size(); ++body_index_) {
    start_[body_index_] = static_cast<uint32_t>(program_.code.size());
    const ptx::Instruction& inst = function_.body[body_index_];
    if (reaches_stack(function_, inst)) {
      ptx::Instruction local = inst;
      local.spaces[0] = ptx::Space::local;
      emit_instruction(local);
      continue;
    }
    const auto pieces = options_.tear ? tear_store(inst) : std::vector<ptx::Instruction>{};
    if (pieces.empty()) emit_instruction(inst);
    for (const ptx::Instruction& piece : pieces) emit_instruction(piece);
  }
  start_[body_index_] = static_cast<uint32_t>(program_.code.size());
  // Code that runs off the end returns, as ptxas makes it.
  ptx::Instruction ret;
  ret.form = ptx::Form::ret;
  body_index_ = function_.body.empty() ? 0 : body_index_ - 1;
  append(select({ret}));
  program_.functions[index_].first = static_cast<uint32_t>(begin);
}

void FunctionLowering::connect() {
  program_.functions[index_].entry = &program_.code[program_.functions[index_].first];
  for (const Reference& j : jumps_) {
    Inst& jump = program_.code[j.code];
    const uint32_t target = start_[j.to];
    jump.target = &program_.code[target];
    if (target > j.code) continue;
    // A loop: what is alive at its head decides whether a turn changed anything.
    std::vector<Slot> live;
    for (uint32_t r : liveness_.live_in[j.to]) live.push_back({rows_.row[r], row_bytes(function_.registers[r].type)});
    jump.imm = static_cast<int64_t>(program_.loop_live.size());
    program_.loop_live.push_back(std::move(live));
  }
  for (const Reference& l : lists_) program_.code[l.code].list = program_.lists[l.to].data();
  for (const Reference& t : tables_) {
    const auto& labels = function_.target_lists[t.to].labels;
    for (size_t k = 0; k < labels.size(); ++k) program_.branch_tables[t.code][k] = &program_.code[start_[labels[k]]];
  }
}

}  // namespace fb::simt
