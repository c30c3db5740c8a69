// Asynchronous copies: PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy". See async.h for when
// they happen. Bulk copies, st.async and red.async belong to the thread that issues them: one copy per lane.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "virtual_node/simt/exec/exec_async.cpp"
#include <hwy/foreach_target.h>

#include <array>
#include <cstring>

#include "virtual_node/simt/async/async.h"
#include "virtual_node/simt/async/async_issue.h"
#include "virtual_node/simt/async/mbarrier_memory.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/exec/access.h"
#include "virtual_node/simt/exec/lanes.h"
#include "virtual_node/simt/reduce.h"
#include "virtual_node/simt/shared_ref.h"

HWY_BEFORE_NAMESPACE();
namespace fb::simt::HWY_NAMESPACE {
namespace {

// cp.async

// One lane's part: `read` bytes from global memory, then zeros up to `bytes`.
struct SmallCopy {
  SharedRef to;
  const std::byte* from = nullptr;
  uint32_t read = 0;
  uint32_t bytes = 0;
};

void perform(const SmallCopy& c) {
  std::memcpy(c.to.host, c.from ? c.from : c.to.host, c.read);
  std::memset(c.to.host + c.read, 0, c.bytes - c.read);
  shared_written(*c.to.owner, c.to.host, c.bytes);
}

// A source of which nothing is read may be anywhere.
SmallCopy check_small_copy(Warp& w, const Inst& i, uint32_t lane, uint32_t bytes, uint32_t read) {
  if (read > bytes) w.trap(TrapKind::invalid_operand, i, lane, "cp.async: the source size is larger than the copy");
  SmallCopy c{resolve_shared(w, i, SharedAddress::window, lane, first_address(w, i, 0, lane), bytes, bytes), nullptr,
              read, bytes};
  if (read != 0) c.from = resolve_global(w, i, lane, later_address(w, i, 1, lane), read, bytes);
  return c;
}

void report_small_copies(Warp& w, const Inst& i, uint32_t bytes) {
  if (!w.listener()) return;
  AddressRow to, from;
  each_lane(w.exec, [&](uint32_t lane) {
    to.a[lane] = first_address(w, i, 0, lane);
    from.a[lane] = later_address(w, i, 1, lane);
  });
  report_access(w, i, AccessKind::load, ptx::Space::global, from.a, bytes);
  report_access(w, i, AccessKind::store, ptx::Space::shared, to.a, bytes);
}

enum class SourceSize : uint8_t { full, given, ignored };

// The lanes' copies of one instruction are one copy of the machine, unless their commit groups differ.
template <SourceSize kSize, bool kOnly16>
const Inst* copy_small(Warp& w, const Inst& i) {
  const uint32_t bytes = *w.src<uint32_t>(i.op[2]);
  if (bytes != 16 && (kOnly16 || (bytes != 4 && bytes != 8))) {
    w.trap(TrapKind::invalid_operand, i, static_cast<uint32_t>(std::countr_zero(w.exec)),
           "cp.async: not a size it can copy");
  }
  const Mask ignored = kSize == SourceSize::ignored ? w.predicate(i, 3) : 0;
  report_small_copies(w, i, bytes);
  for (Mask left = w.exec; left != 0;) {
    const Mask together = same_group(w, GroupKind::plain, left);
    std::vector<SmallCopy> copies;
    each_lane(together, [&](uint32_t lane) {
      uint32_t read = lane_in(ignored, lane) ? 0 : bytes;
      if constexpr (kSize == SourceSize::given) read = w.src<uint32_t>(i.op[3])[lane];
      copies.push_back(check_small_copy(w, i, lane, bytes, read));
    });
    const uint64_t total = copies.size() * bytes;
    Block* owner = copies.front().to.owner;
    start_copy(w, i, together, GroupKind::plain, owner, total, [copies = std::move(copies)] {
      for (const SmallCopy& c : copies) perform(c);
    });
    left &= ~together;
  }
  return &i + 1;
}

}  // namespace

// The cache level (.ca, .cg) only limits the size.
FB_EXEC(cp_async) {
  const bool sized = s.inst.operands.size() > 3 && s.inst.operands[3].kind != ptx::OperandKind::none;
  if (s.inst.has(ptx::Mod::cg))
    return sized ? &copy_small<SourceSize::given, true> : &copy_small<SourceSize::full, true>;
  return sized ? &copy_small<SourceSize::given, false> : &copy_small<SourceSize::full, false>;
}
FB_EXEC(cp_async_ignore_src) {
  return s.inst.has(ptx::Mod::cg) ? &copy_small<SourceSize::ignored, true> : &copy_small<SourceSize::ignored, false>;
}

// Groups

namespace {

template <GroupKind kKind>
const Inst* commit(Warp& w, const Inst& i) {
  commit_group(w, kKind, w.exec);
  return &i + 1;
}

// Runs again whenever one of the warp's copies is done.
template <GroupKind kKind>
const Inst* wait_for_groups(Warp& w, const Inst& i) {
  const uint32_t newest = *w.src<uint32_t>(i.op[0]);
  if (must_wait(w, kKind, w.exec, newest)) return w.wait(i, SplitState::async);
  tell_waited(w, i, kKind, newest);
  return &i + 1;
}

}  // namespace

FB_EXEC(cp_async_commit_group) { return &commit<GroupKind::plain>; }
FB_EXEC(cp_async_bulk_commit_group) { return &commit<GroupKind::bulk>; }
FB_EXEC(cp_async_wait_group) { return &wait_for_groups<GroupKind::plain>; }
// .read allows less waiting than this does: see async.h.
FB_EXEC(cp_async_bulk_wait_group) { return &wait_for_groups<GroupKind::bulk>; }

FB_EXEC(cp_async_wait_all) {
  return [](Warp& w, const Inst& i) -> const Inst* {
    commit_group(w, GroupKind::plain, w.exec);
    if (must_wait(w, GroupKind::plain, w.exec, 0)) return w.wait(i, SplitState::async);
    tell_waited(w, i, GroupKind::plain, 0);
    return &i + 1;
  };
}

// Without .noinc the arrival is one more than the phase expected.
FB_EXEC(cp_async_mbarrier_arrive) {
  return by_shared_address(s.inst, [&]<SharedAddress kAddress>() -> Exec {
    const auto choose = []<bool kCounts>() -> Exec {
      return [](Warp& w, const Inst& i) -> const Inst* {
        each_lane(w.exec, [&](uint32_t lane) {
          const SharedRef at = resolve_shared(w, i, kAddress, lane, first_address(w, i, 0, lane), 8, 8);
          update_mbarrier(*at.owner, at.host, i, lane,
                          [](Mbarrier& b) { return kCounts ? add_pending(b) : MbarrierResult{}; });
          arrive_after_copies(w, i, lane, at);
        });
        return &i + 1;
      };
    };
    return s.inst.has(ptx::Mod::noinc) ? choose.template operator()<false>() : choose.template operator()<true>();
  });
}

// Bulk copies

namespace {

template <bool kMulticast>
const Inst* bulk_global_to_shared(Warp& w, const Inst& i) {
  each_lane(w.exec, [&](uint32_t lane) {
    const uint32_t bytes = bulk_size(w, i, 2, lane);
    const SharedRef to = resolve_shared(w, i, SharedAddress::window, lane, first_address(w, i, 0, lane), bytes, 16);
    const mem::Address source = later_address(w, i, 1, lane);
    const std::byte* from = resolve_global(w, i, lane, source, bytes, 16);
    const SharedRef mbarrier = resolve_mbarrier(w, i, lane, later_address(w, i, 3, lane));
    report_range(w, i, AccessKind::load, lane, source, bytes);
    Recipients recipients(w, i, lane, to, bytes, mbarrier);
    if constexpr (kMulticast) recipients.multicast(w.src<uint16_t>(i.op[4])[lane]);
    for (const Recipient& r : recipients.list()) {
      report_range(w, i, AccessKind::store, lane, mem::kSharedWindow + r.to.cluster_address(), bytes);
      start_copy(w, i, Mask{1} << lane, GroupKind::none, r.to.owner, bytes, [r, from, bytes, lane, inst = &i] {
        std::memcpy(r.to.host, from, bytes);
        shared_written(*r.to.owner, r.to.host, bytes);
        complete_tx_at(*r.mbarrier.owner, r.mbarrier.host, *inst, lane, bytes);
      });
    }
  });
  return &i + 1;
}

// To the shared memory of another block (or the own one): a copy, or a reduction.
const Inst* bulk_shared_to_shared(Warp& w, const Inst& i) {
  const Reduction reduce = reduction_of(w, i, false);
  each_lane(w.exec, [&](uint32_t lane) {
    const uint32_t bytes = bulk_size(w, i, 2, lane);
    const SharedRef to = resolve_shared(w, i, SharedAddress::window, lane, first_address(w, i, 0, lane), bytes, 16);
    const SharedRef from = resolve_shared(w, i, SharedAddress::window, lane, later_address(w, i, 1, lane), bytes, 16);
    const SharedRef mbarrier = resolve_mbarrier(w, i, lane, later_address(w, i, 3, lane));
    const Recipient r = Recipients(w, i, lane, to, bytes, mbarrier).list().front();
    report_range(w, i, AccessKind::load, lane, mem::kSharedWindow + from.cluster_address(), bytes);
    report_range(w, i, reduce.apply ? AccessKind::atomic : AccessKind::store, lane,
                 mem::kSharedWindow + to.cluster_address(), bytes);
    start_copy(w, i, Mask{1} << lane, GroupKind::none, to.owner, bytes, [r, from, bytes, lane, reduce, inst = &i] {
      reduce.move(r.to.host, from.host, bytes);
      shared_written(*r.to.owner, r.to.host, bytes);
      complete_tx_at(*r.mbarrier.owner, r.mbarrier.host, *inst, lane, bytes);
    });
  });
  return &i + 1;
}

const Inst* bulk_shared_to_global(Warp& w, const Inst& i) {
  const Reduction reduce = reduction_of(w, i, true);
  each_lane(w.exec, [&](uint32_t lane) {
    const uint32_t bytes = bulk_size(w, i, 2, lane);
    const mem::Address target = first_address(w, i, 0, lane);
    std::byte* to = resolve_global(w, i, lane, target, bytes, 16);
    const SharedRef from = resolve_shared(w, i, SharedAddress::window, lane, later_address(w, i, 1, lane), bytes, 16);
    report_range(w, i, AccessKind::load, lane, mem::kSharedWindow + from.cluster_address(), bytes);
    report_range(w, i, reduce.apply ? AccessKind::atomic : AccessKind::store, lane, target, bytes);
    start_copy(w, i, Mask{1} << lane, GroupKind::bulk, from.owner, bytes,
               [to, from, bytes, reduce, watch = &w.environment().watch()] {
                 if (bytes == 0) return;
                 reduce.move(to, from.host, bytes);
                 watch->written(to, bytes);
               });
  });
  return &i + 1;
}

// Bit k of the mask: byte k of every 16 is copied.
const Inst* bulk_masked(Warp& w, const Inst& i) {
  each_lane(w.exec, [&](uint32_t lane) {
    const uint32_t bytes = bulk_size(w, i, 2, lane);
    const mem::Address target = first_address(w, i, 0, lane);
    std::byte* to = resolve_global(w, i, lane, target, bytes, 16);
    const SharedRef from = resolve_shared(w, i, SharedAddress::window, lane, later_address(w, i, 1, lane), bytes, 16);
    const uint16_t mask = w.src<uint16_t>(i.op[4])[lane];
    report_range(w, i, AccessKind::load, lane, mem::kSharedWindow + from.cluster_address(), bytes);
    report_range(w, i, AccessKind::store, lane, target, bytes);
    start_copy(w, i, Mask{1} << lane, GroupKind::bulk, from.owner, bytes,
               [to, from, bytes, mask, watch = &w.environment().watch()] {
                 for (uint32_t k = 0; k < bytes; ++k) {
                   if ((mask >> (k % 16) & 1) == 0) continue;
                   to[k] = from.host[k];
                   watch->written(to + k, 1);
                 }
               });
  });
  return &i + 1;
}

}  // namespace

FB_EXEC(cp_async_bulk_g2s) {
  return s.inst.has(ptx::Mod::multicast_cluster) ? &bulk_global_to_shared<true> : &bulk_global_to_shared<false>;
}
FB_EXEC(cp_async_bulk_s2s) { return &bulk_shared_to_shared; }
FB_EXEC(cp_async_bulk_s2g) { return s.inst.has(ptx::Mod::cp_mask) ? &bulk_masked : &bulk_shared_to_global; }
FB_EXEC(cp_reduce_async_bulk_s2s) {
  return find_reduce(reduce_op(s.inst), s.inst.type()) ? &bulk_shared_to_shared : nullptr;
}
FB_EXEC(cp_reduce_async_bulk_s2g) {
  return find_reduce(reduce_op(s.inst), s.inst.type()) ? &bulk_shared_to_global : nullptr;
}

// There is no cache to fill, but the range must be there.
FB_EXEC(cp_async_bulk_prefetch) {
  return [](Warp& w, const Inst& i) -> const Inst* {
    each_lane(w.exec, [&](uint32_t lane) {
      resolve_global(w, i, lane, first_address(w, i, 0, lane), bulk_size(w, i, 1, lane), 16);
    });
    return &i + 1;
  };
}

// Registers to memory

namespace {

// A value of up to 32 bytes on its way.
struct Value {
  std::array<std::byte, 32> bytes;
  uint32_t size = 0;
};

// The operand's low bytes: one register, or a vector of them.
template <uint32_t kBytes, uint32_t kCount>
Value read_value(const Warp& w, const Inst& i, int k, uint32_t lane) {
  Value v;
  for (uint32_t n = 0; n < kCount; ++n) {
    const int32_t row = kCount == 1 ? i.op[k] : i.list[i.op[k] + static_cast<int32_t>(n)];
    std::memcpy(v.bytes.data() + v.size, w.src<std::byte>(row) + lane * i.width[k], kBytes);
    v.size += kBytes;
  }
  return v;
}

// To shared memory, usually of another block, with an mbarrier there that counts the bytes.
template <SharedAddress kAddress, uint32_t kBytes, uint32_t kCount>
const Inst* send_to_shared(Warp& w, const Inst& i) {
  const Reduction reduce = reduction_of(w, i, false);
  each_lane(w.exec, [&](uint32_t lane) {
    const Value v = read_value<kBytes, kCount>(w, i, 1, lane);
    const SharedRef to = resolve_shared(w, i, kAddress, lane, first_address(w, i, 0, lane), v.size, v.size);
    const SharedRef mbarrier = resolve_mbarrier(w, i, lane, later_address(w, i, 2, lane), kAddress);
    const Recipient r = Recipients(w, i, lane, to, v.size, mbarrier).list().front();
    report_range(w, i, reduce.apply ? AccessKind::atomic : AccessKind::store, lane,
                 mem::kSharedWindow + to.cluster_address(), v.size);
    start_copy(w, i, Mask{1} << lane, GroupKind::none, to.owner, v.size, [r, v, lane, reduce, inst = &i] {
      reduce.move(r.to.host, v.bytes.data(), v.size);
      shared_written(*r.to.owner, r.to.host, v.size);
      complete_tx_at(*r.mbarrier.owner, r.mbarrier.host, *inst, lane, v.size);
    });
  });
  return &i + 1;
}

// To global memory; no event reports its completion.
template <uint32_t kBytes>
const Inst* send_to_global(Warp& w, const Inst& i) {
  const Reduction reduce = reduction_of(w, i, true);
  each_lane(w.exec, [&](uint32_t lane) {
    const Value v = read_value<kBytes, 1>(w, i, 1, lane);
    const mem::Address target = first_address(w, i, 0, lane);
    std::byte* to = resolve_global(w, i, lane, target, v.size, v.size);
    report_range(w, i, reduce.apply ? AccessKind::atomic : AccessKind::store, lane, target, v.size);
    start_copy(w, i, Mask{1} << lane, GroupKind::none, nullptr, v.size,
               [to, v, reduce, watch = &w.environment().watch()] {
                 reduce.move(to, v.bytes.data(), v.size);
                 watch->written(to, v.size);
               });
  });
  return &i + 1;
}

template <uint32_t kCount>
Exec select_send_to_shared(const Selection& s) {
  return by_shared_address(s.inst, [&]<SharedAddress kAddress>() -> Exec {
    return ptx::bytes_of(s.inst.type()) == 8 ? &send_to_shared<kAddress, 8, kCount>
                                             : &send_to_shared<kAddress, 4, kCount>;
  });
}

Exec select_send_to_global(const Selection& s) {
  return by_width<uint8_t, uint16_t, uint32_t, uint64_t>(s.inst.type(),
                                                         []<class T>() -> Exec { return &send_to_global<sizeof(T)>; });
}

}  // namespace

FB_EXEC(st_async) {
  if (s.inst.has(ptx::Mod::v8)) return nullptr;
  if (s.inst.has(ptx::Mod::v4)) return ptx::bytes_of(s.inst.type()) == 4 ? select_send_to_shared<4>(s) : nullptr;
  return s.inst.has(ptx::Mod::v2) ? select_send_to_shared<2>(s) : select_send_to_shared<1>(s);
}
FB_EXEC(st_async_release) { return select_send_to_global(s); }
FB_EXEC(red_async) { return find_reduce(reduce_op(s.inst), s.inst.type()) ? select_send_to_shared<1>(s) : nullptr; }
FB_EXEC(red_async_release) {
  return find_reduce(reduce_op(s.inst), s.inst.type()) ? select_send_to_global(s) : nullptr;
}

// A weak store of zeros, performed at once.
FB_EXEC(st_bulk) {
  return by_shared_address(s.inst, []<SharedAddress kAddress>() -> Exec {
    return [](Warp& w, const Inst& i) -> const Inst* {
      each_lane(w.exec, [&](uint32_t lane) {
        const uint64_t bytes = w.src<uint64_t>(i.op[1])[lane];
        if (bytes % 8 != 0 || *w.src<uint32_t>(i.op[2]) != 0) {
          w.trap(TrapKind::invalid_operand, i, lane, "st.bulk: the size must be a multiple of 8, the value zero");
        }
        const SharedRef to = resolve_shared(w, i, kAddress, lane, first_address(w, i, 0, lane), bytes, 8);
        report_range(w, i, AccessKind::store, lane, mem::kSharedWindow + to.cluster_address(), bytes, Proxy::generic);
        std::memset(to.host, 0, bytes);
        shared_written(*to.owner, to.host, bytes);
      });
      w.note_effect();
      return &i + 1;
    };
  });
}

// Caches

namespace {

// There are none, but the line must be there. (discard leaves the bytes as they are: "undefined" allows that.)
const Inst* touch_line(Warp& w, const Inst& i) {
  const uint32_t bytes = *w.src<uint32_t>(i.op[1]);
  each_lane(w.exec, [&](uint32_t lane) { resolve_global(w, i, lane, first_address(w, i, 0, lane), bytes, 128); });
  return &i + 1;
}

// Policies are opaque to guests, and nothing here reads them.
template <uint64_t kPolicy>
const Inst* set_policy(Warp& w, const Inst& i) {
  auto* d = w.row<uint64_t>(i.op[0]);
  each_lane(w.exec, [&](uint32_t lane) { d[lane] = kPolicy; });
  return &i + 1;
}

Exec select_policy(const Selection& s) {
  if (s.inst.has(ptx::Mod::l2_evict_last)) return &set_policy<0x14F0'0000'0000'0000>;
  if (s.inst.has(ptx::Mod::l2_evict_first)) return &set_policy<0x12F0'0000'0000'0000>;
  return &set_policy<0x10F0'0000'0000'0000>;
}

}  // namespace

FB_EXEC(discard) { return &touch_line; }
FB_EXEC(applypriority) { return &touch_line; }
FB_EXEC(createpolicy_fractional) { return select_policy(s); }
FB_EXEC(createpolicy_range) { return select_policy(s); }
FB_EXEC(createpolicy_cvt) {
  return lanes<uint64_t, uint64_t>([](uint64_t a) { return a; });
}

}  // namespace fb::simt::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
