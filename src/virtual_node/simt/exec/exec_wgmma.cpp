// Tensor cores of a warp group: PTX ISA, "Asynchronous warpgroup-level matrix instructions". Each of the four warps
// computes its own sixteen rows when it comes to the instruction; results are in the registers at once. What the group
// still waits for is the reading of shared memory: it goes on, through the asynchronous proxy, until a wait_group that
// covers it, and code that overwrites a factor earlier is reported as a race.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_wgmma.cpp"
#include <hwy/foreach_target.h>

#include "virtual_node/num/tensor/tensor_engine.h"
#include "virtual_node/simt/async/async.h"
#include "virtual_node/simt/async/async_issue.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/exec/lanes.h"
#include "virtual_node/simt/exec/tensor_sums.h"
#include "virtual_node/simt/shared_matrix.h"
#include "virtual_node/simt/tensor/tensor_elements.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

using num::tensor::Element;

constexpr Mask kFirstLane = 1;
constexpr uint32_t kWords = 8;  // along K: every shape has 32 bytes

// Constants behind the predicate, as they are written: scales, and transpositions of factors in shared memory.
struct WgmmaOptions {
  bool negative = false;
  bool a_by_columns = false, b_by_columns = false;
};

bool is_set(const ptx::Instruction& inst, size_t k, uint64_t value) {
  return inst.operands.size() > k && inst.operands[k].kind == ptx::OperandKind::integer &&
         inst.operands[k].bits == value;
}

WgmmaOptions options_of(const ptx::Instruction& inst, bool a_in_registers) {
  constexpr uint64_t kMinusOne = ~uint64_t{0};
  WgmmaOptions o;
  o.negative = is_set(inst, 4, kMinusOne) != is_set(inst, 5, kMinusOne);
  o.a_by_columns = !a_in_registers && is_set(inst, 6, 1);
  o.b_by_columns = is_set(inst, a_in_registers ? 6 : 7, 1);
  return o;
}

// Flips the signs of all elements of a word.
uint32_t sign_bits(Element e) {
  if (e == Element::tf32) return 0x80000000;
  return elements_in_word(e) == 2 ? 0x80008000 : 0x80808080;
}

SharedMatrix matrix_of(uint64_t descriptor, Element e, bool by_columns) {
  SharedMatrix m;
  read_wgmma_descriptor(descriptor, m);
  m.element_bytes = 4 / elements_in_word(e);
  m.by_columns = by_columns;
  return m;
}

Sum sum_of(const ptx::Instruction& inst) {
  if (inst.type(0) == ptx::Type::f16) return Sum::f16;
  if (inst.type(0) == ptx::Type::f32) return Sum::f32;
  return inst.has(ptx::Mod::satfinite) ? Sum::saturated_s32 : Sum::s32;
}

void check_warp(Warp& w, const Inst& i) {
  if (w.exec == kAllLanes && w.block().warps().size() >= w.index() / 4 * 4 + 4) return;
  w.trap(TrapKind::sync_lane_missing, i, 0, "wgmma needs the 128 threads of a warp group");
}

// The sixteen rows of A that are this warp's.
void load_a(Warp& w, const Inst& i, const ptx::Instruction& source, Element element, const WgmmaOptions& o,
            MatrixReader& reader, uint32_t (&words)[4][kLanes]) {
  if (source.operands[1].kind == ptx::OperandKind::vector) {
    for (int32_t r = 0; r < 4; ++r) std::memcpy(words[r], w.src<uint32_t>(i.list[i.op[1] + r]), sizeof words[r]);
  } else {
    const SharedMatrix m = matrix_of(*w.src<uint64_t>(i.list[i.op[1]]), element, o.a_by_columns);
    for (uint32_t half = 0; half < 2; ++half) {
      uint32_t rows[2][kLanes];
      reader.load(m, w.index() % 4 * 16 + 8 * half, rows);
      for (uint32_t r = 0; r < 2; ++r) std::memcpy(words[2 * r + half], rows[r], sizeof rows[r]);
    }
  }
  if (!o.negative) return;
  for (auto& row : words) {
    for (uint32_t& word : row) word ^= sign_bits(element);
  }
}

const Inst* multiply_group(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  check_warp(w, i);
  const ptx::Instruction& source = source_of(w, i);
  const Element a = *tensor_element(source.type(1)), b = *tensor_element(source.type(2));
  const WgmmaOptions options = options_of(source, source.operands[1].kind == ptx::OperandKind::vector);
  const num::tensor::Engine& engine = num::tensor::engine();
  MatrixReader reader(w, i, w.block());

  uint32_t words[4][kLanes];
  load_a(w, i, source, a, options, reader, words);
  const uint32_t* rows_of_a[4] = {words[0], words[1], words[2], words[3]};
  num::tensor::Factor fa;
  engine.prepare_a(a, kWords, rows_of_a, fa);

  const SharedMatrix m = matrix_of(*w.src<uint64_t>(i.op[2]), b, options.b_by_columns);
  const Sum sum = sum_of(source);
  const int32_t registers = sum == Sum::f16 ? 2 : 4;
  const auto blocks = static_cast<int32_t>(source.operands[0].elements.size()) / registers;
  const bool adds = (w.predicate(i, 3) & kFirstLane) != 0;
  constexpr int32_t kTogether = 8;
  num::tensor::Factor fb[kTogether];
  num::tensor::Sums sums[kTogether];
  const num::tensor::Factor *as[kTogether], *bs[kTogether];
  for (int32_t first = 0; first < blocks; first += kTogether) {
    const int32_t count = blocks - first < kTogether ? blocks - first : kTogether;
    for (int32_t k = 0; k < count; ++k) {
      uint32_t columns[2][kLanes];
      reader.load(m, static_cast<uint32_t>(first + k) * 8, columns);
      const uint32_t* columns_of_b[2] = {columns[0], columns[1]};
      engine.prepare_b(b, kWords, columns_of_b, fb[k]);
      as[k] = &fa;
      bs[k] = &fb[k];
    }
    engine.multiply_many(as, bs, sums, static_cast<uint32_t>(count));
    for (int32_t k = 0; k < count; ++k) {
      const int32_t* d = i.list + i.op[0] + (first + k) * registers;
      if (!adds) {
        for (int32_t r = 0; r < registers; ++r) std::memset(w.row<uint32_t>(d[r]), 0, kLanes * sizeof(uint32_t));
      }
      add_sums(w, d, d, sum, num::tensor::kRows, sums[k]);
    }
  }
  reader.finish();
  // The instruction as a copy: its reads are under way until the machine performs it.
  const bool a_in_shared = source.operands[1].kind != ptx::OperandKind::vector;
  start_product(
      w, i, kFirstLane, GroupKind::wgmma, nullptr, reader.bytes(),
      {.rows = 16, .columns = static_cast<uint32_t>(blocks) * 8, .a_in_shared = a_in_shared, .shared_rows = 64});
  return &i + 1;
}

const Inst* commit_products(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  commit_group(w, GroupKind::wgmma, kFirstLane, w.exec);
  return &i + 1;
}

// The lanes wait together, and for each other's reads.
const Inst* wait_for_products(Warp& w, const Inst& i) {
  const Inst* next = nullptr;
  if (!w.gather(i, kAllLanes, next)) return next;
  const uint32_t newest = *w.src<uint32_t>(i.op[0]);
  if (must_wait(w, GroupKind::wgmma, kFirstLane, newest)) return w.wait(i, SplitState::async);
  tell_waited(w, i, GroupKind::wgmma, newest);
  if (w.listener()) w.listener()->on_sync(w, {SyncKind::warp, MemoryOrder::weak, Scope::cta, 0, w.exec, &i});
  return &i + 1;
}

// Factors that go together: the same type, or the two of a family.
bool fit(ptx::Type a, ptx::Type b) {
  using ptx::Type;
  const auto both = [&](Type x, Type y) { return (a == x || a == y) && (b == x || b == y); };
  return (a == b && (a == Type::f16 || a == Type::bf16 || a == Type::tf32)) || both(Type::e4m3, Type::e5m2) ||
         both(Type::s8, Type::u8);
}

bool has_sum(ptx::Type d, ptx::Type a) {
  using ptx::Type;
  if (a == Type::s8 || a == Type::u8) return d == Type::s32;
  return d == Type::f32 || (d == Type::f16 && a != Type::bf16 && a != Type::tf32);
}

}  // namespace

FB_EXEC(wgmma_mma_async) {
  const ptx::Type a = s.inst.type(1), b = s.inst.type(2);
  if (!fit(a, b) || !has_sum(s.inst.type(0), a)) return nullptr;
  if (s.inst.has(ptx::Mod::satfinite) && s.inst.type(0) != ptx::Type::s32) return nullptr;
  return &multiply_group;
}

// Registers are never under way here, so that there is nothing to order.
FB_EXEC(wgmma_fence) {
  return [](Warp& w, const Inst& i) -> const Inst* {
    const Inst* next = nullptr;
    return w.gather(i, kAllLanes, next) ? &i + 1 : next;
  };
}
FB_EXEC(wgmma_commit_group) { return &commit_products; }
FB_EXEC(wgmma_wait_group) { return &wait_for_products; }

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
