// Copies of boxes of tensors, and the tensor maps that describe them. Tile mode only: im2col, gather4 and scatter4 are
// refused. The map is read when the copy is issued, the tensor when it is performed.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_tensor.cpp"
#include <hwy/foreach_target.h>

#include <cstring>
#include <memory>

#include "virtual_node/simt/async/async.h"
#include "virtual_node/simt/async/async_issue.h"
#include "virtual_node/simt/async/mbarrier_memory.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/exec/lanes.h"
#include "virtual_node/simt/tensor/tensor_copy.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

constexpr uint32_t kSharedAlign = 128;

// f<rank>() for .1d … .5d in tile mode, else null.
template <class F>
Exec by_rank(const ptx::Instruction& inst, F f) {
  using ptx::Mod;
  for (const Mod mode :
       {Mod::tile_gather4, Mod::im2col, Mod::im2col_w, Mod::im2col_w_128, Mod::tile_scatter4, Mod::im2col_no_offs}) {
    if (inst.has(mode)) return nullptr;
  }
  if (inst.has(Mod::dim_1d)) return f.template operator()<1>();
  if (inst.has(Mod::dim_2d)) return f.template operator()<2>();
  if (inst.has(Mod::dim_3d)) return f.template operator()<3>();
  if (inst.has(Mod::dim_4d)) return f.template operator()<4>();
  if (inst.has(Mod::dim_5d)) return f.template operator()<5>();
  return nullptr;
}

// The box that a lane's map and coordinates name. The coordinates are the first elements of the instruction's list.
TensorBox box_of(Warp& w, const Inst& i, uint32_t lane, mem::Address map, uint32_t rank) {
  int32_t coordinates[kMaxRank];
  for (uint32_t k = 0; k < rank; ++k) coordinates[k] = w.src<int32_t>(i.list[k])[lane];
  return find_box(w, i, lane, load_tensor_map(w, i, lane, map, rank), coordinates);
}

void report_box(Warp& w, const Inst& i, AccessKind kind, uint32_t lane, const TensorBox& box) {
  if (!w.listener()) return;
  for (const TensorRow& row : box.rows) report_range(w, i, kind, lane, row.address, row.bytes);
}

template <uint32_t kRank, bool kMulticast>
const Inst* load_tensor(Warp& w, const Inst& i) {
  each_lane(w.exec, [&](uint32_t lane) {
    const auto box = std::make_shared<const TensorBox>(box_of(w, i, lane, later_address(w, i, 1, lane), kRank));
    const SharedRef to =
        resolve_shared(w, i, SharedAddress::window, lane, first_address(w, i, 0, lane), box->extent(), kSharedAlign);
    const SharedRef mbarrier = resolve_mbarrier(w, i, lane, later_address(w, i, 2, lane));
    report_box(w, i, AccessKind::load, lane, *box);
    Recipients recipients(w, i, lane, to, box->extent(), mbarrier);
    if constexpr (kMulticast) recipients.multicast(w.src<uint16_t>(i.op[4])[lane]);
    for (const Recipient& r : recipients.list()) {
      report_range(w, i, AccessKind::store, lane, mem::kSharedWindow + r.to.cluster_address(), box->bytes);
      start_copy(w, i, Mask{1} << lane, GroupKind::none, r.to.owner, box->bytes, [r, box, lane, inst = &i] {
        load_box(*box, r.to);
        complete_tx_at(*r.mbarrier.owner, r.mbarrier.host, *inst, lane, box->bytes);
      });
    }
  });
  return &i + 1;
}

template <uint32_t kRank, bool kReduce>
const Inst* store_tensor(Warp& w, const Inst& i) {
  each_lane(w.exec, [&](uint32_t lane) {
    TensorBox box = box_of(w, i, lane, first_address(w, i, 0, lane), kRank);
    const SharedRef from =
        resolve_shared(w, i, SharedAddress::window, lane, later_address(w, i, 1, lane), box.extent(), kSharedAlign);
    Reduce reduce = nullptr;
    if constexpr (kReduce) {
      reduce = find_tensor_reduce(reduce_op(source_of(w, i)), box.type);
      if (!reduce) w.trap(TrapKind::invalid_operand, i, lane, "the tensor's elements do not have this reduction");
    }
    report_range(w, i, AccessKind::load, lane, mem::kSharedWindow + from.cluster_address(), box.bytes);
    report_box(w, i, kReduce ? AccessKind::atomic : AccessKind::store, lane, box);
    const uint32_t bytes = box.bytes;
    start_copy(w, i, Mask{1} << lane, GroupKind::bulk, from.owner, bytes,
               [box = std::move(box), from, reduce, watch = &w.environment().watch()] {
                 store_box(box, from, reduce, *watch);
               });
  });
  return &i + 1;
}

}  // namespace

// .cta_group::2 would let the mbarrier be in the neighbour block as well.
FB_EXEC(cp_async_bulk_tensor_g2s) {
  return by_rank(s.inst, [&]<uint32_t kRank>() -> Exec {
    return s.inst.has(ptx::Mod::multicast_cluster) ? &load_tensor<kRank, true> : &load_tensor<kRank, false>;
  });
}
FB_EXEC(cp_async_bulk_tensor_s2g) {
  return by_rank(s.inst, []<uint32_t kRank>() -> Exec { return &store_tensor<kRank, false>; });
}
FB_EXEC(cp_reduce_async_bulk_tensor) {
  return by_rank(s.inst, []<uint32_t kRank>() -> Exec { return &store_tensor<kRank, true>; });
}

// There is no cache to fill, but map and tensor must be there.
FB_EXEC(cp_async_bulk_prefetch_tensor) {
  return by_rank(s.inst, []<uint32_t kRank>() -> Exec {
    return [](Warp& w, const Inst& i) -> const Inst* {
      each_lane(w.exec, [&](uint32_t lane) { box_of(w, i, lane, first_address(w, i, 0, lane), kRank); });
      return &i + 1;
    };
  });
}

// tensormap

namespace {

// Runs `change(map, value of the last operand)` on the map of each lane. kWide: the value has 64 bits.
template <class F>
const Inst* change_maps(Warp& w, const Inst& i, F change) {
  const ptx::Instruction& source = source_of(w, i);
  const ptx::Space space = source.spaces.empty() ? ptx::Space::generic : source.spaces.front();
  each_lane(w.exec, [&](uint32_t lane) {
    const MapRef at = resolve_tensor_map(w, i, lane, space, first_address(w, i, 0, lane));
    TensorMap map = at.load(w, i, lane);
    change(source, map, lane);
    at.store(w, map);
  });
  w.note_effect();
  return &i + 1;
}

uint64_t value_of(const Warp& w, const Inst& i, int k, uint32_t lane) {
  return i.width[k] == 8 ? w.src<uint64_t>(i.op[k])[lane] : w.src<uint32_t>(i.op[k])[lane];
}

const Inst* replace_field(Warp& w, const Inst& i) {
  return change_maps(w, i, [&](const ptx::Instruction& source, TensorMap& map, uint32_t lane) {
    const uint64_t value = value_of(w, i, 1, lane);
    if (source.has(ptx::Mod::rank)) {
      map.rank = static_cast<uint8_t>(value + 1);  // PTX counts ranks from zero here
    } else {
      map.address = value;
    }
  });
}

const Inst* replace_dimension(Warp& w, const Inst& i) {
  return change_maps(w, i, [&](const ptx::Instruction& source, TensorMap& map, uint32_t lane) {
    const uint32_t k = *w.src<uint32_t>(i.op[1]);
    const uint64_t value = value_of(w, i, 2, lane);
    const uint32_t count = source.has(ptx::Mod::global_stride) ? kMaxRank - 1 : kMaxRank;
    if (k >= count) w.trap(TrapKind::invalid_operand, i, lane, "tensormap.replace: no such dimension");
    if (source.has(ptx::Mod::box_dim)) map.box[k] = static_cast<uint16_t>(value);
    if (source.has(ptx::Mod::global_dim)) map.dims[k] = value;
    if (source.has(ptx::Mod::global_stride)) map.strides[k] = value;
    if (source.has(ptx::Mod::element_stride)) map.element_strides[k] = static_cast<uint8_t>(value);
  });
}

const Inst* replace_mode(Warp& w, const Inst& i) {
  return change_maps(w, i, [&](const ptx::Instruction& source, TensorMap& map, uint32_t lane) {
    const uint32_t value = *w.src<uint32_t>(i.op[1]);
    if (source.has(ptx::Mod::elemtype) && !from_ptx_elemtype(value, map.type)) {
      w.trap(TrapKind::invalid_operand, i, lane, "tensormap.replace: an element type that is not supported");
    }
    if (source.has(ptx::Mod::interleave_layout)) map.interleave = static_cast<TensorInterleave>(value);
    if (source.has(ptx::Mod::swizzle_mode)) map.swizzle = static_cast<TensorSwizzle>(value);
    if (source.has(ptx::Mod::fill_mode)) map.fill = static_cast<TensorFill>(value);
  });
}

}  // namespace

FB_EXEC(tensormap_replace) { return &replace_field; }
FB_EXEC(tensormap_replace_dim) { return &replace_dimension; }
FB_EXEC(tensormap_replace_mode) {
  // Atoms other than 16 bytes.
  return s.inst.has(ptx::Mod::swizzle_atomicity) ? nullptr : &replace_mode;
}

// The whole warp copies one map from shared to global memory and releases it to the tensormap proxy.
FB_EXEC(tensormap_cp_fenceproxy) {
  return [](Warp& w, const Inst& i) -> const Inst* {
    const Inst* next = nullptr;
    if (!w.gather(i, kAllLanes, next)) return next;
    const auto lane = static_cast<uint32_t>(std::countr_zero(w.exec));
    const mem::Address target = first_address(w, i, 0, lane);
    std::byte* to = resolve_global(w, i, lane, target, kTensorMapBytes, kSharedAlign);
    const SharedRef from =
        resolve_shared(w, i, SharedAddress::window, lane, later_address(w, i, 1, lane), kTensorMapBytes, kSharedAlign);
    report_range(w, i, AccessKind::load, lane, mem::kSharedWindow + from.cluster_address(), kTensorMapBytes,
                 Proxy::generic);
    report_range(w, i, AccessKind::store, lane, target, kTensorMapBytes, Proxy::generic);
    std::memcpy(to, from.host, kTensorMapBytes);
    w.note_effect();
    w.environment().watch().written(to, kTensorMapBytes);
    return &i + 1;
  };
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
