#pragma once

// Places in memory as asynchronous instructions see them: ranges with an alignment of their own, and shared memory
// whose block matters (its mbarrier, its life, its twin in the other blocks of the cluster).

#include <cstddef>
#include <cstdint>

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {

class Block;

// Address operand k of a lane, in the operand's own space. Only the first address of an instruction keeps its offset
// in Inst::imm; lowering adds the others' beforehand.
mem::Address first_address(const Warp& w, const Inst& i, int k, uint32_t lane);
mem::Address later_address(const Warp& w, const Inst& i, int k, uint32_t lane);

struct SharedRef {
  std::byte* host = nullptr;
  Block* owner = nullptr;
  uint32_t offset = 0;  // in the owner's shared memory as its own threads address it
  // The address in the shared window that names these bytes in every block of the cluster.
  uint32_t cluster_address() const;
};

// How an instruction names shared memory: by an address in the shared window, or by a generic one.
enum class SharedAddress : uint8_t { window, generic };

// f<kind>() for an instruction that takes addresses of shared memory, with its state space or without.
template <class F>
Exec by_shared_address(const ptx::Instruction& inst, F f) {
  return inst.spaces.empty() ? f.template operator()<SharedAddress::generic>()
                             : f.template operator()<SharedAddress::window>();
}

// `bytes` at `a`, aligned to `align` and inside the shared memory of one live block; throws Trap. Zero bytes are legal
// everywhere inside.
SharedRef resolve_shared(Warp& w, const Inst& i, SharedAddress kind, uint32_t lane, mem::Address a, uint64_t bytes,
                         uint32_t align);

// The same offset in block `rank` of the cluster.
SharedRef in_block(Warp& w, const Inst& i, uint32_t lane, const SharedRef& own, uint32_t rank, uint64_t bytes);

// `bytes` of global memory at `a`, a generic address or one of .global (they are the same there); throws Trap.
std::byte* resolve_global(Warp& w, const Inst& i, uint32_t lane, mem::Address a, uint64_t bytes, uint32_t align);

// To be called after bytes of a block's shared memory were written: wakes the splits that sleep on them, and marks them
// as initialised where that is checked.
void shared_written(Block& owner, std::byte* at, uint64_t bytes);

}  // namespace fb::simt
