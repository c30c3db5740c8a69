// What ranks could do to the node, and can't.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "tests/unit/machine/node_host.h"
#include "virtual_node/machine/process/judge_requests.h"

namespace fb::machine {
namespace {

using wire::kGranularity;
using wire::Kind;
using wire::MemoryKind;
using wire::Status;

constexpr wire::StreamRef kDefault = {};

class NodeHostile : public testing::Test {
 protected:
  NodeHostile() : a(host, 0) {}

  NodeHost host;
  Rank a;
};

TEST_F(NodeHostile, OccupancySurvivesClustersWhoseSizeOverflows) {
  wire::Occupancy m;
  m.function = a.function("store");
  m.threads_per_block = 32;
  m.cluster[0] = m.cluster[1] = 1u << 31;
  m.cluster[2] = 4;
  EXPECT_EQ(a.ask<Kind::occupancy>(m).clusters, 0u);
  m.cluster[0] = m.cluster[1] = m.cluster[2] = 0;
  m.dynamic_shared_bytes = ~uint64_t{0};
  EXPECT_EQ(a.ask<Kind::occupancy>(m).blocks_per_multiprocessor, 0u);
  m.dynamic_shared_bytes = 0;
  EXPECT_EQ(a.ask<Kind::occupancy>(m).blocks_per_multiprocessor, 32u);
}

TEST_F(NodeHostile, AddressesEndWhereTheProcessWasTold) {
  const Answer welcome = host.node.welcome(a.process);
  wire::Welcome w;
  std::memcpy(&w, welcome.body.data(), sizeof w);
  int count = 0;
  wire::Address got;
  while (host.call<Kind::range_reserve>(a.thread, {uint64_t{1} << 42, 0, 0}, &got) == Status::ok) {
    ASSERT_LE(got.address + got.bytes, w.addresses_end);
    ASSERT_LT(++count, 10);
  }
  EXPECT_EQ(a.status<Kind::range_reserve>({uint64_t{1} << 42, uint64_t{1} << 43, 0}), Status::out_of_memory);
  while (a.status<Kind::range_reserve>({kGranularity << 15, 0, 0}) == Status::ok) ASSERT_LT(++count, 100);
  while (a.status<Kind::range_reserve>({kGranularity, 0, 0}) == Status::ok) ASSERT_LT(++count, 100'000);
  // Large memory needs large alignment.
  EXPECT_EQ(a.status<Kind::allocate>({0, MemoryKind::device, 4 << 20}), Status::out_of_memory);
  EXPECT_EQ(host.node.memory_in_use(), 0u);
}

TEST_F(NodeHostile, OnlyMemoryOfItsOwnCanBeRegistered) {
  const auto memory = [] { return mem::create_shared(8192); };
  const uint64_t next = a.allocate(0, 4096) + 8192;
  EXPECT_EQ(a.status<Kind::register_host>({next / 4096 * 4096, 8192}, {}, memory()), Status::invalid_value);
  EXPECT_EQ(a.status<Kind::register_host>({~uint64_t{0} - 4095, 8192}, {}, memory()), Status::invalid_value);
  constexpr uint64_t kOwn = 0x7000'0000'0000;
  EXPECT_EQ(a.status<Kind::register_host>({kOwn, 1 << 20}, {}, memory()), Status::invalid_value);  // too small
  EXPECT_EQ(a.status<Kind::register_host>({kOwn, 8192}, {}, dup(2)), Status::invalid_value);
  const int unsealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(unsealed, 8192), 0);
  EXPECT_EQ(a.status<Kind::register_host>({kOwn, 8192}, {}, unsealed), Status::invalid_value);
  EXPECT_EQ(a.status<Kind::register_host>({kOwn, 8192}, {}, memory()), Status::ok);
  EXPECT_EQ(a.status<Kind::register_host>({kOwn - 4096, 8192}, {}, memory()), Status::host_memory_already_registered);
  EXPECT_EQ(a.status<Kind::register_host>({kOwn + 4096, 8192}, {}, memory()), Status::host_memory_already_registered);
  EXPECT_EQ(a.status<Kind::register_host>({kOwn + 8192, 8192}, {}, memory()), Status::ok);
  EXPECT_EQ(a.status<Kind::unregister_host>({kOwn, MemoryKind::registered, 0}), Status::ok);
}

TEST_F(NodeHostile, AHandleOfPhysicalMemoryCantBeForged) {
  a.ask<Kind::physical_create>({kGranularity, 0, 1});
  for (const int fd : {memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING), dup(2), open("/dev/zero", O_RDONLY)}) {
    const uint64_t nothing[2] = {0, 0};
    (void)!pwrite(fd, nothing, sizeof nothing, 0);
    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    EXPECT_EQ(a.status<Kind::physical_import>({}, {}, fd), Status::invalid_value);
  }
}

TEST_F(NodeHostile, AFabricHandleCantBeForgedAndDoesNotKeepMemory) {
  constexpr uint32_t kMost = 500;
  std::vector<wire::IpcToken> old;
  for (uint32_t k = 0; k < kMost; ++k) {
    const wire::Id physical = a.ask<Kind::physical_create>({kGranularity, 0, wire::kAsFabricHandle}).handle;
    old.push_back(a.ask<Kind::physical_export_fabric>({physical}));
    EXPECT_EQ(a.status<Kind::physical_release>({physical}), Status::ok);
  }
  for (const auto& token : old) EXPECT_EQ(a.status<Kind::physical_import_fabric>(token), Status::invalid_value);
  const wire::Id physical = a.ask<Kind::physical_create>({kGranularity, 0, wire::kAsFabricHandle}).handle;
  const wire::IpcToken token = a.ask<Kind::physical_export_fabric>({physical});
  for (size_t bit = 0; bit < 256; ++bit) {
    wire::IpcToken wrong = token;
    wrong.bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    EXPECT_EQ(a.status<Kind::physical_import_fabric>(wrong), Status::invalid_value) << bit;
    EXPECT_NE(a.status<Kind::ipc_import>({wrong, 1, 0}), Status::ok) << bit;
    EXPECT_NE(a.status<Kind::event_import>(wrong), Status::ok) << bit;
  }
  // Handles of other kinds name no physical memory.
  const wire::IpcToken of_memory = a.ask<Kind::ipc_export>({a.allocate(0, 64)});
  EXPECT_EQ(a.status<Kind::physical_import_fabric>(of_memory), Status::invalid_value);
}

TEST_F(NodeHostile, BoxesWhoseRowsOrPlanesOverlapAreRefused) {
  const uint64_t memory = a.allocate(0, 1 << 20);
  wire::Memset fill;
  fill.to = memory;
  fill.width = fill.pitch = 1;
  fill.height = 1 << 20;
  fill.depth = uint64_t{1} << 40;
  fill.plane = 0;
  EXPECT_EQ(a.status<Kind::memset>(fill), Status::invalid_value);
  fill.depth = 1;
  fill.pitch = 0;
  EXPECT_EQ(a.status<Kind::memset>(fill), Status::invalid_value);
  fill.width = uint64_t{1} << 62;
  fill.element = 4;
  fill.height = 1;
  EXPECT_EQ(a.status<Kind::memset>(fill), Status::invalid_value);
  wire::Copy copy;
  copy.to = memory;
  copy.from = memory;
  copy.width = uint64_t{1} << 32;
  copy.height = uint64_t{1} << 32;
  copy.to_pitch = copy.from_pitch = uint64_t{1} << 32;
  EXPECT_EQ(a.status<Kind::copy>(copy), Status::invalid_value);
  // Nothing to do, however much of it.
  copy.width = 0;
  copy.height = copy.depth = ~uint64_t{0};
  copy.wait = 1;
  EXPECT_EQ(a.status<Kind::copy>(copy), Status::ok);
}

TEST_F(NodeHostile, ARowBehindTheOtherMovesWhateverTheirNumber) {
  const uint64_t memory = a.allocate(0, 4 << 20);
  wire::Memset fill;
  fill.to = memory;
  fill.width = 1;
  fill.pitch = 4;
  fill.height = 1 << 20;
  fill.value = 0xAB;
  fill.wait = 1;
  EXPECT_EQ(a.status<Kind::memset>(fill), Status::ok);
  EXPECT_EQ(a.read(memory), 0xABu);
  EXPECT_EQ(a.read(memory + (4 << 20) - 4), 0xABu);
}

TEST_F(NodeHostile, AHundredThousandOperationsInARowEndAndCostNoStack) {
  const auto s = a.stream(true);
  const uint64_t flag = a.allocate(0, 4);
  const wire::Id event = a.ask<Kind::event_create>({}).handle;
  a.ask<Kind::stream_wait_value>({s, flag, 1, 4, {}});
  for (int k = 0; k < 60'000; ++k) a.ask<Kind::event_depend>({s, event});
  for (int k = 0; k < 60'000; ++k) a.ask<Kind::event_record>({s, event});
  a.write(flag, 1);
  EXPECT_EQ(a.status<Kind::stream_wait>(s), Status::ok);
}

TEST(NodeHostileEnd, ANodeCanGoWhileALongChainWaits) {
  NodeHost host;
  Rank a(host, 0);
  const auto s = a.stream(true);
  const wire::Id event = a.ask<Kind::event_create>({}).handle;
  const uint64_t flag = a.allocate(0, 4);
  a.ask<Kind::stream_wait_value>({s, flag, 1, 4, {}});
  for (int k = 0; k < 60'000; ++k) a.ask<Kind::event_record>({s, event});
}

TEST_F(NodeHostile, WhoQueuesTooMuchWaitsUntilThereIsRoom) {
  const auto s = a.stream(true);
  const uint64_t flag = a.allocate(0, 4);
  HostThread& other = host.add_thread(a.process);
  a.ask<Kind::stream_wait_value>({s, flag, 1, 4, {}});
  const wire::Id event = a.ask<Kind::event_create>({}).handle;
  int queued = 0;
  while (a.status<Kind::event_record>({s, event}) == Status::ok) ASSERT_LT(++queued, 1'000'000);
  EXPECT_TRUE(a.thread.waiting);  // not answered
  const uint32_t one = 1;
  wire::Copy copy;
  copy.stream = s;
  copy.to = flag;
  copy.width = 4;
  host.say<Kind::copy>(other, copy, std::as_bytes(std::span(&one, 1)));
  ASSERT_TRUE(host.settle());
  EXPECT_FALSE(host.is_answered(other));
  // The host writes the flag without the machine's doing.
  a.process.all.find(flag)->host[0] = std::byte{1};
  host.node.look_again();
  ASSERT_TRUE(host.settle());
  EXPECT_FALSE(a.thread.waiting);
  EXPECT_TRUE(host.is_answered(other));
  EXPECT_EQ(a.status<Kind::stream_wait>(s), Status::ok);
}

TEST_F(NodeHostile, PageableBytesThatWaitAreLimited) {
  const auto s = a.stream(true);
  const uint64_t flag = a.allocate(0, 4), memory = a.allocate(0, 1 << 20);
  a.ask<Kind::stream_wait_value>({s, flag, 1, 4, {}});
  const std::vector<std::byte> bytes(1 << 20);
  wire::Copy copy;
  copy.stream = s;
  copy.to = memory;
  copy.width = bytes.size();
  int queued = 0;
  while (a.status<Kind::copy>(copy, bytes) == Status::ok) ASSERT_LT(++queued, 100);
  EXPECT_TRUE(a.thread.waiting);
  EXPECT_GE(queued, 60);
}

TEST_F(NodeHostile, TheDefaultStreamAndManyOthersDoNotMultiply) {
  const uint64_t flag = a.allocate(0, 4);
  const wire::Id event = a.ask<Kind::event_create>({}).handle;
  constexpr int kMany = 4'000;
  for (int k = 0; k < kMany; ++k) {
    const auto s = a.stream();
    if (k == 0) a.ask<Kind::stream_wait_value>({s, flag, 1, 4, {}});
    a.ask<Kind::event_record>({s, event});
  }
  for (int k = 0; k < kMany; ++k) a.ask<Kind::event_record>({kDefault, event});
  size_t edges = 0;
  for (const OperationPtr& w : a.process.pending) edges += w->after.size();
  EXPECT_LE(edges, 4u * kMany);
  a.write(flag, 1);
  EXPECT_EQ(a.status<Kind::device_wait>({}), Status::ok);
}

TEST_F(NodeHostile, UnloadingAModuleLeavesWhatRunsAndThenFreesItsMemory) {
  const uint64_t memory = a.allocate(0, 16), flag = a.allocate(0, 4);
  const wire::Id function = a.function("copy_after");
  const uint64_t before = host.node.memory_in_use();
  ASSERT_EQ(a.launch(kDefault, "copy_after", {memory, memory + 4, flag}), Status::ok);
  ASSERT_TRUE(host.settle());
  a.ask<Kind::module_unload>({a.module});
  wire::Launch again;
  again.function = function;
  EXPECT_EQ(a.status<Kind::launch>(again), Status::invalid_device_function);
  EXPECT_EQ(host.node.memory_in_use(), before);
  a.write(memory + 4, 6);
  a.write(flag, 1);
  EXPECT_EQ(a.status<Kind::device_wait>({}), Status::ok);
  EXPECT_EQ(a.read(memory), 6u);
  ASSERT_TRUE(host.settle());
  EXPECT_LT(host.node.memory_in_use(), before);
}

TEST_F(NodeHostile, UnloadingInTheMiddleOfAFaultIsSafe) {
  const uint64_t memory = a.allocate(0, 16);
  ASSERT_EQ(a.launch(kDefault, "variables", {memory, 1}), Status::ok);
  ASSERT_EQ(a.launch(kDefault, "stop", {}), Status::ok);
  a.ask<Kind::module_unload>({a.module});
  EXPECT_EQ(a.status<Kind::device_wait>({}), Status::launch_failure);
  a.leave();
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(host.node.memory_in_use(), 0u);
}

TEST_F(NodeHostile, AModuleThatDoesNotFitLeavesNothingBehindAndIsReportedOnlySoOften) {
  const wire::Id module = a.load(node_kernels::kTooLarge);
  const uint64_t before = host.node.memory_in_use();
  const std::string_view name = "nothing";
  for (int k = 0; k < 100; ++k) {
    EXPECT_EQ(a.status<Kind::function_find>({module, 0, 0}, std::as_bytes(std::span(name))), Status::invalid_ptx);
  }
  EXPECT_EQ(host.node.memory_in_use(), before);
  EXPECT_LE(host.incidents.size(), 20u);
}

// Between calls: it asks for nothing.
class IdleJudge final : public JudgeRequests {
 public:
  bool in_run() const override { return false; }
  uint64_t late_requests() const override { return 0; }
  bool has_returned(const Process&) const override { return false; }
  std::optional<std::string> explain_wait(const HostThread&) const override { return std::nullopt; }
  Status next(Call&, const wire::StepNext&) override { return Status::not_permitted; }
  Status exchange(Call&) override { return Status::not_permitted; }
  Status exchange_descriptor(Call&, uint32_t) override { return Status::not_permitted; }
  Status begin(Call&, const wire::JudgeBegin&) override { return Status::not_permitted; }
  Status make_tensor(const wire::JudgeTensor&, wire::Address&) override { return Status::not_permitted; }
  Status free_tensor(const wire::JudgeFree&) override { return Status::not_permitted; }
  Status step(Call&, const wire::JudgeStep&) override { return Status::not_permitted; }
};

TEST_F(NodeHostile, AJudgedRunHasNoHostClock) {
  wire::HostTime time;
  EXPECT_EQ(host.call<Kind::host_time>(a.thread, {}, &time), Status::ok);
  IdleJudge judge;
  host.node.set_judge(judge);
  EXPECT_EQ(host.call<Kind::host_time>(a.thread, {}, &time), Status::not_permitted);
  EXPECT_EQ(host.call<Kind::host_sleep>(a.thread, {.nanoseconds = 1}, &time), Status::not_permitted);
}

TEST_F(NodeHostile, TextsOfModulesOfAJudgedRunAreLimited) {
  IdleJudge judge;
  host.node.set_judge(judge);
  const std::vector<std::byte> piece(wire::kLargestBlob, std::byte{' '});
  uint64_t most = 0;
  for (int k = 0; k < 8; ++k) {
    wire::ModuleLoad m;
    m.last = 0;
    wire::Handle reply;
    for (int n = 0; n < 20; ++n) {
      if (host.call<Kind::module_load>(a.thread, m, &reply, piece) != Status::ok) break;
      m.module = reply.handle;
      uint64_t kept = 0;
      for (const auto& [id, module] : a.process.modules) kept += module.text.size();
      most = std::max(most, kept);
    }
  }
  EXPECT_LE(most, kMostKept);
  EXPECT_GE(most, kMostKept / 2);
}

TEST_F(NodeHostile, MappingTheSameAddressesAgainAndAgainLeavesNothingBehind) {
  const wire::Id physical = a.ask<Kind::physical_create>({kGranularity, 0, 0}).handle;
  const uint64_t at = a.ask<Kind::range_reserve>({kGranularity, 0, 0}).address;
  for (int k = 0; k < 20'000; ++k) {
    a.ask<Kind::range_map>({at, kGranularity, 0, physical});
    a.ask<Kind::range_set_access>({at, kGranularity, 0, wire::Access::read_write});
    a.ask<Kind::range_unmap>({at, kGranularity});
  }
  a.ask<Kind::range_map>({at, kGranularity, 0, physical});
  a.write(at, 5);
  EXPECT_EQ(a.read(at), 5u);
}

TEST_F(NodeHostile, ThreadsThatComeAndGoAreForgotten) {
  for (int k = 0; k < 10'000; ++k) host.node.remove_thread(host.add_thread(a.process));
  EXPECT_LE(host.node.threads().size(), 3u);
}

TEST_F(NodeHostile, AThreadThatWentWhileItWaitedIsNotAnswered) {
  const uint64_t flag = a.allocate(0, 4);
  const auto s = a.stream(true);
  a.ask<Kind::stream_wait_value>({s, flag, 1, 4, {}});
  HostThread& waits = host.add_thread(a.process);
  host.say<Kind::stream_wait>(waits, s);
  HostThread& polls = host.add_thread(a.process);
  host.say<Kind::stream_query>(polls, s);
  host.node.remove_thread(waits);
  host.node.remove_thread(polls);
  HostThread* others[] = {&host.add_thread(a.process), &host.add_thread(a.process)};
  a.write(flag, 1);
  ASSERT_TRUE(host.settle());
  for (HostThread* other : others) EXPECT_FALSE(host.is_answered(*other));
}

TEST_F(NodeHostile, ACopyInFlightWhoseBarrierWasSpoiledHarmsOnlyItsKernel) {
  // The barrier is overwritten while the copy is on its way; then memory goes away, which completes it early.
  a.module = a.load(R"(
.version 8.6
.target sm_90
.address_size 64
.visible .entry spoil(.param .u64 from)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  .shared .align 128 .b8 buffer[512];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %rd1, [from];
  mov.u32 %r1, buffer;
  mbarrier.init.shared::cta.b64 [barrier], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 256, [barrier];
  mbarrier.inval.shared::cta.b64 [barrier];
AGAIN:
  ld.volatile.global.u32 %r2, [%rd1];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra AGAIN;
  ret;
}
)");
  const uint64_t memory = a.allocate(0, 256);
  const wire::Id physical = a.ask<Kind::physical_create>({kGranularity, 0, 0}).handle;
  ASSERT_EQ(a.launch(kDefault, "spoil", {memory}), Status::ok);
  // At every step of the way.
  for (int k = 0; k < 200; ++k) {
    host.node.run(1);
    const uint64_t at = a.ask<Kind::range_reserve>({kGranularity, 0, 0}).address;
    a.ask<Kind::range_map>({at, kGranularity, 0, physical});
    a.ask<Kind::range_unmap>({at, kGranularity});
  }
  a.leave();
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(host.node.memory_in_use(), 0u);
}

TEST_F(NodeHostile, LocalMemoryOfAllThreadsMustFit) {
  NodeHost small(uint64_t{8} << 20);
  Rank b(small, 0);
  const uint64_t memory = b.allocate(0, 4);
  EXPECT_EQ(b.launch(kDefault, "locals", {memory}), Status::ok);
  wire::Launch m;
  m.function = b.function("locals");
  m.grid[0] = 1000;
  m.block[0] = 1024;
  EXPECT_EQ(b.status<Kind::launch>(m, std::as_bytes(std::span(&memory, 1))), Status::out_of_memory);
}

TEST_F(NodeHostile, TheHostCantFreeWhatAKernelHasTaken) {
  const uint64_t memory = a.allocate(0, 8);
  ASSERT_EQ(a.launch(kDefault, "take", {memory, 101}), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({}), Status::ok);
  const uint64_t taken = a.read(memory) | uint64_t{a.read(memory + 4)} << 32;
  ASSERT_NE(taken, 0u);
  EXPECT_EQ(a.status<Kind::free>({taken, MemoryKind::device, 0}), Status::invalid_value);
  EXPECT_EQ(a.status<Kind::ipc_export>({taken}), Status::invalid_value);
}

TEST_F(NodeHostile, AProcessMakesOnlySoMuch) {
  int made = 0;
  while (a.status<Kind::event_create>({}) == Status::ok) ASSERT_LT(++made, 1'000'000);
  EXPECT_GT(made, 200'000);
  EXPECT_EQ(a.status<Kind::stream_create>({}), Status::out_of_memory);
  EXPECT_EQ(a.status<Kind::allocate>({0, MemoryKind::device, 64}), Status::out_of_memory);
  Rank b(host, 1);
  EXPECT_NE(b.allocate(0, 64), 0u);
}

TEST_F(NodeHostile, RequestsOfTheWrongSizeAndUnknownKindsAreRefused) {
  for (const int kind : {0, 1, 5, 30, 68, 69, 200, 65535}) {
    const std::vector<std::byte> body(3);
    Call call;
    call.thread = &a.thread;
    call.kind = static_cast<Kind>(kind);
    call.body = body;
    host.node.handle(call);
    ASSERT_TRUE(host.is_answered(a.thread));
    EXPECT_NE(host.answer(a.thread).status, Status::ok);
  }
}

}  // namespace
}  // namespace fb::machine
