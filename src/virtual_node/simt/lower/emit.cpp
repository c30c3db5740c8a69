#include "virtual_node/simt/lower/emit.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/check.h"
#include "common/ptx/traits.h"
#include "virtual_node/simt/exec/exec_frame.h"
#include "virtual_node/simt/exec/select.h"
#include "virtual_node/simt/exec_span.h"
#include "virtual_node/simt/lower/block_order.h"
#include "virtual_node/simt/lower/flow.h"
#include "virtual_node/simt/lower/operands.h"
#include "virtual_node/simt/lower/tear.h"
#include "virtual_node/simt/memory_order.h"
#include "virtual_node/simt/reference/reference.h"

namespace fb::simt {
namespace {

bool skips_l1(const ptx::Instruction& inst) {
  using ptx::Mod;
  return inst.has(Mod::cg) || inst.has(Mod::cs) || inst.has(Mod::cv) || inst.has(Mod::l1_no_allocate);
}

bool releases_globally(const ptx::Instruction& inst) {
  const bool may_be_global =
      inst.spaces.empty() || inst.spaces[0] == ptx::Space::global || inst.spaces[0] == ptx::Space::generic;
  const ptx::Traits traits = ptx::traits(inst);
  return may_be_global && traits.writes && !traits.asynchronous && releases(ptx::order_of(inst)) &&
         ptx::scope_of(inst) >= ptx::Scope::gpu;
}

}  // namespace

void FunctionEmitter::emit() {
  start_.resize(context_.function.body.size() + 1);
  const auto begin = context_.program.code.size();
  emit_stack_params();
  const bool timed = !context_.options.times.empty();
  if (timed) spans_ = plan_spans(*context_.program.module, context_.index, context_.options.times);
  const auto size = static_cast<uint32_t>(context_.function.body.size());
  const Flow flow = find_flow(context_.function);
  const std::vector<uint32_t> order = block_order(flow);
  uint32_t end = 0;  // behind the last block that was laid out
  for (size_t at = 0; at < order.size() && size != 0; ++at) {
    const uint32_t begin_of_block = flow.block_begin[order[at]];
    if (end != begin_of_block) go_to(end);
    end = order[at] + 1 < flow.block_begin.size() ? flow.block_begin[order[at] + 1] : size;
    for (context_.body_index = begin_of_block; context_.body_index < end; ++context_.body_index) {
      start_[context_.body_index] = static_cast<uint32_t>(context_.program.code.size());
      const ptx::Instruction& inst = context_.function.body[context_.body_index];
      if (timed) emit_spans(spans_.before);
      emit_body(inst);
      if (timed) emit_spans(spans_.behind);
    }
  }
  if (end != size) go_to(end);
  start_[size] = static_cast<uint32_t>(context_.program.code.size());
  // Code that runs off the end returns, as ptxas makes it.
  ptx::Instruction ret;
  ret.form = ptx::Form::ret;
  context_.body_index = size == 0 ? 0 : size - 1;
  context_.append(select({ret}));
  context_.info().first = static_cast<uint32_t>(begin);
}

// From the end of a block to the one that follows it in the function, which lies elsewhere. Takes no time.
void FunctionEmitter::go_to(uint32_t to) {
  if (ends_thread(context_.function.body[to - 1]) && context_.function.body[to - 1].guard.reg == ptx::kNoIndex) return;
  ptx::Instruction jump;
  jump.form = ptx::Form::bra;
  context_.body_index = to - 1;
  const auto here = static_cast<uint32_t>(context_.program.code.size());
  context_.append(select({jump}));
  control_.add_jump(here, to);
}

void FunctionEmitter::emit_body(const ptx::Instruction& inst) {
  if (reaches_stack(context_.function, inst)) {
    ptx::Instruction local = inst;
    local.spaces[0] = ptx::Space::local;
    emit_instruction(local);
    return;
  }
  const auto pieces = tear_store(inst, context_.options.tear);
  if (pieces.empty()) emit_instruction(inst);
  for (const ptx::Instruction& piece : pieces) emit_instruction(piece);
}

void FunctionEmitter::emit_spans(std::vector<std::vector<Span>>& spans) {
  for (Span& span : spans[context_.body_index]) {
    Inst& head = context_.append(&exec_span);
    head.span = &context_.program.spans.emplace_back(std::move(span));
  }
}

void FunctionEmitter::emit_stack_params() {
  context_.body_index = 0;
  for (uint32_t p = 0; p < context_.function.params; ++p) {
    if (!frame_.is_on_stack(p)) continue;
    if (frame_.lane_bytes(p).bytes > UINT16_MAX) {
      context_.errors.list.push_back({context_.function.at, fmt::format("parameter {} is larger than 64 KiB",
                                                                        context_.function.variables[p].name)});
      continue;
    }
    Inst& keep = context_.append(&exec_keep_param);
    keep.op[0] = frame_.lane_bytes(p).offset;
    keep.aux = static_cast<uint16_t>(frame_.lane_bytes(p).bytes);
    keep.imm = static_cast<int64_t>(frame_.local_offset(p));
  }
}

void FunctionEmitter::emit_instruction(const ptx::Instruction& inst) {
  Inst out;
  std::vector<int32_t> list;
  frame_.free_scratch();
  if (inst.guard.reg != ptx::kNoIndex) out.guard = frame_.row(inst.guard.reg);
  out.guard_flip = inst.guard.negated ? kAllLanes : 0;
  out.aux = encode(ptx::order_of(inst), ptx::scope_of(inst), ptx::kind_of(inst.type()) == ptx::TypeKind::signed_int);
  Selection selection{inst, context_.options.observed, ParamKind::none};
  size_t end = inst.operands.size();
  const bool special = inst.form == ptx::Form::mov && inst.operands[1].kind == ptx::OperandKind::special;
  if (special) {
    out.imm = inst.operands[1].index;
    end = 1;
  } else if (inst.form == ptx::Form::call) {
    control_.lower_call(inst, out);
    end = 0;
  } else if (inst.form == ptx::Form::brx_idx) {
    control_.lower_branch_table(inst, out);
    end = 1;
  } else if (inst.form == ptx::Form::wgmma_mma_async) {
    end = 4;  // the others are constants, which the instruction looks up
  }
  const bool param = operands_.lower_param_access(inst, out, selection.param);
  Exec run = context_.options.reference ? select_reference(selection) : nullptr;
  if (!run) run = select(selection);
  if (!run) {
    context_.fail(inst, fmt::format("not supported: {} ({})", context_.text_of(inst), ptx::syntax_of(inst.form)));
    return;
  }
  FB_CHECK(end <= std::size(out.op), ptx::syntax_of(inst.form));
  for (size_t k = 0; k < end; ++k) {
    if (!(param && inst.operands[k].kind == ptx::OperandKind::address)) operands_.lower_operand(inst, k, out, list);
  }
  if (!context_.options.times.empty() && releases_globally(inst)) {
    Inst& wait = context_.append(&exec_release);
    wait.guard = out.guard;
    wait.guard_flip = out.guard_flip;
  }
  const auto here = static_cast<uint32_t>(context_.program.code.size());
  for (const ptx::Operand& op : inst.operands) {
    if (op.kind == ptx::OperandKind::label) control_.add_jump(here, op.index);
  }
  if (!list.empty()) {
    lists_.push_back({here, static_cast<uint32_t>(context_.program.lists.size())});
    context_.program.lists.push_back(std::move(list));
  }
  if (!spans_.slot.empty()) {
    out.slot = spans_.slot[context_.body_index];
    out.past_l1 = skips_l1(inst);
  }
  Inst& appended = context_.append(run);
  out.run = run;
  out.origin = appended.origin;
  appended = out;
}

void FunctionEmitter::connect() {
  Program& program = context_.program;
  context_.info().entry = &program.code[context_.info().first];
  control_.connect(start_);
  for (const List& l : lists_) program.code[l.code].list = program.lists[l.list].data();
}

}  // namespace fb::simt
