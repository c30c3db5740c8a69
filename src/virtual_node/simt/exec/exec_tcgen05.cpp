// Tensor cores with a memory of their own: PTX ISA, "TensorCore 5th generation instructions". Products and copies are
// performed when they are issued; their reads of shared memory go on, through the asynchronous proxy, until the
// mbarrier of a commit. Sparse products, .ws, shift, and copies that unpack elements are refused.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_tcgen05.cpp"
#include <hwy/foreach_target.h>

#include <bit>
#include <cstring>

#include "virtual_node/simt/async/async.h"
#include "virtual_node/simt/async/async_issue.h"
#include "virtual_node/simt/async/mbarrier_memory.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/exec/lanes.h"
#include "virtual_node/simt/shared_matrix.h"
#include "virtual_node/simt/tensor/tensor_memory.h"
#include "virtual_node/simt/tensor/tensor_memory_product.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

// Allocation

uint32_t columns_of(Warp& w, const Inst& i, int k) {
  const uint32_t columns = *w.src<uint32_t>(i.op[k]);
  if (columns < TensorMemory::kUnit || columns > TensorMemory::kColumns || !std::has_single_bit(columns)) {
    w.trap(TrapKind::invalid_operand, i, 0, "columns of tensor memory come in powers of two from 32 to 512");
  }
  return columns;
}

template <SharedAddress kAddress>
const Inst* allocate(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  const auto lane = static_cast<uint32_t>(std::countr_zero(w.exec));
  const uint32_t columns = columns_of(w, i, 1);
  TensorMemory& memory = w.block().tensor_memory();
  if (memory.relinquished()) {
    w.trap(TrapKind::invalid_operand, i, lane, "tensor memory is allocated after relinquish_alloc_permit");
  }
  const uint32_t address = memory.allocate(columns);
  if (address == TensorMemory::kColumns) {
    w.trap(TrapKind::invalid_operand, i, lane, "the block has no room for more columns of tensor memory");
  }
  const SharedRef to =
      resolve_shared(w, i, kAddress, lane, first_address(w, i, 0, lane), sizeof address, sizeof address);
  report_range(w, i, AccessKind::store, lane, mem::kSharedWindow + to.cluster_address(), sizeof address,
               Proxy::generic);
  std::memcpy(to.host, &address, sizeof address);
  shared_written(*to.owner, to.host, sizeof address);
  w.note_effect();
  return &i + 1;
}

const Inst* deallocate(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  const auto lane = static_cast<uint32_t>(std::countr_zero(w.exec));
  if (!w.block().tensor_memory().free(w.src<uint32_t>(i.op[0])[lane], columns_of(w, i, 1))) {
    w.trap(TrapKind::invalid_operand, i, lane, "these columns of tensor memory were not allocated together");
  }
  w.note_effect();
  return &i + 1;
}

// Loads and stores of registers

enum class Shape : uint8_t { rows32, by64, by128, by256, split };

// Where register r of a lane is, from the place that the instruction names.
template <Shape kShape>
HWY_INLINE TensorMemory::Place place_in(uint32_t r, uint32_t l, uint32_t split) {
  if constexpr (kShape == Shape::rows32) return {l, r};
  if constexpr (kShape == Shape::by64) return {l / 4 + 8 * (l % 2), 2 * r + l / 2 % 2};
  if constexpr (kShape == Shape::by128) return {l / 4 + 8 * (r % 2), 4 * (r / 2) + l % 4};
  if constexpr (kShape == Shape::by256) return {l / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + l % 4 * 2 + r % 2};
  return {l % 16, r + l / 16 * split};
}

// A warp reaches the quarter of the lanes that is its own, and of that 32 or 16 lanes at once.
template <Shape kShape>
TensorMemory::Place find_place(Warp& w, const Inst& i, int k, uint32_t registers, uint32_t packing, uint32_t split) {
  const TensorMemory::Place base = TensorMemory::place(static_cast<uint32_t>(first_address(w, i, k, 0)));
  const uint32_t quarter = w.index() % 4 * 32, inside = base.lane - quarter;
  if (inside != 0 && (kShape == Shape::rows32 || inside != 16)) {
    w.trap(TrapKind::invalid_operand, i, 0, "a warp can reach its own 32 lanes of tensor memory only");
  }
  uint32_t columns = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t last = place_in<kShape>(registers - 1, l, split).column + 1;
    columns = last > columns ? last : columns;
  }
  if (!w.block().tensor_memory().holds(base.column, columns * packing)) {
    w.trap(TrapKind::out_of_bounds, i, 0, "columns of tensor memory that are not allocated");
  }
  return base;
}

template <Shape kShape, bool kPacked, bool kStore>
const Inst* move_registers(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  const ptx::Instruction& source = source_of(w, i);
  constexpr bool kSplit = kShape == Shape::split;
  constexpr int kList = kStore ? (kSplit ? 2 : 1) : 0, kAddress = kStore ? 0 : 1;
  const ptx::Operand& list = source.operands[kList];
  const auto registers = list.kind == ptx::OperandKind::vector ? static_cast<uint32_t>(list.elements.size()) : 1;
  const uint32_t split = kSplit ? *w.src<uint32_t>(i.op[kStore ? 1 : 2]) : 0;
  const TensorMemory::Place base = find_place<kShape>(w, i, kAddress, registers, kPacked ? 2 : 1, split);
  TensorMemory& memory = w.block().tensor_memory();
  for (uint32_t r = 0; r < registers; ++r) {
    const int32_t offset = i.list[i.op[kList] + static_cast<int32_t>(r)];
    each_lane(w.exec, [&](uint32_t l) {
      const TensorMemory::Place at = place_in<kShape>(r, l, split);
      uint32_t* cell = &memory.at(base.lane + at.lane, base.column + at.column * (kPacked ? 2 : 1));
      if constexpr (kStore) {
        const uint32_t value = w.src<uint32_t>(offset)[l];
        cell[0] = kPacked ? value & 0xffff : value;
        if constexpr (kPacked) cell[1] = value >> 16;
      } else {
        w.row<uint32_t>(offset)[l] = kPacked ? (cell[0] & 0xffff) | cell[1] << 16 : cell[0];
      }
    });
  }
  if constexpr (kStore) w.note_effect();
  return &i + 1;
}

template <bool kStore>
Exec by_shape(const ptx::Instruction& inst) {
  using ptx::Mod;
  const bool packed = inst.has(kStore ? Mod::unpack_16b : Mod::pack_16b);
  const auto choose = [&]<Shape kShape>() -> Exec {
    return packed ? &move_registers<kShape, true, kStore> : &move_registers<kShape, false, kStore>;
  };
  if (inst.has(Mod::shape_32x32b)) return choose.template operator()<Shape::rows32>();
  if (inst.has(Mod::shape_16x64b)) return choose.template operator()<Shape::by64>();
  if (inst.has(Mod::shape_16x128b)) return choose.template operator()<Shape::by128>();
  if (inst.has(Mod::shape_16x256b)) return choose.template operator()<Shape::by256>();
  return choose.template operator()<Shape::split>();
}

// All lanes come; nothing of tensor memory is ever under way.
const Inst* wait_together(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  return w.gather(i, kAllLanes, next) ? &i + 1 : next;
}

const Inst* go_on(Warp&, const Inst& i) { return &i + 1; }

// Copies

struct CopyShape {
  uint32_t rows, columns;
  // Row r of a quarter goes to these quarters of the lanes.
  uint32_t to[4];  // masks, by quarter of the rows
};

std::optional<CopyShape> copy_shape(const ptx::Instruction& inst) {
  using ptx::Mod;
  if (inst.has(Mod::shape_128x256b)) return CopyShape{128, 8, {1, 2, 4, 8}};
  if (inst.has(Mod::shape_128x128b)) return CopyShape{128, 4, {1, 2, 4, 8}};
  if (inst.has(Mod::shape_64x128b)) {
    if (inst.has(Mod::warpx2_02_13)) return CopyShape{64, 4, {0b0101, 0b1010, 0, 0}};
    if (inst.has(Mod::warpx2_01_23)) return CopyShape{64, 4, {0b0011, 0b1100, 0, 0}};
  }
  if (inst.has(Mod::shape_32x128b) && inst.has(Mod::warpx4)) return CopyShape{32, 4, {0b1111, 0, 0, 0}};
  return std::nullopt;
}

// Each block of a pair copies from its own shared memory.
const Inst* copy_to_tensor_memory(Warp& w, const Inst& i) {
  const ptx::Instruction& source = source_of(w, i);
  const CopyShape shape = *copy_shape(source);
  each_lane(w.exec, [&](uint32_t lane) {
    const auto to = TensorMemory::place(static_cast<uint32_t>(first_address(w, i, 0, lane)));
    SharedMatrix m;
    if (!read_tcgen05_descriptor(w.src<uint64_t>(i.op[1])[lane], m)) {
      w.trap(TrapKind::invalid_operand, i, lane, "not a shared memory descriptor of tcgen05 that is supported");
    }
    uint64_t bytes = 0;
    for (Block* block : product_blocks(w, i, lane, source.has(ptx::Mod::cta_group_2))) {
      TensorMemory& memory = block->tensor_memory();
      if (to.lane != 0 || !memory.holds(to.column, shape.columns)) {
        w.trap(TrapKind::out_of_bounds, i, lane, "columns of tensor memory that are not allocated");
      }
      MatrixReader reader(w, i, *block, lane);
      for (uint32_t row = 0; row < shape.rows; ++row) {
        for (uint32_t column = 0; column < shape.columns; column += 4) {
          const std::byte* from = reader.at(m.chunk_address(row, column * 4), 16);
          for (uint32_t quarter = 0; quarter < 4; ++quarter) {
            if ((shape.to[row / 32] >> quarter & 1) == 0) continue;
            std::memcpy(&memory.at(32 * quarter + row % 32, to.column + column), from, 16);
          }
          bytes += 16;
        }
      }
    }
    start_copy(w, i, Mask{1} << lane, GroupKind::none, nullptr, bytes, [] {});
  });
  return &i + 1;
}

// Products

template <bool kInMemory, bool kMasked, bool kScaled>
const Inst* multiply(Warp& w, const Inst& i) {
  const ptx::Instruction& source = source_of(w, i);
  const bool pair = source.has(ptx::Mod::cta_group_2);
  constexpr int kPredicate = kScaled ? 6 : kMasked ? 5 : 4;
  each_lane(w.exec, [&](uint32_t lane) {
    const uint32_t descriptor = w.src<uint32_t>(i.op[3])[lane];
    const auto product = read_instruction_descriptor(source, descriptor);
    if (!product) {
      w.trap(TrapKind::invalid_operand, i, lane,
             "the instruction descriptor of tcgen05.mma names types or a shape that its kind does not have");
    }
    TensorMemoryOperands o;
    o.d = TensorMemory::place(static_cast<uint32_t>(first_address(w, i, 0, lane)));
    if constexpr (kInMemory) {
      o.a = TensorMemory::place(static_cast<uint32_t>(later_address(w, i, 1, lane)));
    } else {
      o.a_descriptor = w.src<uint64_t>(i.op[1])[lane];
    }
    o.b_descriptor = w.src<uint64_t>(i.op[2])[lane];
    if constexpr (kMasked) {
      const size_t count = source.operands[4].kind == ptx::OperandKind::vector ? source.operands[4].elements.size() : 1;
      for (size_t k = 0; k < count; ++k) {
        o.disabled[k] = w.src<uint32_t>(i.list[i.op[4] + static_cast<int32_t>(k)])[lane];
      }
    }
    if constexpr (kScaled) {
      o.scale_a = TensorMemory::place(static_cast<uint32_t>(later_address(w, i, 4, lane)));
      o.scale_b = TensorMemory::place(static_cast<uint32_t>(later_address(w, i, 5, lane)));
    } else if (i.op[kPredicate + 1] != kAbsent) {
      o.divide_by = *w.src<uint32_t>(i.op[kPredicate + 1]);
    }
    o.adds = lane_in(w.predicate(i, kPredicate), lane);
    const auto blocks = product_blocks(w, i, lane, pair);
    const uint64_t bytes = multiply_in_tensor_memory(w, i, lane, *product, o, blocks);
    Block* other = blocks.size() == 2 ? blocks[blocks[0] == &w.block() ? 1 : 0] : nullptr;
    const uint32_t rows = product->m / static_cast<uint32_t>(blocks.size());
    start_product(w, i, Mask{1} << lane, GroupKind::none, other, bytes,
                  {.rows = rows, .columns = product->n, .a_in_shared = !kInMemory, .shared_rows = rows});
  });
  return &i + 1;
}

template <bool kInMemory, bool kMasked, bool kScaled>
Exec select_product(const ptx::Instruction& inst) {
  return inst.has(ptx::Mod::ashift) ? nullptr : &multiply<kInMemory, kMasked, kScaled>;
}

// Everything that the thread has issued is performed by then: the arrival alone is under way.
template <SharedAddress kAddress, bool kMulticast>
const Inst* commit(Warp& w, const Inst& i) {
  each_lane(w.exec, [&](uint32_t lane) {
    const SharedRef first = resolve_mbarrier(w, i, lane, first_address(w, i, 0, lane), kAddress);
    const auto arrive_later = [&](const SharedRef& at) {
      start_behind_products(w, i, Mask{1} << lane, at.owner, [at, lane, inst = &i] {
        if (at.owner->listener()) at.owner->listener()->on_mbarrier_signal(*at.owner, at.host);
        arrive_at(*at.owner, at.host, *inst, lane);
      });
    };
    if constexpr (!kMulticast) return arrive_later(first);
    const uint16_t ranks = w.src<uint16_t>(i.op[1])[lane];
    for (uint32_t rank = 0; rank < 16; ++rank) {
      if ((ranks >> rank & 1) == 0) continue;
      const SharedRef at = in_block(w, i, lane, first, rank, sizeof(uint64_t));
      load_mbarrier(*at.owner, at.host, i, lane);
      arrive_later(at);
    }
  });
  return &i + 1;
}

}  // namespace

FB_EXEC(tcgen05_alloc) {
  return by_shared_address(s.inst, []<SharedAddress kAddress>() -> Exec { return &allocate<kAddress>; });
}
FB_EXEC(tcgen05_dealloc) { return &deallocate; }
FB_EXEC(tcgen05_relinquish_alloc_permit) {
  return [](Warp& w, const Inst& i) -> const Inst* {
    const Inst* next = nullptr;
    if (!w.gather(i, kAllLanes, next)) return next;
    w.block().tensor_memory().relinquish();
    return &i + 1;
  };
}

FB_EXEC(tcgen05_ld) { return by_shape<false>(s.inst); }
FB_EXEC(tcgen05_ld_split) { return by_shape<false>(s.inst); }
FB_EXEC(tcgen05_st) { return by_shape<true>(s.inst); }
FB_EXEC(tcgen05_st_split) { return by_shape<true>(s.inst); }
FB_EXEC(tcgen05_wait_ld) { return &wait_together; }
FB_EXEC(tcgen05_wait_st) { return &wait_together; }

FB_EXEC(tcgen05_cp) {
  if (s.inst.has(ptx::Mod::b8x16) || !copy_shape(s.inst)) return nullptr;
  return &copy_to_tensor_memory;
}
FB_EXEC(tcgen05_shift) { return nullptr; }

FB_EXEC(tcgen05_mma) { return select_product<false, false, false>(s.inst); }
FB_EXEC(tcgen05_mma_masked) { return select_product<false, true, false>(s.inst); }
FB_EXEC(tcgen05_mma_ts) { return select_product<true, false, false>(s.inst); }
FB_EXEC(tcgen05_mma_ts_masked) { return select_product<true, true, false>(s.inst); }
FB_EXEC(tcgen05_mma_scaled) { return select_product<false, false, true>(s.inst); }
FB_EXEC(tcgen05_mma_ts_scaled) { return select_product<true, false, true>(s.inst); }
FB_EXEC(tcgen05_mma_other) { return nullptr; }

FB_EXEC(tcgen05_commit) {
  const bool multicast = s.inst.has(ptx::Mod::multicast_cluster);
  return by_shared_address(s.inst, [&]<SharedAddress kAddress>() -> Exec {
    return multicast ? &commit<kAddress, true> : &commit<kAddress, false>;
  });
}
FB_EXEC(tcgen05_fence_before) { return &go_on; }
FB_EXEC(tcgen05_fence_after) { return &go_on; }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
