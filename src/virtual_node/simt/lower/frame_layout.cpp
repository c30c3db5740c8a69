#include "virtual_node/simt/lower/frame_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/check.h"
#include "virtual_node/simt/lower/operands.h"
#include "virtual_node/simt/lower/register_estimate.h"
#include "virtual_node/simt/warp.h"

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

}  // namespace

FrameLayout::FrameLayout(FunctionContext& context) : context_(context) {
  liveness_ = find_liveness(context_.function);
  rows_ = allocate_rows(context_.function, liveness_, !context_.options.reference);
  context_.info().registers_per_thread = estimate_registers(context_.function, liveness_);
  find_stack_params();
  if (!lay_out_variables()) return;
  if (context_.function.entry) {
    lay_out_kernel_params();
  } else {
    const auto first = lane_bytes_.begin(), behind = first + context_.function.params;
    context_.info().params.assign(first, behind);
    context_.info().returns.assign(behind, behind + context_.function.returns);
  }
}

bool FrameLayout::lay_out_variables() {
  lane_bytes_.resize(context_.function.variables.size());
  local_offset_.resize(context_.function.variables.size());
  uint64_t top = rows_.bytes;
  uint64_t local = 0;
  for (size_t v = 0; v < context_.function.variables.size(); ++v) {
    const ptx::Variable& var = context_.function.variables[v];
    if (var.space == ptx::Space::local || on_stack_[v]) {
      local_offset_[v] = align_up(static_cast<uint32_t>(local), var.align);
      local = local_offset_[v] + std::max<uint64_t>(var.bytes, 1);
    }
    if (var.space == ptx::Space::param && !(context_.function.entry && v < context_.function.params)) {
      const uint64_t bytes = std::max<uint64_t>(var.bytes, 1);
      lane_bytes_[v] = {static_cast<int32_t>(top), static_cast<uint32_t>(bytes)};
      top += (bytes * kLanes + 63) / 64 * 64;
    }
    if (top > kLargestFrame || local > kMaxLocalBytes) {
      context_.errors.list.push_back(
          {context_.function.at, fmt::format("{}: a warp of it needs more than {} MiB for its variables",
                                             context_.function.name, kLargestFrame >> 20)});
      return false;
    }
  }
  // Behind all that: rows which only some instructions need. scratch() and sink() make the frame longer for those.
  FunctionInfo& info = context_.info();
  info.frame_bytes = static_cast<uint32_t>((top + 63) / 64 * 64);
  info.local_bytes = align_up(static_cast<uint32_t>(local), 16);
  sink_ = static_cast<int32_t>(info.frame_bytes);
  scratch_ = sink_ + static_cast<int32_t>(kSinkBytes);
  return true;
}

void FrameLayout::lay_out_kernel_params() {
  FunctionInfo& info = context_.info();
  for (uint32_t p = 0; p < context_.function.params; ++p) {
    const ptx::Variable& var = context_.function.variables[p];
    info.param_offsets.push_back(align_up(info.param_bytes, var.align));
    if (var.bytes > kMostParamBytes || info.param_offsets.back() + var.bytes > kMostParamBytes) {
      context_.errors.list.push_back({context_.function.at, fmt::format("{}: more than {} bytes of parameters",
                                                                        context_.function.name, kMostParamBytes)});
      return;
    }
    info.param_bytes = info.param_offsets.back() + static_cast<uint32_t>(var.bytes);
  }
  info.static_shared_bytes = context_.shared.static_bytes(context_.index);
}

// Parameters of functions whose address is taken: their name occurs outside ld.param, st.param and calls.
void FrameLayout::find_stack_params() {
  on_stack_.assign(context_.function.variables.size(), false);
  if (context_.function.entry) return;
  const auto note = [&](const ptx::Operand& op) {
    if (op.kind == ptx::OperandKind::symbol && op.in_function && op.index < context_.function.params &&
        context_.variable(op).space == ptx::Space::param)
      on_stack_[op.index] = true;
  };
  for (const ptx::Instruction& inst : context_.function.body) {
    if (inst.form == ptx::Form::call) continue;
    for (const ptx::Operand& op : inst.operands) {
      note(op);
      if (op.kind == ptx::OperandKind::address && !is_param_access(inst)) note(op.elements[0]);
    }
  }
}

bool FrameLayout::is_local(const ptx::Operand& op) const {
  return op.kind == ptx::OperandKind::symbol && op.in_function &&
         (context_.variable(op).space == ptx::Space::local || on_stack_[op.index]);
}

int32_t FrameLayout::scratch() {
  FB_CHECK(used_scratch_ < kScratchRows);
  const int32_t row = scratch_ + static_cast<int32_t>(kScratchBytes * used_scratch_++);
  lengthen_frame(row, kScratchBytes);
  return row;
}

int32_t FrameLayout::sink() {
  lengthen_frame(sink_, kSinkBytes);
  return sink_;
}

void FrameLayout::lengthen_frame(int32_t row, uint32_t bytes) {
  uint32_t& frame = context_.info().frame_bytes;
  frame = std::max(frame, static_cast<uint32_t>(row) + bytes);
}

}  // namespace fb::simt
