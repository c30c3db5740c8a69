#include "virtual_node/simt/lower/flow.h"

namespace fb::simt {

void add_targets(const ptx::Function& f, const ptx::Instruction& inst, std::vector<uint32_t>& targets) {
  for (const ptx::Operand& op : inst.operands) {
    if (op.kind == ptx::OperandKind::label) targets.push_back(op.index);
    if (op.kind == ptx::OperandKind::target_list && op.index < f.target_lists.size()) {
      const auto& labels = f.target_lists[op.index].labels;
      targets.insert(targets.end(), labels.begin(), labels.end());
    }
  }
}

Flow find_flow(const ptx::Function& f) {
  const auto n = static_cast<uint32_t>(f.body.size());
  std::vector<bool> leader(n + 1, false);
  leader[0] = true;
  std::vector<uint32_t> targets;
  for (uint32_t k = 0; k < n; ++k) {
    targets.clear();
    add_targets(f, f.body[k], targets);
    for (uint32_t t : targets) leader[t] = true;
    if (!targets.empty() || ends_thread(f.body[k])) leader[k + 1] = true;
  }
  Flow flow;
  std::vector<uint32_t> block_of(n + 1, ptx::kNoIndex);
  for (uint32_t k = 0; k < n; ++k) {
    if (leader[k]) flow.block_begin.push_back(k);
    block_of[k] = static_cast<uint32_t>(flow.block_begin.size() - 1);
  }
  flow.next.resize(flow.block_begin.size());
  for (size_t b = 0; b < flow.block_begin.size(); ++b) {
    const uint32_t end = b + 1 < flow.block_begin.size() ? flow.block_begin[b + 1] : n;
    const ptx::Instruction& last = f.body[end - 1];
    targets.clear();
    add_targets(f, last, targets);
    const bool guarded = last.guard.reg != ptx::kNoIndex;
    const bool jumps = !targets.empty();
    if (guarded || (!jumps && !ends_thread(last))) targets.push_back(end);
    for (uint32_t t : targets) {
      if (t < n) flow.next[b].push_back(block_of[t]);
    }
  }
  return flow;
}

}  // namespace fb::simt
