// The slow engine: instructions on addresses. virtual_node/mem/layout.h says which window belongs to which space.

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/reference/reference_operands.h"

namespace fb::simt::reference {
namespace {

using ptx::Form;
using ptx::Space;

constexpr Bits kBlockStride = Bits{1} << mem::kClusterShift;

// 0: the executing block itself; r + 1: block r of its cluster.
Bits block_slot(Bits shared_offset) { return shared_offset / kBlockStride; }

bool is_in_window(Bits address, mem::Address begin) {
  return address >= begin && address < Bits{begin} + mem::kWindowSize;
}

void is_space(Operation& o) {
  const Bits a = o.in[1][0];
  const bool shared = is_in_window(a, mem::kSharedWindow), local = is_in_window(a, mem::kLocalWindow);
  const bool constant = a >= mem::kConstantBegin && a < mem::kGlobalBegin;
  bool inside = false;
  switch (o.inst.spaces[0]) {
    case Space::shared: {
      const Bits slot = shared ? block_slot(a - mem::kSharedWindow) : 0;
      inside = shared && (slot == 0 || slot == Bits{o.block_rank} + 1);
      break;
    }
    case Space::shared_cluster:
      inside = shared;
      break;
    case Space::local:
      inside = local;
      break;
    case Space::param:
      inside = is_in_window(a, mem::kParamWindow);
      break;
    case Space::constant:
      inside = constant;
      break;
    default:  // global: everything in no other window, and the parameters of kernels
      inside = !shared && !local && !constant;
      break;
  }
  o.out[0][0] = inside ? 1 : 0;
}

Bits shared_base(const Operation& o) { return o.inst.spaces.empty() ? Bits{mem::kSharedWindow} : 0; }

// The same offset in the shared memory of another block. Ranks beyond the window give its last slot, which no block
// has.
void map_to_block(Operation& o) {
  const Bits a = low(o.in[1][0], ptx::bits_of(o.type())), rank = low(o.in[2][0], 32);
  if (a < shared_base(o) || a - shared_base(o) >= mem::kWindowSize) return;
  const Bits slots = mem::kWindowSize / kBlockStride;
  const Bits slot = rank + 1 < slots ? rank + 1 : slots - 1;
  o.out[0][0] = shared_base(o) + slot * kBlockStride + (a - shared_base(o)) % kBlockStride;
}

void block_of_address(Operation& o) {
  const Bits a = low(o.in[1][0], ptx::bits_of(o.type()));
  const Bits slot = low(block_slot(low(a - shared_base(o), 64)), 32);
  o.out[0][0] = slot == 0 ? Bits{o.block_rank} : slot - 1;
}

}  // namespace

Evaluate address_evaluator(Form form) {
  switch (form) {
    case Form::cvta:
      return [](Operation& o) { o.out[0][0] = o.in[1][0] + window_base(o.inst.spaces[0]); };
    case Form::cvta_to:
      return [](Operation& o) { o.out[0][0] = o.in[1][0] - window_base(o.inst.spaces[0]); };
    case Form::isspacep:
      return is_space;
    case Form::mapa:
      return map_to_block;
    case Form::getctarank:
      return block_of_address;
    default:
      return nullptr;
  }
}

}  // namespace fb::simt::reference
