#pragma once

// Virtual registers to rows. PTX has as many registers as its compiler likes; a frame holds only as many rows as are
// alive at once, so that a warp's registers stay in the first-level cache.

#include <cstdint>
#include <vector>

#include "common/ptx/module.h"
#include "virtual_node/simt/inst.h"

namespace fb::simt {

struct RegisterRows {
  std::vector<int32_t> row;  // per virtual register: byte offset in the frame
  uint32_t bytes = 0;        // of all rows, a multiple of 64
};

struct Liveness {
  // live_in[k]: the registers alive before body[k], for those k that begin a basic block; empty otherwise.
  std::vector<std::vector<uint32_t>> live_in;
};

// Bytes of a register's row: 32 elements, or one Mask for a predicate.
uint32_t row_bytes(ptx::Type type);

Liveness find_liveness(const ptx::Function& function);

// `share`: registers whose lifetimes do not overlap may have the same row. Without it every register has its own.
RegisterRows allocate_rows(const ptx::Function& function, const Liveness& liveness, bool share);

}  // namespace fb::simt
