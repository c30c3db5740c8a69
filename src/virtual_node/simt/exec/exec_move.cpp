// Moves, special registers, packing, and addresses between state spaces: PTX ISA, "Data Movement and Conversion
// Instructions" (mov, cvta, isspacep) and "Special Registers".

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_move.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "virtual_node/mem/layout.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/exec/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {

using ptx::SpecialReg;
using ptx::Type;

namespace {

// Special registers that differ from lane to lane

struct ThreadIndex {
  uint32_t x, y, z;
};

// Calls f(lane, its %tid) for all lanes. Lanes beyond the block's end get an index beyond it, which nothing reads.
template <class F>
HWY_INLINE void each_thread_index(const Warp& w, F f) {
  const Dim3& size = w.block().grid().block;
  const uint32_t first = w.index() * kLanes;
  ThreadIndex t{first % size.x, first / size.x % size.y, first / size.x / size.y};
  for (uint32_t l = 0; l < kLanes; ++l) {
    f(l, t);
    if (++t.x < size.x) continue;
    t.x = 0;
    if (++t.y < size.y) continue;
    t.y = 0;
    ++t.z;
  }
}

template <SpecialReg reg>
HWY_INLINE void lane_values(const Warp& w, uint32_t* values) {
  switch (reg) {
    case SpecialReg::tid_x:
      return each_thread_index(w, [&](uint32_t l, ThreadIndex t) { values[l] = t.x; });
    case SpecialReg::tid_y:
      return each_thread_index(w, [&](uint32_t l, ThreadIndex t) { values[l] = t.y; });
    case SpecialReg::tid_z:
      return each_thread_index(w, [&](uint32_t l, ThreadIndex t) { values[l] = t.z; });
    default:
      break;
  }
  for (uint32_t l = 0; l < kLanes; ++l) {
    const Mask own = Mask{1} << l;
    switch (reg) {
      case SpecialReg::laneid:
        values[l] = l;
        break;
      case SpecialReg::lanemask_eq:
        values[l] = own;
        break;
      case SpecialReg::lanemask_lt:
        values[l] = own - 1;
        break;
      case SpecialReg::lanemask_le:
        values[l] = own | (own - 1);
        break;
      case SpecialReg::lanemask_gt:
        values[l] = ~(own | (own - 1));
        break;
      case SpecialReg::lanemask_ge:
        values[l] = ~(own - 1);
        break;
      default:
        break;
    }
  }
}

template <SpecialReg reg, class T>
const Inst* run_mov_lanes(Warp& w, const Inst& i) {
  alignas(64) uint32_t values[kLanes];
  lane_values<reg>(w, values);
  map_lanes(w.exec, w.row<T>(i.op[0]), [](uint32_t x) { return static_cast<T>(x); }, values);
  return &i + 1;
}

// Special registers that all lanes share

// Without a cluster launch every block is a cluster of its own.
Dim3 cluster_size(const Grid& grid) {
  return {std::max(grid.cluster.x, 1u), std::max(grid.cluster.y, 1u), std::max(grid.cluster.z, 1u)};
}

// %nwarpid and %nsmid are upper bounds of identifiers, not facts about the launch: those of a B200.
constexpr uint32_t kWarpsPerSm = 64;
constexpr uint32_t kSms = 148;
// Shared memory is given out in pieces of this size, and its sizes are reported in them.
constexpr uint32_t kSharedUnit = 128;

uint32_t whole_units(uint32_t bytes) { return (bytes + kSharedUnit - 1) / kSharedUnit * kSharedUnit; }

uint64_t cycles(Warp& w) {
  w.note_clock();
  return w.environment().cycles();
}

uint64_t nanoseconds(Warp& w) {
  w.note_clock();
  return w.environment().nanoseconds();
}

// Performance counters, graph handles and what is not named here read as 0.
uint64_t warp_value(Warp& w, SpecialReg reg) {
  const Block& block = w.block();
  const Grid& grid = block.grid();
  const Dim3 at = block.position();
  const Dim3 cluster = cluster_size(grid);
  switch (reg) {
    case SpecialReg::ntid_x:
      return grid.block.x;
    case SpecialReg::ntid_y:
      return grid.block.y;
    case SpecialReg::ntid_z:
      return grid.block.z;
    case SpecialReg::ctaid_x:
      return at.x;
    case SpecialReg::ctaid_y:
      return at.y;
    case SpecialReg::ctaid_z:
      return at.z;
    case SpecialReg::nctaid_x:
      return grid.grid.x;
    case SpecialReg::nctaid_y:
      return grid.grid.y;
    case SpecialReg::nctaid_z:
      return grid.grid.z;
    case SpecialReg::warpid:
      return w.index();
    case SpecialReg::nwarpid:
      return kWarpsPerSm;
    case SpecialReg::smid:
      return block.sm;
    case SpecialReg::nsmid:
      return kSms;
    case SpecialReg::gridid:
      return grid.id;
    case SpecialReg::is_explicit_cluster:
      return grid.explicit_cluster ? 1 : 0;
    case SpecialReg::clusterid_x:
      return at.x / cluster.x;
    case SpecialReg::clusterid_y:
      return at.y / cluster.y;
    case SpecialReg::clusterid_z:
      return at.z / cluster.z;
    case SpecialReg::nclusterid_x:
      return grid.grid.x / cluster.x;
    case SpecialReg::nclusterid_y:
      return grid.grid.y / cluster.y;
    case SpecialReg::nclusterid_z:
      return grid.grid.z / cluster.z;
    case SpecialReg::cluster_ctaid_x:
      return at.x % cluster.x;
    case SpecialReg::cluster_ctaid_y:
      return at.y % cluster.y;
    case SpecialReg::cluster_ctaid_z:
      return at.z % cluster.z;
    case SpecialReg::cluster_nctaid_x:
      return cluster.x;
    case SpecialReg::cluster_nctaid_y:
      return cluster.y;
    case SpecialReg::cluster_nctaid_z:
      return cluster.z;
    case SpecialReg::cluster_ctarank:
      return block.rank_in_cluster;
    case SpecialReg::cluster_nctarank:
      return cluster.count();
    case SpecialReg::clock:
    case SpecialReg::clock64:
      return cycles(w);
    case SpecialReg::clock_hi:
      return cycles(w) >> 32;
    case SpecialReg::globaltimer:
    case SpecialReg::globaltimer_lo:
      return nanoseconds(w);
    case SpecialReg::globaltimer_hi:
      return nanoseconds(w) >> 32;
    // Where cooperative_groups looks for the words of the grid barrier.
    case SpecialReg::envreg1:
      return grid.workspace >> 32;
    case SpecialReg::envreg2:
      return static_cast<uint32_t>(grid.workspace);
    // The region of shared memory reserved for the system is at its beginning.
    case SpecialReg::reserved_smem_offset_end:
    case SpecialReg::reserved_smem_offset_cap:
      return mem::kSharedReserved;
    case SpecialReg::total_smem_size:
      return whole_units(block.shared_bytes());
    case SpecialReg::aggr_smem_size:
      return whole_units(block.shared_bytes()) + mem::kSharedReserved;
    case SpecialReg::dynamic_smem_size:
      return grid.dynamic_shared_bytes;
    default:
      return 0;
  }
}

template <class T>
const Inst* run_mov_warp(Warp& w, const Inst& i) {
  const auto value = static_cast<T>(warp_value(w, static_cast<SpecialReg>(i.imm)));
  T* d = w.row<T>(i.op[0]);
  if (w.exec == kAllLanes) [[likely]] {
    std::fill_n(d, kLanes, value);
  } else {
    each_lane(w.exec, [&](uint32_t l) { d[l] = value; });
  }
  return &i + 1;
}

const Inst* run_mov_warp_predicate(Warp& w, const Inst& i) {
  w.set_predicate(i.op[0], warp_value(w, static_cast<SpecialReg>(i.imm)) != 0 ? kAllLanes : 0);
  return &i + 1;
}

// A register wider than mov's type can't be named; a narrower mov takes its low bits.
template <class T>
Exec select_special(SpecialReg reg) {
  switch (reg) {
    case SpecialReg::tid_x:
      return &run_mov_lanes<SpecialReg::tid_x, T>;
    case SpecialReg::tid_y:
      return &run_mov_lanes<SpecialReg::tid_y, T>;
    case SpecialReg::tid_z:
      return &run_mov_lanes<SpecialReg::tid_z, T>;
    case SpecialReg::laneid:
      return &run_mov_lanes<SpecialReg::laneid, T>;
    case SpecialReg::lanemask_eq:
      return &run_mov_lanes<SpecialReg::lanemask_eq, T>;
    case SpecialReg::lanemask_lt:
      return &run_mov_lanes<SpecialReg::lanemask_lt, T>;
    case SpecialReg::lanemask_le:
      return &run_mov_lanes<SpecialReg::lanemask_le, T>;
    case SpecialReg::lanemask_gt:
      return &run_mov_lanes<SpecialReg::lanemask_gt, T>;
    case SpecialReg::lanemask_ge:
      return &run_mov_lanes<SpecialReg::lanemask_ge, T>;
    default:
      return &run_mov_warp<T>;
  }
}

// Registers

struct Bits128 {
  uint64_t low, high;
};

template <class T>
Exec mov_lanes() {
  return lanes<T, T>([](T a) { return a; });
}

const Inst* run_mov_predicate(Warp& w, const Inst& i) {
  w.set_predicate(i.op[0], w.predicate(i, 1));
  return &i + 1;
}

// d = {e0, e1, …}, the first in the lowest bits: element k of lane l is element l·count + k of the wide row.
template <class E, uint32_t count>
const Inst* run_pack(Warp& w, const Inst& i) {
  E* d = w.row<E>(i.op[0]);
  const E* from[count];
  for (uint32_t k = 0; k < count; ++k) from[k] = w.src<E>(i.list[i.op[1] + static_cast<int32_t>(k)]);
  if (w.exec == kAllLanes) [[likely]] {
    FB_LANE_LOOP
    for (uint32_t l = 0; l < kLanes; ++l) {
      for (uint32_t k = 0; k < count; ++k) d[l * count + k] = from[k][l];
    }
  } else {
    each_lane(w.exec, [&](uint32_t l) {
      for (uint32_t k = 0; k < count; ++k) d[l * count + k] = from[k][l];
    });
  }
  return &i + 1;
}

template <class E, uint32_t count>
const Inst* run_unpack(Warp& w, const Inst& i) {
  const E* a = w.src<E>(i.op[1]);
  for (uint32_t k = 0; k < count; ++k) {
    E* d = w.row<E>(i.list[i.op[0] + static_cast<int32_t>(k)]);
    if (w.exec == kAllLanes) [[likely]] {
      FB_LANE_LOOP
      for (uint32_t l = 0; l < kLanes; ++l) d[l] = a[l * count + k];
    } else {
      each_lane(w.exec, [&](uint32_t l) { d[l] = a[l * count + k]; });
    }
  }
  return &i + 1;
}

// Calls f.operator()<element, count>() for a value of `bits` in `count` equal elements.
template <class F>
Exec by_elements(uint32_t bits, size_t count, F f) {
  const size_t element = count == 0 ? 0 : bits / count;
  if (element * count != bits) return nullptr;
  switch (element) {
    case 8:
      if (count == 2) return f.template operator()<uint8_t, 2>();
      if (count == 4) return f.template operator()<uint8_t, 4>();
      return nullptr;
    case 16:
      if (count == 2) return f.template operator()<uint16_t, 2>();
      if (count == 4) return f.template operator()<uint16_t, 4>();
      return nullptr;
    case 32:
      if (count == 2) return f.template operator()<uint32_t, 2>();
      if (count == 4) return f.template operator()<uint32_t, 4>();
      return nullptr;
    case 64:
      return count == 2 ? f.template operator()<uint64_t, 2>() : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

FB_EXEC(mov) {
  const Type type = s.inst.type();
  if (s.inst.operands[1].kind == ptx::OperandKind::special) {
    const auto reg = static_cast<SpecialReg>(s.inst.operands[1].index);
    switch (ptx::bits_of(type)) {
      case 1:
        return &run_mov_warp_predicate;
      case 16:
        return select_special<uint16_t>(reg);
      case 32:
        return select_special<uint32_t>(reg);
      case 64:
        return select_special<uint64_t>(reg);
      default:
        return nullptr;
    }
  }
  switch (ptx::bits_of(type)) {
    case 1:
      return &run_mov_predicate;
    case 16:
      return mov_lanes<uint16_t>();
    case 32:
      return mov_lanes<uint32_t>();
    case 64:
      return mov_lanes<uint64_t>();
    case 128:
      return mov_lanes<Bits128>();
    default:
      return nullptr;
  }
}

FB_EXEC(mov_pack) {
  return by_elements(ptx::bits_of(s.inst.type()), s.inst.operands[1].elements.size(),
                     []<class E, uint32_t count>() -> Exec { return &run_pack<E, count>; });
}

FB_EXEC(mov_unpack) {
  return by_elements(ptx::bits_of(s.inst.type()), s.inst.operands[0].elements.size(),
                     []<class E, uint32_t count>() -> Exec { return &run_unpack<E, count>; });
}

// Addresses: the windows of virtual_node/mem/layout.h

namespace {

using mem::Address;

template <Address window>
Exec add_window() {
  return lanes<uint64_t, uint64_t>([](uint64_t a) { return a + window; });
}

// A generic address outside the window becomes one that no space contains, so that its use faults.
template <Address window>
Exec subtract_window() {
  return lanes<uint64_t, uint64_t>([](uint64_t a) { return a - window; });
}

ptx::Space window_of(const ptx::Instruction& inst) {
  return inst.spaces.empty() ? ptx::Space::generic : inst.spaces[0];
}

// A block sees its own shared memory at offset 0 of the window and at its slot in the cluster.
bool is_own_shared(const Block& block, Address a) {
  const Address slot = (a - mem::kSharedWindow) >> mem::kClusterShift;
  return mem::is_shared(a) && (slot == 0 || slot == block.rank_in_cluster + 1);
}

// Everything outside the other windows is global; the kernel's parameters lie in the global window as well (PTX ISA,
// isspacep).
template <ptx::Space space>
bool lies_in(const Block& block, Address a) {
  switch (space) {
    case ptx::Space::global:
      return !mem::is_shared(a) && !mem::is_local(a) && !mem::is_constant(a);
    case ptx::Space::shared:
      return is_own_shared(block, a);
    case ptx::Space::shared_cluster:
      return mem::is_shared(a);
    case ptx::Space::local:
      return mem::is_local(a);
    case ptx::Space::param:
      return mem::is_param(a);
    case ptx::Space::constant:
      return mem::is_constant(a);
    default:
      return false;
  }
}

template <ptx::Space space>
const Inst* run_isspacep(Warp& w, const Inst& i) {
  const bool wide = i.width[1] == 8;
  Mask result = 0;
  each_lane(w.exec, [&](uint32_t l) {
    const Address a = wide ? w.src<uint64_t>(i.op[1])[l] : w.src<uint32_t>(i.op[1])[l];
    result |= Mask{lies_in<space>(w.block(), a)} << l;
  });
  w.set_predicate(i.op[0], result);
  return &i + 1;
}

}  // namespace

// Generic addresses are 64 bits wide: the .u32 forms belong to 32-bit modules.
FB_EXEC(cvta) {
  if (s.inst.type() != Type::u64) return nullptr;
  switch (window_of(s.inst)) {
    case ptx::Space::global:
    case ptx::Space::constant:
      return mov_lanes<uint64_t>();
    case ptx::Space::shared:
    case ptx::Space::shared_cluster:
      return add_window<mem::kSharedWindow>();
    case ptx::Space::local:
      return add_window<mem::kLocalWindow>();
    case ptx::Space::param:
      return add_window<mem::kParamWindow>();
    default:
      return nullptr;
  }
}

FB_EXEC(cvta_to) {
  if (s.inst.type() != Type::u64) return nullptr;
  switch (window_of(s.inst)) {
    case ptx::Space::global:
    case ptx::Space::constant:
      return mov_lanes<uint64_t>();
    case ptx::Space::shared:
    case ptx::Space::shared_cluster:
      return subtract_window<mem::kSharedWindow>();
    case ptx::Space::local:
      return subtract_window<mem::kLocalWindow>();
    case ptx::Space::param:
      return subtract_window<mem::kParamWindow>();
    default:
      return nullptr;
  }
}

FB_EXEC(isspacep) {
  switch (window_of(s.inst)) {
    case ptx::Space::global:
      return &run_isspacep<ptx::Space::global>;
    case ptx::Space::shared:
      return &run_isspacep<ptx::Space::shared>;
    case ptx::Space::shared_cluster:
      return &run_isspacep<ptx::Space::shared_cluster>;
    case ptx::Space::local:
      return &run_isspacep<ptx::Space::local>;
    case ptx::Space::param:
      return &run_isspacep<ptx::Space::param>;
    case ptx::Space::constant:
      return &run_isspacep<ptx::Space::constant>;
    default:
      return nullptr;
  }
}

// A thread's local memory is laid out when the module is lowered; nothing grows it at run time.
FB_EXEC(alloca) { return nullptr; }
FB_EXEC(stacksave) { return nullptr; }
FB_EXEC(stackrestore) { return nullptr; }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
