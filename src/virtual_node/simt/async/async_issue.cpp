#include "virtual_node/simt/async/async_issue.h"

#include <algorithm>
#include <cstring>

#include "common/ptx/traits.h"
#include "virtual_node/simt/async/mbarrier_memory.h"
#include "virtual_node/simt/block.h"

namespace fb::simt {

const ptx::Instruction& source_of(const Warp& w, const Inst& i) {
  const Program& program = *w.block().grid().program;
  const Origin& origin = program.origins[i.origin];
  return program.module->functions[origin.function].body[origin.index];
}

uint32_t bulk_size(Warp& w, const Inst& i, int k, uint32_t lane) {
  const uint32_t bytes = w.src<uint32_t>(i.op[k])[lane];
  if (bytes % 16 != 0) w.trap(TrapKind::invalid_operand, i, lane, "the size of a bulk copy must be a multiple of 16");
  return bytes;
}

SharedRef resolve_mbarrier(Warp& w, const Inst& i, uint32_t lane, mem::Address a, SharedAddress kind) {
  const SharedRef at = resolve_shared(w, i, kind, lane, a, sizeof(uint64_t), alignof(uint64_t));
  load_mbarrier(*at.owner, at.host, i, lane);
  return at;
}

Recipients::Recipients(Warp& w, const Inst& i, uint32_t lane, const SharedRef& to, uint64_t bytes,
                       const SharedRef& mbarrier)
    : warp_(w), inst_(i), lane_(lane), bytes_(bytes), list_{{to, mbarrier}} {
  if (to.owner != mbarrier.owner) {
    w.trap(TrapKind::bad_barrier, i, lane, "the mbarrier of a copy must be in the block that receives it");
  }
}

void Recipients::multicast(uint16_t ranks) {
  const Recipient pattern = list_.front();
  list_.clear();
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if ((ranks >> rank & 1) == 0) continue;
    const SharedRef mbarrier = in_block(warp_, inst_, lane_, pattern.mbarrier, rank, sizeof(uint64_t));
    load_mbarrier(*mbarrier.owner, mbarrier.host, inst_, lane_);
    list_.push_back({in_block(warp_, inst_, lane_, pattern.to, rank, bytes_), mbarrier});
  }
}

void Reduction::move(std::byte* to, const std::byte* from, uint64_t bytes) const {
  if (apply) {
    apply(to, from, bytes / element);
  } else {
    std::memmove(to, from, bytes);
  }
}

Reduction reduction_of(const Warp& w, const Inst& i, bool global) {
  const ptx::Instruction& source = source_of(w, i);
  if (!ptx::traits(source).reduces) return {};
  return {find_reduce(reduce_op(source), source.type(), global), ptx::bytes_of(source.type())};
}

void report_range(Warp& w, const Inst& i, AccessKind kind, uint32_t lane, mem::Address a, uint64_t bytes, Proxy proxy) {
  if (!w.listener()) return;
  constexpr uint64_t kPiece = 128;
  mem::Address addresses[kLanes] = {};
  for (uint64_t done = 0; done < bytes; done += kPiece) {
    addresses[lane] = a + done;
    const auto piece = static_cast<uint8_t>(std::min(kPiece, bytes - done));
    w.listener()->on_access(w, {kind, order_of(i), scope_of(i), proxy, piece, Mask{1} << lane, addresses, &i});
  }
}

}  // namespace fb::simt
