#include "virtual_node/simt/branch_ways.h"

#include "virtual_node/simt/warp.h"

namespace fb::simt {
namespace {

// The predicate is an operand here, not a guard: a branch that all lanes skip has to be seen, too.
const Inst* counted_branch(Warp& w, const Inst& i) {
  w.exec = w.active & (*w.src<Mask>(i.op[0]) ^ i.guard_flip);
  uint8_t& ways = (*w.program().branch_ways)[i.origin];
  if (w.exec != 0) ways |= kJumped;
  if (w.exec != w.active) ways |= kFellThrough;
  return w.exec != 0 ? w.branch(i, w.exec, i.target) : &i + 1;
}

}  // namespace

void count_ways(Inst& branch) {
  if (branch.guard == kAbsent) return;
  branch.op[0] = branch.guard;
  branch.guard = kAbsent;
  branch.run = counted_branch;
}

bool counts_ways(const Inst& inst) { return inst.run == counted_branch; }

}  // namespace fb::simt
