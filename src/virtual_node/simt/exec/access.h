// Addresses of a whole warp at once: their region, whether all are valid, whether they are contiguous.
// Included once per SIMD target (see lanes.h).

#if defined(FB_SIMT_ACCESS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FB_SIMT_ACCESS_H_
#undef FB_SIMT_ACCESS_H_
#else
#define FB_SIMT_ACCESS_H_
#endif

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/exec/lanes.h"
#include "virtual_node/simt/shared_banks.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

struct alignas(64) AddressRow {
  mem::Address a[kLanes];
};

// Addresses of operand k in its own space, offset included. May return the register row itself.
HWY_INLINE const mem::Address* addresses(Warp& w, const Inst& i, int k, AddressRow& buffer) {
  if (i.width[k] == 8) {
    const auto* row = w.src<uint64_t>(i.op[k]);
    if (i.imm == 0) return row;
    const auto offset = static_cast<uint64_t>(i.imm);
    for (uint32_t l = 0; l < kLanes; ++l) buffer.a[l] = row[l] + offset;
  } else {
    const auto* row = w.src<uint32_t>(i.op[k]);
    const auto offset = static_cast<uint32_t>(i.imm);
    for (uint32_t l = 0; l < kLanes; ++l) buffer.a[l] = row[l] + offset;
  }
  return buffer.a;
}

// A range of one space that is contiguous on the host.
struct Region {
  mem::Address begin = 0;
  uint64_t size = 0;
  std::byte* host = nullptr;
};

// The region around `a`, an address of `kSpace`; empty where lanes must be resolved one by one.
template <ptx::Space kSpace>
HWY_INLINE Region region_around(Warp& w, mem::Address a) {
  if constexpr (kSpace == ptx::Space::global || kSpace == ptx::Space::constant || kSpace == ptx::Space::generic) {
    if (w.find_global(a, 1)) return {w.window->begin, w.window->size, w.window->host};
  }
  if constexpr (kSpace == ptx::Space::shared || kSpace == ptx::Space::generic) {
    Block& block = w.block();
    // Checking for uninitialised bytes is done lane by lane.
    if (!block.grid().check_uninitialised_shared) {
      constexpr mem::Address kBase = kSpace == ptx::Space::generic ? mem::kSharedWindow : 0;
      if (kSpace == ptx::Space::shared || mem::is_shared(a)) {
        return {kBase + mem::kSharedReserved, block.shared_bytes(), block.shared()};
      }
    }
  }
  return {};
}

// True if kBytes at every executing lane's address lie in the region, aligned. Regions begin aligned.
template <uint32_t kBytes>
HWY_INLINE bool all_inside(const mem::Address* a, Mask exec, const Region& r) {
  if (r.size < kBytes) return false;
  const uint64_t last = r.size - kBytes;
  uint64_t bad = 0;
  if (exec == kAllLanes) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t offset = a[l] - r.begin;
      bad |= static_cast<uint64_t>(offset > last) | (offset & (kBytes - 1));
    }
  } else {
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t offset = a[l] - r.begin;
      bad |= lane_in(exec, l) ? static_cast<uint64_t>(offset > last) | (offset & (kBytes - 1)) : 0;
    }
  }
  return bad == 0;
}

// The same where lane l is at a[0] + l * kBytes (in_one_piece).
template <uint32_t kBytes>
HWY_INLINE bool piece_inside(const mem::Address* a, const Region& r) {
  const uint64_t offset = a[0] - r.begin;
  return r.size >= kLanes * kBytes && offset <= r.size - kLanes * kBytes && (offset & (kBytes - 1)) == 0;
}

// All lanes execute and lane l is at a[0] + l * kBytes.
template <uint32_t kBytes>
HWY_INLINE bool in_one_piece(const mem::Address* a, Mask exec) {
  if (exec != kAllLanes || a[kLanes - 1] - a[0] != uint64_t{kLanes - 1} * kBytes) return false;
  uint64_t bad = 0;
  for (uint32_t l = 0; l < kLanes; ++l) bad |= a[l] ^ (a[0] + l * uint64_t{kBytes});
  return bad == 0;
}

// Reports an access to the listener; addresses become generic ones.
inline void report_access(Warp& w, const Inst& i, AccessKind kind, ptx::Space space, const mem::Address* a,
                          uint32_t bytes, Proxy proxy = Proxy::generic, uint32_t element = 0,
                          const void* const* values = nullptr) {
  if (!w.listener()) return;
  if (space == ptx::Space::shared && w.program().bank_samples) note_shared_access(w, i, a, bytes);
  if (kind == AccessKind::load && space != ptx::Space::global && space != ptx::Space::generic &&
      space != ptx::Space::shared_cluster && !w.listener()->sees_local_loads)
    return;
  AddressRow generic;
  const mem::Address base = space == ptx::Space::shared || space == ptx::Space::shared_cluster ? mem::kSharedWindow
                            : space == ptx::Space::local                                       ? mem::kLocalWindow
                            : space == ptx::Space::param                                       ? mem::kParamWindow
                                                                                               : 0;
  if (base != 0) {
    for (uint32_t l = 0; l < kLanes; ++l) generic.a[l] = a[l] + base;
    a = generic.a;
  }
  w.listener()->on_access(w, {kind, order_of(i), scope_of(i), proxy, static_cast<uint8_t>(bytes), w.exec, a, &i,
                              static_cast<uint8_t>(element), values});
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
