// The clock of warps that run real instructions, one per GPU, on the fabric of a platform.

#include "virtual_node/machine/time/memory_clock.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <string>

#include "common/ptx/parse/parser.h"
#include "virtual_node/machine/time/unit_times.h"
#include "virtual_node/simt/block.h"
#include "virtual_node/simt/environment.h"
#include "virtual_node/simt/lower/lower.h"

namespace fb::machine {
namespace {

using platform::kMicrosecond;

platform::Platform platform(const char* name) {
  auto p = platform::load_platform(name);
  EXPECT_TRUE(p.has_value());
  return std::move(*p);
}

// A minimal machine: memory shared by all, and warps that run in the order of their clocks.
class Node final : public simt::Environment {
 public:
  explicit Node(const char* name = "b300x8") : fabric(platform(name)), clock(fabric) {}

  mem::AddressSpace& global() override { return memory_; }
  simt::Watch& watch() override { return watch_; }
  void make_ready(simt::Warp& warp, Cause cause) override {
    warp.queued = true;
    if (cause == Cause::memory) warp.clock.now = std::max(warp.clock.now, clock.last_arrival());
  }
  void print(std::string_view) override {}
  uint64_t cycles() override { return 0; }
  uint64_t nanoseconds() override { return 0; }
  void start(simt::AsyncCopy copy) override { copies.push_back(clock.arrival_of(copy)); }
  mem::Address heap_allocate(uint64_t) override { return 0; }
  bool heap_release(mem::Address) override { return false; }

  mem::Address allocate(uint32_t device, uint64_t bytes) {
    const mem::Address a = memory_.reserve(bytes, 256);
    memory_.map(a, mem::allocate(next_++, device, bytes, "test"));
    return a;
  }

  mem::Address multicast(const std::vector<mem::Address>& parts, uint64_t bytes) {
    auto object = std::make_shared<mem::Multicast>();
    object->size = bytes;
    for (const mem::Address a : parts) {
      const mem::Window* w = memory_.find(a);
      object->members.push_back({w->allocation->device, {{0, bytes, w->host, w->allocation}}});
    }
    const mem::Address a = memory_.reserve(bytes, 256);
    memory_.map(a, std::shared_ptr<const mem::Multicast>(object), 0, bytes);
    return a;
  }

  // A block of the kernel of `body` on `device`; parameters are 64-bit values p0, p1, …
  simt::Block& launch(uint32_t device, const std::string& body, const std::vector<uint64_t>& params,
                      uint32_t threads = 32) {
    Kernel& k = kernels_.emplace_back();
    std::string text = ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(";
    for (size_t n = 0; n < params.size(); ++n) text += (n ? ", " : "") + (".param .u64 p" + std::to_string(n));
    text += ")\n{\n.reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<32>;\n.shared .align 16 .b8 smem[4096];\n";
    for (size_t n = 0; n < params.size(); ++n) {
      text += "ld.param.u64 %rd" + std::to_string(n) + ", [p" + std::to_string(n) + "];\n";
    }
    auto parsed = ptx::parse(text + body + "\nret;\n}\n");
    EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : to_string(parsed.error(), text));
    k.module = std::make_unique<ptx::Module>(std::move(*parsed));
    auto lowered = simt::lower(
        *k.module, {.observed = true, .reference = false, .times = unit_times(fabric.platform()), .address_of = {}});
    EXPECT_TRUE(lowered.has_value()) << (lowered ? "" : to_string(lowered.error(), "lower"));
    k.program = std::move(*lowered);
    k.grid = std::make_unique<simt::Grid>();
    k.grid->id = kernels_.size();
    k.grid->program = k.program.get();
    k.grid->kernel = k.program->find("k");
    k.grid->block = {threads, 1, 1};
    k.grid->params.resize(params.size() * 8);
    std::memcpy(k.grid->params.data(), params.data(), params.size() * 8);
    k.block = std::make_unique<simt::Block>(*k.grid, 0, *this, &clock);
    k.block->device = device;
    for (auto& w : k.block->warps()) w->queued = true;
    return *k.block;
  }

  // The earliest warp first, until all have ended.
  void run() {
    for (int quantum = 0; quantum < 1'000'000; ++quantum) {
      simt::Warp* earliest = nullptr;
      for (Kernel& k : kernels_) {
        for (auto& w : k.block->warps()) {
          if (w->queued && (!earliest || w->clock.now < earliest->clock.now)) earliest = w.get();
        }
      }
      if (!earliest) return;
      uint64_t executed = 0;
      earliest->queued = false;
      if (earliest->run(64, executed) == simt::Stop::quantum) earliest->queued = true;
    }
    FAIL() << "no end";
  }

  fabric::Fabric fabric;
  MemoryClock clock;
  std::vector<Time> copies;  // when each has arrived

 private:
  struct Kernel {
    std::unique_ptr<ptx::Module> module;
    std::unique_ptr<simt::Program> program;
    std::unique_ptr<simt::Grid> grid;
    std::unique_ptr<simt::Block> block;
  };
  mem::AddressSpace memory_;
  simt::Watch watch_;
  std::deque<Kernel> kernels_;
  uint32_t next_ = 1;
};

double microseconds(Time t) { return static_cast<double>(t) / kMicrosecond; }

simt::WarpClock clock_after(Node& node, uint32_t device, const std::string& body, const std::vector<uint64_t>& params) {
  simt::Block& b = node.launch(device, body, params);
  node.run();
  return b.warps()[0]->clock;
}

// Lane l's address: %rd0 + 16 * l in %rd8.
const std::string kLane = "mov.u32 %r0, %laneid;\nmul.wide.u32 %rd9, %r0, 16;\nadd.u64 %rd8, %rd0, %rd9;\n";

TEST(MemoryClock, LoadsOverlapUntilSomethingDependsOnThem) {
  Node node;
  const mem::Address remote = node.allocate(1, 1 << 16);
  const std::string use = "add.u32 %r5, %r1, %r2;\n";
  const auto one = clock_after(node, 0, kLane + "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd8];" + use, {remote});
  std::string many = kLane;
  for (int k = 1; k <= 8; ++k) many += "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd8+" + std::to_string(512 * k) + "];\n";
  const auto eight = clock_after(node, 0, many + use, {remote});
  EXPECT_NEAR(microseconds(one.now), 1.79, 0.1);
  EXPECT_NEAR(microseconds(eight.now), microseconds(one.now), 0.1);
  const auto unused = clock_after(node, 0, kLane + "ld.global.u32 %r1, [%rd8+8192];", {remote});
  EXPECT_LT(microseconds(unused.now), 0.1);
  EXPECT_NEAR(microseconds(unused.loads), 1.79, 0.1);
}

TEST(MemoryClock, StrongLoadsAreWaitedForOneByOne) {
  Node node;
  const mem::Address remote = node.allocate(1, 1 << 16);
  std::string body;
  for (int k = 0; k < 4; ++k) body += "ld.relaxed.sys.global.u32 %r1, [%rd0];\n";
  EXPECT_NEAR(microseconds(clock_after(node, 0, body, {remote}).now), 4 * 1.79, 0.2);
}

TEST(MemoryClock, StoresAreNotWaitedForExceptByFences) {
  Node node;
  const mem::Address remote = node.allocate(1, 1 << 16);
  const std::string store = kLane + "st.global.v4.u32 [%rd8], {%r0,%r0,%r0,%r0};\n";
  const auto plain = clock_after(node, 0, store, {remote});
  EXPECT_LT(microseconds(plain.now), 0.1);
  EXPECT_NEAR(microseconds(plain.stores), 1.56, 0.1);
  const auto fenced = clock_after(node, 0, store + "fence.acq_rel.sys;", {remote});
  // The fence, 1.3, is a round trip of its own behind the store's.
  EXPECT_NEAR(microseconds(fenced.now), 1.56, 0.1);
  const auto idle = clock_after(node, 0, "fence.acq_rel.sys;", {remote});
  EXPECT_NEAR(microseconds(idle.now), 1.3, 0.1);
  const auto released = clock_after(node, 0, store + "st.release.sys.global.u32 [%rd0], %r0;", {remote});
  EXPECT_NEAR(microseconds(released.now), 1.56, 0.1);
  const auto block = clock_after(node, 0, store + "fence.acq_rel.cta;", {remote});
  EXPECT_LT(microseconds(block.now), 0.1);
}

TEST(MemoryClock, AtomicsWithAResultAreWaitedForAndReductionsAreNot) {
  Node node;
  const mem::Address remote = node.allocate(1, 1 << 16);
  const auto atom = clock_after(node, 0, "atom.relaxed.sys.global.add.u32 %r1, [%rd0], 1;", {remote});
  EXPECT_NEAR(microseconds(atom.now), 1.69, 0.1);
  const auto red = clock_after(node, 0, "red.relaxed.sys.global.add.u32 [%rd0], 1;", {remote});
  EXPECT_LT(microseconds(red.now), 0.1);
  EXPECT_NEAR(microseconds(red.stores), 1.69, 0.1);
}

TEST(MemoryClock, SectorsAreCountedOnce) {
  Node node;
  const auto bytes = [&](const std::string& body) {
    const mem::Address local = node.allocate(0, 1 << 16);  // that no cache has
    const uint64_t before = node.fabric.counters(0)[static_cast<size_t>(fabric::Traffic::memory)];
    clock_after(node, 0, body, {local});
    return node.fabric.counters(0)[static_cast<size_t>(fabric::Traffic::memory)] - before;
  };
  EXPECT_EQ(bytes(kLane + "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd8];"), 512u);
  EXPECT_EQ(bytes(kLane + "ld.global.u32 %r1, [%rd8];"), 512u);
  EXPECT_EQ(bytes("ld.global.u32 %r1, [%rd0];"), 32u);
  EXPECT_EQ(bytes("mov.u32 %r0, %laneid;\nmul.wide.u32 %rd9, %r0, 4;\nadd.u64 %rd8, %rd0, %rd9;\n"
                  "ld.global.u32 %r1, [%rd8];"),
            128u);
  EXPECT_EQ(bytes("mov.u32 %r0, %laneid;\nmul.wide.u32 %rd9, %r0, 128;\nadd.u64 %rd8, %rd0, %rd9;\n"
                  "ld.global.u32 %r1, [%rd8];"),
            1024u);
  EXPECT_EQ(bytes("ld.shared.u32 %r1, [smem];"), 0u);
}

TEST(MemoryClock, WhatWasReadIsInTheCaches) {
  Node node;
  const mem::Address local = node.allocate(0, 1 << 16);
  const auto time = [&](const std::string& load) {
    return microseconds(clock_after(node, 0, kLane + load + "\nadd.u32 %r5, %r1, %r1;", {local}).now);
  };
  const auto& p = node.fabric.platform();
  const double cold = time("ld.global.u32 %r1, [%rd8];");
  EXPECT_NEAR(cold, microseconds(p.memory.latency), 0.05);
  EXPECT_NEAR(time("ld.global.u32 %r1, [%rd8];"), microseconds(p.cache.l2_latency), 0.05) << "L1 is another kernel's";
  const double twice = time(
      "ld.global.u32 %r1, [%rd8];\nadd.u64 %rd8, %rd8, 0;\nadd.u32 %r2, %r1, 0;\nbar.sync 0;\n"
      "ld.global.u32 %r1, [%rd8];");
  EXPECT_LT(twice, microseconds(p.cache.l2_latency) + 0.1) << "the second from L1";
  EXPECT_NEAR(time("ld.global.cg.u32 %r1, [%rd8];"), microseconds(p.cache.l2_latency), 0.05);
}

TEST(MemoryClock, LanesWithDifferentOwnersAreChargedToEach) {
  Node node;
  const mem::Address a = node.allocate(1, 4096), b = node.allocate(2, 4096);
  clock_after(node, 0,
              "mov.u32 %r0, %laneid;\nsetp.lt.u32 %p0, %r0, 16;\nselp.b64 %rd8, %rd0, %rd1, %p0;\n"
              "ld.global.u32 %r1, [%rd8];",
              {a, b});
  EXPECT_EQ(node.fabric.counters(1)[static_cast<size_t>(fabric::Traffic::peer_out)], 32u);
  EXPECT_EQ(node.fabric.counters(2)[static_cast<size_t>(fabric::Traffic::peer_out)], 32u);
}

TEST(MemoryClock, AnAsynchronousCopyHoldsUpNobody) {
  Node node;
  const mem::Address remote = node.allocate(1, 4096);
  const auto c = clock_after(node, 0,
                             "mov.u32 %r0, %laneid;\nmul.wide.u32 %rd9, %r0, 16;\nadd.u64 %rd8, %rd0, %rd9;\n"
                             "mov.u32 %r1, smem;\nmad.lo.u32 %r1, %r0, 16, %r1;\n"
                             "cp.async.cg.shared.global [%r1], [%rd8], 16;\nbar.sync 0;",
                             {remote});
  EXPECT_LT(microseconds(c.now), 0.1);
  ASSERT_EQ(node.copies.size(), 1u);
  EXPECT_NEAR(microseconds(node.copies[0]), 1.79, 0.1);
}

TEST(MemoryClock, AStoreToSharedMemoryArrivesAtOnce) {
  Node node;
  const mem::Address remote = node.allocate(1, 4096);
  clock_after(node, 0, "st.global.u32 [%rd0], 1;\nst.volatile.shared.u32 [smem], 1;", {remote});
  EXPECT_LT(microseconds(node.clock.last_arrival()), 0.1);
  clock_after(node, 0, "ld.global.u32 %r1, [%rd0];\nst.volatile.shared.u32 [smem], %r1;", {remote});
  EXPECT_NEAR(microseconds(node.clock.last_arrival()), 1.79, 0.1);
}

TEST(MemoryClock, AReaderOfAFlagGoesOnWhenTheFlagHasArrived) {
  Node node;
  const mem::Address flag = node.allocate(1, 4096);
  // The writer's clock is far ahead; the reader looks at time 0 and sees the flag, but not before it was there.
  simt::Block& writer = node.launch(0, "st.relaxed.sys.global.u32 [%rd0], 1;", {flag});
  writer.warps()[0]->clock.now = 50 * kMicrosecond;
  node.run();
  const auto reader = clock_after(node, 1, "ld.relaxed.sys.global.u32 %r1, [%rd0];", {flag});
  EXPECT_NEAR(microseconds(reader.now), 50 + 0.78 + 0.114, 0.05);
  const auto other = clock_after(node, 1, "ld.relaxed.sys.global.u32 %r1, [%rd0+256];", {flag});
  EXPECT_LT(microseconds(other.now), 1);
}

// The wait of a release takes longer than all before it: another GPU looks at the flag meanwhile.
TEST(MemoryClock, AReaderDoesNotSeeAReleaseThatStillWaits) {
  for (const char* second :
       {"st.release.sys.global.u32 [%rd0], 2;", "red.release.sys.global.add.u32 [%rd0], 1;",
        "st.release.sys.global.v2.u32 [%rd0], {%r2, %r3};", "atom.acq_rel.sys.global.exch.b32 %r4, [%rd0], 2;",
        "fence.acq_rel.sys; st.relaxed.sys.global.u32 [%rd0], 2;"}) {
    Node node;
    const mem::Address flag = node.allocate(1, 4096);
    node.launch(0, std::string("st.relaxed.sys.global.u32 [%rd0], 1;\n") + second, {flag});
    simt::Block& reader = node.launch(1, "ld.relaxed.sys.global.u32 %r1, [%rd0];", {flag});
    reader.warps()[0]->clock.now = kMicrosecond / 10;
    node.run();
    EXPECT_NEAR(microseconds(reader.warps()[0]->clock.now), 0.78 + 0.114, 0.1) << second;
  }
}

TEST(MemoryClock, AMulticastStoreStampsTheFlagsOfAllMembers) {
  Node node;
  std::vector<mem::Address> parts;
  for (uint32_t d = 0; d < 8; ++d) parts.push_back(node.allocate(d, 4096));
  const mem::Address all = node.multicast(parts, 4096);
  simt::Block& writer = node.launch(0, "multimem.st.relaxed.sys.global.u32 [%rd0], %r0;", {all});
  writer.warps()[0]->clock.now = 50 * kMicrosecond;
  node.run();
  for (uint32_t d = 0; d < 8; ++d) {
    const auto reader = clock_after(node, d, "ld.relaxed.sys.global.u32 %r1, [%rd0];", {parts[d]});
    EXPECT_NEAR(microseconds(reader.now), 50 + 0.88 + 0.114, 0.1) << d;
  }
}

// flag_ping_pong: 5.3 us for a round trip, both flags on one GPU.
TEST(MemoryClock, PingPongIsNearItsCurve) {
  Node node;
  const mem::Address flags = node.allocate(0, 4096);
  constexpr int kRounds = 20;
  const auto player = [](bool first) {
    const std::string send = "fence.acq_rel.sys;\nred.relaxed.sys.global.add.u32 [%rd0], 1;\n";
    const std::string wait =
        "WAIT:\nld.acquire.sys.global.u32 %r1, [%rd1];\nsetp.lt.u32 %p1, %r1, %r2;\n@%p1 bra WAIT;\n";
    return "mov.u32 %r2, 0;\nLOOP:\nadd.u32 %r2, %r2, 1;\n" + (first ? send + wait : wait + send) +
           "setp.lt.u32 %p2, %r2, " + std::to_string(kRounds) + ";\n@%p2 bra LOOP;\n";
  };
  simt::Block& a = node.launch(0, player(true), {flags, flags + 256}, 1);
  simt::Block& b = node.launch(1, player(false), {flags + 256, flags}, 1);
  node.run();
  EXPECT_TRUE(a.finished());
  EXPECT_TRUE(b.finished());
  EXPECT_NEAR(microseconds(a.warps()[0]->clock.now) / kRounds, 5.3, 0.53);
}

// one_block_put and one_block_get: 50 and 9.17 GB/s of one block of 1024 threads.
TEST(MemoryClock, OneBlockPutAndGetAreNearTheirCurves) {
  const auto rate = [](bool put) {
    Node node;
    constexpr uint64_t kBytes = 1 << 20;
    const mem::Address local = node.allocate(0, kBytes), remote = node.allocate(1, kBytes);
    simt::Block& block =
        node.launch(0,
                    "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd9, %r0, 16;\n"
                    "add.u64 %rd2, %rd0, 1048576;\nadd.u64 %rd0, %rd0, %rd9;\nadd.u64 %rd1, %rd1, %rd9;\n"
                    "LOOP:\nld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd0];\n"
                    "st.global.v4.u32 [%rd1], {%r1,%r2,%r3,%r4};\n"
                    "add.u64 %rd0, %rd0, 16384;\nadd.u64 %rd1, %rd1, 16384;\n"
                    "setp.lt.u64 %p0, %rd0, %rd2;\n@%p0 bra LOOP;",
                    {put ? local : remote, put ? remote : local}, 1024);
    node.run();
    Time end = 0;
    for (auto& w : block.warps()) end = std::max({end, w->clock.now, w->clock.stores});
    return static_cast<double>(kBytes) / static_cast<double>(end) * 1e3;
  };
  EXPECT_NEAR(rate(false), 9.17, 1);
  // Every thread has one load in flight at a time here, so that the loads from its own memory bound a put as well.
  EXPECT_GT(rate(true), 20);
  EXPECT_LT(rate(true), 51);
}

// Prints; bounds are wide because machines are busy, and because of sanitizers.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FB_SLOWED_BY_SANITIZER
#endif
#endif
#ifdef FB_SLOWED_BY_SANITIZER
constexpr double kMost = 10'000;
#else
constexpr double kMost = 2000;
#endif
TEST(MemoryClock, ACoalescedAccessCostsTensOfNanoseconds) {
  Node node;
  const mem::Address local = node.allocate(0, 1 << 16), remote = node.allocate(1, 1 << 16);
  for (const mem::Address a : {local, remote}) {
    simt::Block& block = node.launch(0, "", {a});
    simt::Warp& w = *block.warps()[0];
    mem::Address addresses[simt::kLanes];
    for (uint32_t l = 0; l < simt::kLanes; ++l) addresses[l] = a + 16 * l;
    for (const auto kind : {simt::AccessKind::load, simt::AccessKind::store}) {
      static constexpr simt::Inst kInst{};
      const simt::Access access{kind, simt::MemoryOrder::weak, simt::Scope::none, simt::Proxy::generic,
                                16,   simt::kAllLanes,         addresses,         &kInst};
      constexpr int kTimes = 500'000;
      const std::clock_t begin = std::clock();
      for (int k = 0; k < kTimes; ++k) {
        block.sm = static_cast<uint32_t>(k % 148);
        w.clock = {.now = static_cast<Time>(k) * 2000, .loads = 0, .stores = 0};
        node.clock.on_access(w, access);
      }
      const double each = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC * 1e9 / kTimes;
      printf("%s %s: %.1f ns\n", a == local ? "local" : "remote", kind == simt::AccessKind::load ? "load" : "store",
             each);
      EXPECT_LT(each, kMost);
    }
  }
}

TEST(MemoryClock, AWarpThatRunsAheadMakesRoom) {
  Node node;
  const mem::Address remote = node.allocate(1, 4096);
  simt::Block& block = node.launch(0, "ld.relaxed.sys.global.u32 %r1, [%rd0];\nadd.u32 %r2, %r1, 1;", {remote}, 1);
  uint64_t executed = 0;
  EXPECT_EQ(block.warps()[0]->run(1000, executed), simt::Stop::quantum);
  EXPECT_EQ(executed, 2u);
}

}  // namespace
}  // namespace fb::machine
