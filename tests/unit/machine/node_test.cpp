// Memory of devices and access to it; processes that share it, fault, and leave.

#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/machine/node_host.h"

namespace fb::machine {
namespace {

using wire::Access;
using wire::kGranularity;
using wire::Kind;
using wire::MemoryKind;
using wire::Status;

constexpr wire::StreamRef kDefault = {};

uint64_t map(Rank& rank, wire::Id physical, uint64_t bytes, std::initializer_list<int32_t> devices) {
  const uint64_t at = rank.ask<Kind::range_reserve>({bytes, 0, 0}).address;
  rank.ask<Kind::range_map>({at, bytes, 0, physical});
  for (const int32_t d : devices) rank.ask<Kind::range_set_access>({at, bytes, d, Access::read_write});
  return at;
}

int sent_descriptor(NodeHost& host, Rank& rank) {
  Answer& answer = host.answer(rank.thread);
  return answer.owned.release();
}

TEST(NodeMemory, APeersMemoryFaultsUntilAccessIsEnabled) {
  NodeHost host;
  Rank a(host, 0);
  const uint64_t memory = a.allocate(1, 64);
  a.ask<Kind::enable_peer>({0, 1});
  ASSERT_EQ(a.launch(kDefault, "store", {memory, 7}), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({0, 0}), Status::ok);
  EXPECT_EQ(a.read(memory, 1), 7u);
  EXPECT_EQ(a.status<Kind::enable_peer>({0, 1}), Status::peer_access_already_enabled);
  // Memory that comes later can be touched, too.
  const uint64_t later = a.allocate(1, 64);
  ASSERT_EQ(a.launch(kDefault, "store", {later, 8}), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({0, 0}), Status::ok);
  EXPECT_EQ(a.read(later, 1), 8u);

  a.ask<Kind::disable_peer>({0, 1});
  ASSERT_EQ(a.launch(kDefault, "store", {memory, 9}), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({0, 0}), Status::illegal_address);
  ASSERT_EQ(host.incidents.size(), 1u);
  EXPECT_NE(host.incidents[0].text.find("cudaDeviceEnablePeerAccess was not called"), std::string::npos)
      << host.incidents[0].text;
  EXPECT_EQ(a.read(memory, 1), 7u);
}

TEST(NodeMemory, ABrokenContextAnswersEverythingWithItsErrorAndHarmsNobodyElse) {
  NodeHost host;
  Rank a(host, 0), b(host, 1);
  const uint64_t memory = a.allocate(0, 64), of_b = b.allocate(0, 64), elsewhere = a.allocate(1, 64);
  const auto s = a.stream(true);
  const wire::Id event = a.ask<Kind::event_create>({}).handle;
  a.ask<Kind::event_record>({s, event});
  ASSERT_EQ(a.launch(s, "stop", {}), Status::ok);
  EXPECT_EQ(a.status<Kind::stream_wait>(s), Status::launch_failure);
  EXPECT_EQ(a.status<Kind::device_wait>({}), Status::launch_failure);
  EXPECT_EQ(a.launch(s, "store", {memory, 1}), Status::launch_failure);
  EXPECT_EQ(a.status<Kind::event_record>({s, event}), Status::launch_failure);
  EXPECT_EQ(a.status<Kind::event_depend>({s, event}), Status::launch_failure);
  EXPECT_EQ(a.status<Kind::stream_wait_value>({s, memory, 1, 4, {}}), Status::launch_failure);
  EXPECT_EQ(a.status<Kind::stream_write_value>({s, memory, 1, 4, {}}), Status::launch_failure);
  EXPECT_EQ(a.status<Kind::callback>({s, 1}), Status::launch_failure);
  EXPECT_EQ(a.status<Kind::allocate_ordered>({s, 64}), Status::launch_failure);
  EXPECT_EQ(a.status<Kind::free_ordered>({s, memory}), Status::launch_failure);
  EXPECT_EQ(a.status<Kind::allocate>({0, MemoryKind::device, 64}), Status::launch_failure);
  EXPECT_EQ(a.status<Kind::memset>({s, memory, 0, 0, 4, 1, 1, 0, 1, 0, 0}), Status::launch_failure);

  wire::StreamRef other;
  other.device = 1;
  ASSERT_EQ(a.launch(other, "store", {elsewhere, 3}), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({1, 0}), Status::ok);
  EXPECT_EQ(a.read(elsewhere, 1), 3u);
  ASSERT_EQ(b.launch(kDefault, "store", {of_b, 4}), Status::ok);
  EXPECT_EQ(b.status<Kind::device_wait>({}), Status::ok);
  EXPECT_EQ(b.read(of_b), 4u);
}

TEST(NodeMemory, IsSharedBetweenProcessesByToken) {
  NodeHost host;
  Rank a(host, 0), b(host, 1);
  const uint64_t memory = a.allocate(0, 64);
  a.write(memory, 42);
  const wire::IpcToken token = a.ask<Kind::ipc_export>({memory});
  EXPECT_EQ(a.status<Kind::ipc_import>({token, 0, 0}), Status::invalid_context);
  const uint64_t at = b.ask<Kind::ipc_import>({token, 1, 0}).address;
  EXPECT_EQ(b.ask<Kind::ipc_import>({token, 1, 0}).address, at);
  EXPECT_EQ(b.read(at, 1), 42u);
  // A kernel of the device for which it was opened can write there.
  wire::StreamRef stream;
  stream.device = 1;
  ASSERT_EQ(b.launch(stream, "store", {at, 43}), Status::ok);
  EXPECT_EQ(b.status<Kind::device_wait>({1, 0}), Status::ok);
  EXPECT_EQ(a.read(memory), 43u);
  // Opened twice, closed twice.
  b.ask<Kind::ipc_close>({at, MemoryKind::imported, 0});
  EXPECT_EQ(b.read(at, 1), 43u);
  b.ask<Kind::ipc_close>({at, MemoryKind::imported, 0});
  EXPECT_EQ(b.status<Kind::ipc_close>({at, MemoryKind::imported, 0}), Status::invalid_value);
  // Opened again, it lies elsewhere.
  EXPECT_NE(b.ask<Kind::ipc_import>({token, 1, 0}).address, at);
  a.ask<Kind::free>({memory, MemoryKind::device, 0});
  EXPECT_EQ(b.status<Kind::ipc_import>({token, 2, 0}), Status::invalid_value);
}

TEST(NodeMemory, OfAnExporterThatHasGoneStaysReadable) {
  NodeHost host;
  Rank b(host, 1);
  uint64_t at = 0, mapped = 0;
  wire::IpcToken token;
  {
    Rank a(host, 0);
    const uint64_t memory = a.allocate(0, 64);
    a.write(memory, 42);
    token = a.ask<Kind::ipc_export>({memory});
    at = b.ask<Kind::ipc_import>({token, 0, 0}).address;
    const wire::Id physical = a.ask<Kind::physical_create>({kGranularity, 1, 1}).handle;
    const uint64_t own = map(a, physical, kGranularity, {1});
    a.write(own, 43, 1);
    a.ask<Kind::physical_export>({physical});
    const wire::Id imported = b.ask<Kind::physical_import>({}, {}, sent_descriptor(host, a)).handle;
    mapped = map(b, imported, kGranularity, {0, 1});
    a.leave();
  }
  EXPECT_EQ(b.read(at), 42u);
  EXPECT_EQ(b.read(mapped), 43u);
  ASSERT_EQ(b.launch(kDefault, "copy_after", {at, mapped, mapped}), Status::ok);
  EXPECT_EQ(b.status<Kind::device_wait>({}), Status::ok);
  EXPECT_EQ(b.read(at), 43u);
  EXPECT_EQ(b.status<Kind::ipc_import>({token, 1, 0}), Status::invalid_value);
  EXPECT_NE(host.node.memory_in_use(), 0u);
  b.leave();
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(host.node.memory_in_use(), 0u);
}

TEST(NodeMemory, AFabricHandleNamesMemoryForAsLongAsItExistsAndItsMakerRuns) {
  NodeHost host;
  Rank b(host, 1);
  wire::IpcToken token, of_b;
  wire::Id imported = 0;
  uint64_t mapped = 0;
  {
    Rank a(host, 0);
    const wire::Id plain = a.ask<Kind::physical_create>({kGranularity, 0, wire::kAsDescriptor}).handle;
    EXPECT_EQ(a.status<Kind::physical_export_fabric>({plain}), Status::invalid_value);
    const wire::Id physical = a.ask<Kind::physical_create>({kGranularity, 1, wire::kAsFabricHandle}).handle;
    EXPECT_EQ(a.status<Kind::physical_export>({physical}), Status::invalid_value);
    const uint64_t own = map(a, physical, kGranularity, {1});
    a.write(own, 43, 1);
    token = a.ask<Kind::physical_export_fabric>({physical});
    // Exported again, it is the same.
    EXPECT_EQ(std::memcmp(a.ask<Kind::physical_export_fabric>({physical}).bytes, token.bytes, sizeof token.bytes), 0);
    // The process itself may open it, too.
    EXPECT_EQ(a.status<Kind::physical_import_fabric>(token), Status::ok);
    imported = b.ask<Kind::physical_import_fabric>(token).handle;
    mapped = map(b, imported, kGranularity, {0, 1});
    a.leave();
  }
  EXPECT_EQ(b.read(mapped), 43u);
  EXPECT_EQ(b.status<Kind::physical_import_fabric>(token), Status::invalid_value);
  // What holds the memory may export it anew.
  of_b = b.ask<Kind::physical_export_fabric>({imported});
  Rank c(host, 2);
  EXPECT_EQ(c.status<Kind::physical_import_fabric>(token), Status::invalid_value);
  EXPECT_EQ(c.status<Kind::physical_import_fabric>(of_b), Status::ok);
  c.leave();
  b.leave();
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(host.node.memory_in_use(), 0u);
}

TEST(NodeMemory, AnEventOfAProcessThatHasGoneHoldsNobodyUp) {
  NodeHost host;
  Rank a(host, 0), b(host, 1);
  const uint64_t flag = a.allocate(0, 4), memory = b.allocate(0, 4);
  const auto s = a.stream(true);
  const wire::Id event = a.ask<Kind::event_create>({0, 0, 1, 0}).handle;
  a.ask<Kind::stream_wait_value>({s, flag, 1, 4, {}});
  a.ask<Kind::event_record>({s, event});
  const wire::IpcToken token = a.ask<Kind::event_export>({event});
  EXPECT_EQ(std::memcmp(&token, &static_cast<const wire::IpcToken&>(a.ask<Kind::event_export>({event})), sizeof token),
            0);
  const wire::Id imported = b.ask<Kind::event_import>(token).handle;
  EXPECT_EQ(b.status<Kind::event_export>({imported}), Status::invalid_handle);
  b.ask<Kind::event_depend>({kDefault, imported});
  ASSERT_EQ(b.launch(kDefault, "store", {memory, 4}), Status::ok);
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(b.read(memory), 0u);
  a.leave();
  EXPECT_EQ(b.status<Kind::device_wait>({}), Status::ok);
  EXPECT_EQ(b.read(memory), 4u);
}

TEST(NodeMemory, AMappingIsSeenByTheDevicesThatWereGivenAccess) {
  NodeHost host;
  Rank a(host, 0);
  const wire::Id physical = a.ask<Kind::physical_create>({kGranularity, 1, 0}).handle;
  const uint64_t at = map(a, physical, kGranularity, {0, 1});
  a.ask<Kind::physical_release>({physical});  // the mapping keeps it
  for (uint32_t d = 0; d < 2; ++d) {
    wire::StreamRef stream;
    stream.device = d;
    ASSERT_EQ(a.launch(stream, "store", {at + 4 * d, 7 + d}), Status::ok);
    EXPECT_EQ(a.status<Kind::device_wait>({d, 0}), Status::ok);
  }
  EXPECT_EQ(a.read(at, 1), 7u);
  EXPECT_EQ(a.read(at + 4, 1), 8u);
  wire::StreamRef stream;
  stream.device = 2;
  ASSERT_EQ(a.launch(stream, "store", {at, 9}), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({2, 0}), Status::illegal_address);

  EXPECT_EQ(a.status<Kind::range_free>({at, kGranularity}), Status::invalid_value);  // still mapped
  EXPECT_GE(host.node.memory_in_use(), kGranularity);
  a.ask<Kind::range_unmap>({at, kGranularity});
  EXPECT_LT(host.node.memory_in_use(), kGranularity);  // variables of modules
  a.ask<Kind::range_free>({at, kGranularity});
}

TEST(NodeMemory, AStoreToAMulticastObjectReachesAllItsMembers) {
  NodeHost host;
  Rank a(host, 0);
  const wire::Id object = a.ask<Kind::multicast_create>({2 * kGranularity, 2, 0}).handle;
  a.ask<Kind::multicast_add_device>({object, 0, 0});
  wire::Id memory[2];
  uint64_t own[2];
  for (int32_t d = 0; d < 2; ++d) {
    memory[d] = a.ask<Kind::physical_create>({2 * kGranularity, d, 0}).handle;
    own[d] = map(a, memory[d], 2 * kGranularity, {d});
  }
  wire::MulticastBind bind;
  bind.multicast = object;
  bind.memory = memory[0];
  bind.bytes = kGranularity;
  a.ask<Kind::multicast_add_device>({object, 1, 0});
  for (uint32_t d = 0; d < 2; ++d) {
    // The upper half first: the order of bindings does not matter.
    for (const uint64_t half : {kGranularity, uint64_t{0}}) {
      bind.memory = memory[d];
      bind.multicast_offset = bind.memory_offset = half;
      a.ask<Kind::multicast_bind_memory>(bind);
      EXPECT_EQ(a.status<Kind::multicast_bind_memory>(bind), Status::invalid_value);  // bound already
    }
  }
  const uint64_t at = map(a, object, 2 * kGranularity, {0});
  for (const uint64_t offset : {uint64_t{8}, kGranularity + 16}) {
    ASSERT_EQ(a.launch(kDefault, "spread", {at + offset, 77}), Status::ok);
    EXPECT_EQ(a.status<Kind::device_wait>({}), Status::ok);
    for (uint32_t d = 0; d < 2; ++d) EXPECT_EQ(a.read(own[d] + offset, d), 77u);
  }
  bind.device = 1;
  bind.multicast_offset = 0;
  bind.bytes = kGranularity;
  a.ask<Kind::multicast_unbind>(bind);
  ASSERT_EQ(a.launch(kDefault, "spread", {at + kGranularity, 78}), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({}), Status::ok);
  ASSERT_EQ(a.launch(kDefault, "spread", {at, 78}), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({}), Status::illegal_address);
}

TEST(NodeMemory, BindingToAMulticastObjectWaitsForItsDevices) {
  NodeHost host;
  Rank a(host, 0);
  const wire::Id object = a.ask<Kind::multicast_create>({kGranularity, 2, 0}).handle;
  a.ask<Kind::multicast_add_device>({object, 0, 0});
  wire::MulticastBind bind;
  bind.multicast = object;
  bind.memory = a.ask<Kind::physical_create>({kGranularity, 0, 0}).handle;
  bind.bytes = kGranularity;
  host.say<Kind::multicast_bind_memory>(a.thread, bind);
  EXPECT_FALSE(host.is_answered(a.thread));
  HostThread& other = host.add_thread(a.process);
  EXPECT_EQ(host.call<Kind::multicast_add_device>(other, {object, 1, 0}), Status::ok);
  EXPECT_TRUE(host.settle());
  ASSERT_TRUE(host.is_answered(a.thread));
  EXPECT_EQ(host.answer(a.thread).status, Status::ok);
  EXPECT_EQ(a.status<Kind::multicast_bind_memory>(bind), Status::invalid_value);  // it is bound
}

TEST(NodeMemory, IsAllFreeAgainWhenAProcessHasGoneInTheMiddleOfEverything) {
  NodeHost host;
  Rank b(host, 1);
  {
    Rank a(host, 0);
    const uint64_t memory = a.allocate(0, 1 << 20), flag = a.allocate(1, 4);
    a.allocate(0, 5000, MemoryKind::host);
    a.allocate(0, 5000, MemoryKind::managed);
    const auto s = a.stream(true), t = a.stream(), u = a.stream(true, 1);
    ASSERT_EQ(a.launch(s, "copy_after", {memory, memory, memory + 4}), Status::ok);  // waits for ever
    wire::Launch coop;
    coop.stream = a.stream(true);
    coop.function = a.function("copy_after");
    coop.flags = wire::kCooperative;
    const uint64_t params[] = {memory, memory, memory + 4};
    ASSERT_EQ(a.status<Kind::launch>(coop, std::as_bytes(std::span(params))), Status::ok);
    a.ask<Kind::stream_wait_value>({u, flag, 1, 4, {}});
    a.ask<Kind::callback>({u, 1});
    a.ask<Kind::callback>({t, 2});
    ASSERT_TRUE(host.settle());
    wire::Copy copy;
    copy.stream = a.stream(true);
    copy.from = memory;
    copy.to = memory + (1 << 19);
    copy.width = 1 << 19;
    a.ask<Kind::copy>(copy);
    HostThread& waiting = host.add_thread(a.process);
    host.say<Kind::device_wait>(waiting, {0, 0});
    host.node.run(2);
    EXPECT_FALSE(host.is_answered(waiting));
    a.leave();
    EXPECT_FALSE(host.is_answered(waiting));
  }
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(host.node.memory_in_use(), 0u);
  EXPECT_FALSE(host.node.anything_running());
  const wire::MemoryInfo info = b.ask<Kind::memory_info>({0, 0});
  EXPECT_EQ(info.free, info.total);
}

TEST(NodeMemory, OfTheHostCountsAndEveryAllocationCostsAPage) {
  NodeHost host(uint64_t{16} << 20);
  Rank a(host, 0);
  const uint64_t pinned = a.allocate(0, 10 << 20, MemoryKind::host);
  EXPECT_EQ(a.status<Kind::allocate>({0, MemoryKind::managed, 10 << 20}), Status::out_of_memory);
  EXPECT_EQ(a.status<Kind::allocate>({0, MemoryKind::device, 10 << 20}), Status::out_of_memory);
  a.ask<Kind::free>({pinned, MemoryKind::host, 0});
  uint64_t count = 0;
  while (a.status<Kind::allocate>({0, MemoryKind::device, 1}) == Status::ok) ASSERT_LT(++count, 10'000u);
  EXPECT_GT(count, 2'000u);
}

}  // namespace
}  // namespace fb::machine
