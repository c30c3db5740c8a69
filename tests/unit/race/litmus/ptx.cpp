#include "litmus/ptx.h"

#include <fmt/format.h>

#include <iterator>

namespace fb::litmus {
namespace {

class Writer {
 public:
  explicit Writer(const Program& program) : program_(program) {}

  std::string write() {
    put(".version 9.1\n.target sm_100a\n.address_size 64\n");
    put(".visible .entry litmus(.param .u64 memory, .param .u64 multicast, .param .u64 results, .param .u32 "
        "device)\n{{\n");
    put("  .reg .pred %p<4>;\n  .reg .b32 %r<{}>;\n  .reg .b32 %key, %part;\n  .reg .b64 %memory, %multicast, "
        "%results, %wide;\n",
        kMostRegisters);
    put("  .shared .align 16 .b8 shared[{}];\n  .shared .align 8 .b64 complete;\n",
        kLocationStride * program_.locations.size());
    line("ld.param.u64 %memory, [memory]");
    line("ld.param.u64 %multicast, [multicast]");
    line("ld.param.u64 %results, [results]");
    line("ld.param.u32 %key, [device]");
    line("mov.u32 %part, %ctaid.x");
    line("mad.lo.u32 %key, %key, {}, %part", kMostBlocks);
    line("mov.u32 %part, %tid.x");
    line("mad.lo.u32 %key, %key, {}, %part", kMostThreads);
    for (size_t t = 0; t < program_.threads.size(); ++t) {
      line("setp.eq.u32 %p0, %key, {}", key(program_.threads[t].place));
      line("@%p0 bra PART{}", t);
    }
    line("ret");
    for (size_t t = 0; t < program_.threads.size(); ++t) write_part(t);
    put("}}\n");
    return std::move(text_);
  }

 private:
  static constexpr uint32_t kMostBlocks = 16, kMostThreads = 1024;
  // Instructions behind each operation: turns are of all lengths, and should end there more often than not.
  static constexpr uint32_t kPause = 24;

  static uint32_t key(const Place& p) {
    return (p.device * kMostBlocks + p.block) * kMostThreads + p.warp * simt::kLanes + p.lane;
  }

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    put("  ");
    put(format, std::forward<Args>(args)...);
    put(";\n");
  }

  // Warps of a block whose thread comes to a barrier: others of the block may be anywhere.
  uint32_t participants(const Place& place) const {
    uint32_t count = 0;
    for (const Thread& t : program_.threads) {
      if (!t.place.same_block(place)) continue;
      for (const Op& op : t.ops) {
        if (op.kind != OpKind::barrier) continue;
        ++count;
        break;
      }
    }
    return count;
  }

  void write_part(size_t t) {
    const auto& ops = program_.threads[t].ops;
    put("PART{}:\n", t);
    for (uint32_t r = 0; r < program_.registers(t); ++r) line("mov.u32 %r{}, {}", r, kUnset);
    for (const Op& op : ops) {
      if (op.kind != OpKind::bulk_load) continue;
      // One thread only, before anything else of it.
      line("mbarrier.init.shared::cta.b64 [complete], 1");
      line("fence.mbarrier_init.release.cluster");
      break;
    }
    for (size_t k = 0; k < ops.size(); ++k) {
      write_op(t, k, ops[k]);
      for (uint32_t n = 0; n < kPause; ++n) line("add.u32 %part, %part, 1");
    }
    put("END{}:\n", t);
    for (uint32_t r = 0; r < program_.registers(t); ++r) {
      line("st.global.u32 [%results+{}], %r{}", (t * kMostRegisters + r) * 4, r);
    }
    line("ret");
  }

  bool shared(int16_t location) const {
    return program_.locations[static_cast<size_t>(location)].memory == Memory::shared;
  }
  std::string address(int16_t location) const {
    return fmt::format("[{}+{}]", shared(location) ? "shared" : "%memory",
                       location * static_cast<int>(kLocationStride));
  }
  // ".release.gpu.global"
  std::string how(const Op& op) const {
    std::string words;
    switch (op.order) {
      case MemoryOrder::weak:
        break;
      case MemoryOrder::volatile_:
        words = ".volatile";
        break;
      case MemoryOrder::relaxed:
        words = ".relaxed";
        break;
      case MemoryOrder::acquire:
        words = ".acquire";
        break;
      case MemoryOrder::release:
        words = ".release";
        break;
      case MemoryOrder::acq_rel:
        words = ".acq_rel";
        break;
      case MemoryOrder::sc:
        words = ".sc";
        break;
    }
    switch (op.scope) {
      case Scope::cta:
        words += ".cta";
        break;
      case Scope::cluster:
        words += ".cluster";
        break;
      case Scope::gpu:
        words += ".gpu";
        break;
      case Scope::sys:
        words += ".sys";
        break;
      case Scope::none:
        break;
    }
    if (op.location != kNone) words += shared(op.location) ? ".shared" : ".global";
    return words;
  }

  void write_op(size_t t, size_t k, const Op& op) {
    switch (op.kind) {
      case OpKind::load:
        if (op.wide) {
          line("ld{}.u64 %wide, {}", how(op), address(op.location));
          return line("cvt.u32.u64 %r{}, %wide", op.reg);
        }
        return line("ld{}.u32 %r{}, {}", how(op), op.reg, address(op.location));
      case OpKind::store:
        if (op.wide) return line("st{}.u64 {}, {}", how(op), address(op.location), op.value);
        if (op.reg != kNone) return line("st{}.u32 {}, %r{}", how(op), address(op.location), op.reg);
        return line("st{}.u32 {}, {}", how(op), address(op.location), op.value);
      case OpKind::exchange:
        return line("atom{}.exch.b32 %r{}, {}, {}", how(op), op.reg, address(op.location), op.value);
      case OpKind::add:
        return line("atom{}.add.u32 %r{}, {}, {}", how(op), op.reg, address(op.location), op.value);
      case OpKind::reduce:
        return line("red{}.add.u32 {}, {}", how(op), address(op.location), op.value);
      case OpKind::fence:
        return line("fence{}", how(op));
      case OpKind::barrier:
        return line("bar.sync 0, {}", participants(program_.threads[t].place) * simt::kLanes);
      case OpKind::guard:
        line("setp.ne.u32 %p1, %r{}, {}", op.reg, op.value);
        return line("@%p1 bra END{}", t);
      case OpKind::bulk_store:
        line("cp.async.bulk.global.shared::cta.bulk_group {}, {}, {}", address(op.location), address(op.source),
             kCopyBytes);
        return line("cp.async.bulk.commit_group");
      case OpKind::bulk_load:
        line("mbarrier.arrive.expect_tx.shared::cta.b64 _, [complete], {}", kCopyBytes);
        return line("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes {}, {}, {}, [complete]",
                    address(op.location), address(op.source), kCopyBytes);
      case OpKind::wait_bulk_read:
        return line("cp.async.bulk.wait_group.read 0");
      case OpKind::wait_bulk:
        return line("cp.async.bulk.wait_group 0");
      case OpKind::wait_load:
        put("WAIT{}_{}:\n", t, k);
        line("mbarrier.try_wait.parity.shared::cta.b64 %p2, [complete], 0");
        return line("@!%p2 bra WAIT{}_{}", t, k);
      case OpKind::fence_async:
        return line("fence.proxy.async");
      case OpKind::fence_alias:
        return line("fence.proxy.alias");
      case OpKind::multimem_store:
        // Integers are not stored this way: the bits of a float are.
        return line("multimem.st{}.f32 [%multicast+{}], 0f{:08X}", how(op),
                    op.location * static_cast<int>(kLocationStride), op.value);
      case OpKind::multimem_reduce:
        return line("multimem.red{}.add.u32 [%multicast+{}], {}", how(op),
                    op.location * static_cast<int>(kLocationStride), op.value);
    }
  }

  const Program& program_;
  std::string text_;
};

}  // namespace

std::string to_ptx(const Program& program) { return Writer(program).write(); }

}  // namespace fb::litmus
