#pragma once

// What the instructions that start bulk copies have in common: their checks at issue, the recipients of a multicast,
// and the reports to listeners.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "virtual_node/simt/listener.h"
#include "virtual_node/simt/reduce.h"
#include "virtual_node/simt/shared_ref.h"
#include "virtual_node/simt/warp.h"

namespace fb::simt {

// The instruction as it was parsed.
const ptx::Instruction& source_of(const Warp& w, const Inst& i);

// Size operand k of a bulk copy, which must be a multiple of 16.
uint32_t bulk_size(Warp& w, const Inst& i, int k, uint32_t lane);

// An initialised mbarrier.
SharedRef resolve_mbarrier(Warp& w, const Inst& i, uint32_t lane, mem::Address a,
                           SharedAddress kind = SharedAddress::window);

// Where a copy goes, and the mbarrier beside it that counts its bytes.
struct Recipient {
  SharedRef to;
  SharedRef mbarrier;
};

class Recipients {
 public:
  // One: the given destination and mbarrier, which must be in the same block.
  Recipients(Warp& w, const Inst& i, uint32_t lane, const SharedRef& to, uint64_t bytes, const SharedRef& mbarrier);
  // Instead of it, the same offsets in every block of the cluster whose bit is set.
  void multicast(uint16_t ranks);
  const std::vector<Recipient>& list() const { return list_; }

 private:
  Warp& warp_;
  const Inst& inst_;
  uint32_t lane_;
  uint64_t bytes_;
  std::vector<Recipient> list_;
};

// How bytes arrive: copied, or combined with what is there.
struct Reduction {
  Reduce apply = nullptr;
  uint32_t element = 1;  // bytes

  void move(std::byte* to, const std::byte* from, uint64_t bytes) const;
};

// Of the instruction: none if it is a plain copy. Atomics on f32 in global memory flush subnormals.
Reduction reduction_of(const Warp& w, const Inst& i, bool global);

// Tells a listener about a range of any size, in pieces of at most 128 bytes. `a` is a generic address.
void report_range(Warp& w, const Inst& i, AccessKind kind, uint32_t lane, mem::Address a, uint64_t bytes,
                  Proxy proxy = Proxy::async);

}  // namespace fb::simt
