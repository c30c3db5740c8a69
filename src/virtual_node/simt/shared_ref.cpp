#include "virtual_node/simt/shared_ref.h"

#include <fmt/format.h>

#include <algorithm>

#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"

namespace fb::simt {
namespace {

constexpr uint32_t kOffsetMask = (1u << mem::kClusterShift) - 1;

void check_alignment(Warp& w, const Inst& i, uint32_t lane, mem::Address a, uint32_t align) {
  if (a % align == 0) return;
  w.trap(TrapKind::misaligned, i, lane, fmt::format("address {:#x} is not aligned to {} bytes", a, align), a, align);
}

}  // namespace

mem::Address first_address(const Warp& w, const Inst& i, int k, uint32_t lane) {
  if (i.width[k] == 8) return w.src<uint64_t>(i.op[k])[lane] + static_cast<uint64_t>(i.imm);
  return w.src<uint32_t>(i.op[k])[lane] + static_cast<uint32_t>(i.imm);
}

mem::Address later_address(const Warp& w, const Inst& i, int k, uint32_t lane) {
  if (i.width[k] == 8) return w.src<uint64_t>(i.op[k])[lane];
  return w.src<uint32_t>(i.op[k])[lane];
}

uint32_t SharedRef::cluster_address() const { return (owner->rank_in_cluster + 1) << mem::kClusterShift | offset; }

SharedRef resolve_shared(Warp& w, const Inst& i, SharedAddress kind, uint32_t lane, mem::Address a, uint64_t bytes,
                         uint32_t align) {
  if (kind == SharedAddress::generic) {
    if (!mem::is_shared(a)) {
      w.trap(TrapKind::out_of_bounds, i, lane, fmt::format("{:#x} is not an address of shared memory", a), a);
    }
    a -= mem::kSharedWindow;
  }
  check_alignment(w, i, lane, a, align);
  std::byte* host = w.resolve(i, ptx::Space::shared, lane, a, 1);
  if (bytes > 1) {
    const std::byte* last = w.resolve(i, ptx::Space::shared, lane, a + bytes - 1, 1);
    // Both ends may be valid in two blocks of the cluster.
    if (bytes > kOffsetMask || last != host + (bytes - 1)) {
      w.trap(TrapKind::out_of_bounds, i, lane,
             fmt::format("{} bytes at shared address {:#x} leave the block's shared memory", bytes, a), a);
    }
  }
  Block& own = w.block();
  const auto slot = static_cast<uint32_t>(a) >> mem::kClusterShift;
  Block* owner = slot == 0 || !own.cluster ? &own : own.cluster->blocks[slot - 1];
  return {host, owner, static_cast<uint32_t>(a) & kOffsetMask};
}

SharedRef in_block(Warp& w, const Inst& i, uint32_t lane, const SharedRef& own, uint32_t rank, uint64_t bytes) {
  const mem::Address a = (rank + 1) << mem::kClusterShift | own.offset;
  return resolve_shared(w, i, SharedAddress::window, lane, a, bytes, 1);
}

std::byte* resolve_global(Warp& w, const Inst& i, uint32_t lane, mem::Address a, uint64_t bytes, uint32_t align) {
  check_alignment(w, i, lane, a, align);
  if (std::byte* p = w.find_global(a, std::max<uint64_t>(bytes, 1))) return p;
  // One end is outside, or there is a hole between; resolve() has the words for the first two.
  w.resolve(i, ptx::Space::global, lane, a, 1);
  w.resolve(i, ptx::Space::global, lane, a + bytes - 1, 1);
  w.trap(TrapKind::out_of_bounds, i, lane, fmt::format("{} bytes at {:#x} are not one allocation", bytes, a), a);
}

void shared_written(Block& owner, std::byte* at, uint64_t bytes) {
  if (bytes == 0) return;
  auto& written = owner.shared_written();
  if (!written.empty()) std::fill_n(written.begin() + (at - owner.shared()), bytes, uint8_t{1});
  owner.environment().watch().written(at, bytes);
}

}  // namespace fb::simt
