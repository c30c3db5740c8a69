// The order that streams, events, graphs and host functions promise.

#include <gtest/gtest.h>

#include "tests/unit/machine/node_host.h"

namespace fb::machine {
namespace {

using wire::Kind;
using wire::MemoryKind;
using wire::Status;

constexpr wire::StreamRef kDefault = {};

class NodeOrder : public testing::Test {
 protected:
  NodeOrder() : a(host, 0), flag(a.allocate(0, 4)), data(a.allocate(0, 16)) {}

  // On `stream`: waits for `flag`, then data[where] = data[from].
  void wait_and_copy(const wire::StreamRef& stream, uint64_t where, uint64_t from) {
    ASSERT_EQ(a.launch(stream, "copy_after", {data + 4 * where, data + 4 * from, flag}), Status::ok);
  }
  void store(const wire::StreamRef& stream, uint64_t where, uint32_t value) {
    ASSERT_EQ(a.launch(stream, "store", {data + 4 * where, value}), Status::ok);
  }
  Status query(const wire::StreamRef& stream) { return a.status<Kind::stream_query>(stream).value(); }
  // The flag is raised by a thread of its own, as those of `a` may be waiting.
  void raise() { a.write(flag, 1); }

  NodeHost host;
  Rank a;
  uint64_t flag, data;
};

TEST_F(NodeOrder, WorkOfOneStreamIsDoneInOrder) {
  const auto s = a.stream();
  store(s, 0, 5);
  wait_and_copy(s, 1, 0);
  store(s, 0, 6);
  raise();
  EXPECT_EQ(a.status<Kind::stream_wait>(s), Status::ok);
  EXPECT_EQ(a.read(data), 6u);
  EXPECT_EQ(a.read(data + 4), 5u);
}

TEST_F(NodeOrder, TheDefaultStreamWaitsForBlockingStreams) {
  const auto s = a.stream();
  store(s, 0, 5);
  wait_and_copy(s, 1, 0);
  store(kDefault, 2, 7);
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(a.read(data + 8), 0u);
  raise();
  EXPECT_EQ(a.status<Kind::stream_wait>(kDefault), Status::ok);
  EXPECT_EQ(a.read(data + 8), 7u);
}

TEST_F(NodeOrder, BlockingStreamsWaitForTheDefaultStream) {
  const auto s = a.stream();
  wait_and_copy(kDefault, 1, 0);
  store(s, 2, 7);
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(a.read(data + 8), 0u);
  raise();
  EXPECT_EQ(a.status<Kind::stream_wait>(s), Status::ok);
  EXPECT_EQ(a.read(data + 8), 7u);
}

TEST_F(NodeOrder, NonBlockingStreamsAndTheDefaultStreamDoNotWaitForEachOther) {
  const auto s = a.stream(true);
  wait_and_copy(s, 1, 0);
  store(kDefault, 2, 7);
  EXPECT_EQ(a.status<Kind::stream_wait>(kDefault), Status::ok);
  wait_and_copy(kDefault, 1, 0);
  const auto t = a.stream(true);
  store(t, 3, 8);
  EXPECT_EQ(a.status<Kind::stream_wait>(t), Status::ok);
  EXPECT_EQ(a.read(data + 8), 7u);
  EXPECT_EQ(a.read(data + 12), 8u);
}

TEST_F(NodeOrder, WaitingForTheDefaultStreamWaitsForBlockingStreams) {
  const auto s = a.stream();
  wait_and_copy(s, 1, 0);
  EXPECT_EQ(query(kDefault), Status::not_ready);
  host.say<Kind::stream_wait>(a.thread, kDefault);
  ASSERT_TRUE(host.settle());
  EXPECT_FALSE(host.is_answered(a.thread));
}

TEST_F(NodeOrder, TheDefaultStreamWaitsForADestroyedBlockingStream) {
  const auto s = a.stream();
  wait_and_copy(s, 1, 0);
  a.ask<Kind::stream_destroy>({s.stream});
  EXPECT_EQ(query(kDefault), Status::not_ready);
  store(kDefault, 2, 7);
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(a.read(data + 8), 0u);
  raise();
  EXPECT_EQ(a.status<Kind::stream_wait>(kDefault), Status::ok);
}

TEST_F(NodeOrder, TheDefaultStreamDoesNotWaitForADestroyedNonBlockingStreamButTheDeviceDoes) {
  const auto s = a.stream(true);
  wait_and_copy(s, 1, 0);
  a.ask<Kind::stream_destroy>({s.stream});
  store(kDefault, 2, 7);
  EXPECT_EQ(a.status<Kind::stream_wait>(kDefault), Status::ok);
  host.say<Kind::device_wait>(a.thread, {});
  ASSERT_TRUE(host.settle());
  EXPECT_FALSE(host.is_answered(a.thread));
}

TEST_F(NodeOrder, AStreamWaitsForTheRecordOfAnEventThatWasThereAndForNoLaterOne) {
  const auto s = a.stream(true), t = a.stream(true), u = a.stream(true);
  const wire::Id event = a.ask<Kind::event_create>({}).handle;
  // Not recorded: no wait.
  a.ask<Kind::event_depend>({t, event});
  store(t, 0, 1);
  EXPECT_EQ(a.status<Kind::stream_wait>(t), Status::ok);
  // Recorded behind nothing, then again behind something that waits.
  a.ask<Kind::event_record>({s, event});
  a.ask<Kind::event_depend>({t, event});
  wait_and_copy(s, 1, 0);
  a.ask<Kind::event_record>({s, event});
  a.ask<Kind::event_depend>({u, event});
  store(t, 2, 7);
  store(u, 3, 8);
  EXPECT_EQ(a.status<Kind::stream_wait>(t), Status::ok);
  EXPECT_EQ(a.read(data + 8), 7u);
  EXPECT_EQ(query(u), Status::not_ready);
  EXPECT_EQ(a.status<Kind::event_query>({event}), Status::not_ready);
  // A third record, elsewhere: `u` waits for the second one still.
  a.ask<Kind::event_record>({t, event});
  EXPECT_EQ(a.status<Kind::event_wait>({event}), Status::ok);
  EXPECT_EQ(query(u), Status::not_ready);
  EXPECT_EQ(a.read(data + 12), 0u);
  raise();
  EXPECT_EQ(a.status<Kind::stream_wait>(u), Status::ok);
  EXPECT_EQ(a.read(data + 12), 8u);
}

TEST_F(NodeOrder, ADestroyedEventIsStillWaitedFor) {
  const auto s = a.stream(true), t = a.stream(true);
  const wire::Id event = a.ask<Kind::event_create>({}).handle;
  wait_and_copy(s, 1, 0);
  a.ask<Kind::event_record>({s, event});
  a.ask<Kind::event_depend>({t, event});
  a.ask<Kind::event_destroy>({event});
  store(t, 2, 7);
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(query(t), Status::not_ready);
  raise();
  EXPECT_EQ(a.status<Kind::stream_wait>(t), Status::ok);
}

// A graph of nodes that each come after the one before.
class GraphText {
 public:
  template <class Body>
  void add(Kind kind, const Body& body, const std::vector<uint64_t>& blob = {}) {
    wire::GraphNodeHeader node;
    node.kind = kind;
    node.body = sizeof body;
    node.blob = static_cast<uint32_t>(blob.size() * sizeof(uint64_t));
    node.dependencies = count == 0 ? 0 : 1;
    append(&node, sizeof node);
    append(&body, sizeof body);
    append(blob.data(), blob.size() * sizeof(uint64_t));
    const uint32_t last = count - 1;
    if (count != 0) append(&last, sizeof last);
    ++count;
  }
  wire::Id create(Rank& rank) {
    return rank.ask<Kind::graph_create>({.graph = 0, .nodes = count, .last = 1}, bytes).handle;
  }

  uint32_t count = 0;
  std::vector<std::byte> bytes;

 private:
  void append(const void* from, size_t n) {
    const auto* first = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), first, first + n);
  }
};

TEST_F(NodeOrder, AGraphRunsBetweenWhatStandsBeforeAndBehindItInItsStream) {
  const auto s = a.stream(true);
  GraphText text;
  wire::Launch add;
  add.function = a.function("add_one");
  for (int k = 0; k < 3; ++k) text.add(Kind::launch, add, {data});
  wire::Copy copy;
  copy.from = data;
  copy.to = data + 4;
  copy.width = 4;
  text.add(Kind::copy, copy);
  const wire::Id graph = text.create(a);
  store(s, 0, 10);
  wait_and_copy(s, 2, 0);
  a.ask<Kind::graph_launch>({s, graph});
  a.ask<Kind::graph_launch>({s, graph});
  ASSERT_EQ(a.launch(s, "add_one", {data}), Status::ok);
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(a.read(data + 4), 0u);
  a.ask<Kind::graph_destroy>({graph});  // what was launched goes on
  raise();
  EXPECT_EQ(a.status<Kind::stream_wait>(s), Status::ok);
  EXPECT_EQ(a.read(data), 17u);
  EXPECT_EQ(a.read(data + 4), 16u);
  EXPECT_EQ(a.read(data + 8), 10u);
}

TEST_F(NodeOrder, AGraphWithABadNodeDoesNothingAtAll) {
  const auto s = a.stream(true);
  GraphText text;
  wire::Launch add;
  add.function = a.function("add_one");
  text.add(Kind::launch, add, {data});
  add.function = 12345;
  text.add(Kind::launch, add, {data});
  const wire::Id graph = text.create(a);
  EXPECT_EQ(a.status<Kind::graph_launch>({s, graph}), Status::invalid_device_function);
  EXPECT_EQ(a.status<Kind::device_wait>({}), Status::ok);
  EXPECT_EQ(a.read(data), 0u);
  a.leave();
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(host.node.memory_in_use(), 0u);
}

TEST_F(NodeOrder, HostFunctionsRunInOrderAndTheStreamWaitsForThem) {
  const auto s = a.stream(true);
  HostThread& callbacks = host.add_thread(a.process, wire::Purpose::callbacks);
  a.ask<Kind::callback>({s, 11});
  a.ask<Kind::callback>({s, 12});
  store(s, 0, 5);
  wire::CallbackReady ready;
  ASSERT_EQ(host.call<Kind::callback_next>(callbacks, {}, &ready), Status::ok);
  EXPECT_EQ(ready.callback, 11u);
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(query(s), Status::not_ready);
  ASSERT_EQ(host.call<Kind::callback_next>(callbacks, {}, &ready), Status::ok);
  EXPECT_EQ(ready.callback, 12u);
  EXPECT_EQ(a.read(data), 0u);
  EXPECT_EQ(host.call<Kind::callback_next>(callbacks, {}), std::nullopt);
  EXPECT_EQ(a.status<Kind::stream_wait>(s), Status::ok);
  EXPECT_EQ(a.read(data), 5u);
}

TEST_F(NodeOrder, FreeingWaitsForAllStreamsOfTheDevice) {
  HostThread& other = host.add_thread(a.process);
  for (const bool non_blocking : {false, true}) {
    a.write(flag, 0);
    const auto s = a.stream(non_blocking);
    const uint64_t memory = a.allocate(0, 64);
    wait_and_copy(s, 1, 0);
    host.say<Kind::free>(other, {memory, MemoryKind::device, 0});
    ASSERT_TRUE(host.settle());
    EXPECT_FALSE(host.is_answered(other));
    raise();
    ASSERT_TRUE(host.settle());
    ASSERT_TRUE(host.is_answered(other));
    EXPECT_EQ(host.answer(other).status, Status::ok);
    EXPECT_EQ(a.status<Kind::free>({memory, MemoryKind::device, 0}), Status::invalid_value);
  }
}

TEST_F(NodeOrder, FreeingManagedMemoryWaitsForAllDevices) {
  HostThread& other = host.add_thread(a.process);
  const uint64_t memory = a.allocate(0, 64, MemoryKind::managed);
  const auto s = a.stream(true);
  wait_and_copy(s, 1, 0);
  host.say<Kind::free>(other, {memory, MemoryKind::device, 0});
  ASSERT_TRUE(host.settle());
  EXPECT_FALSE(host.is_answered(other));
  raise();
  ASSERT_TRUE(host.settle());
  EXPECT_TRUE(host.is_answered(other));
}

TEST_F(NodeOrder, AStreamWaitsForAValueThatAnotherWrites) {
  const auto s = a.stream(true), t = a.stream(true);
  a.ask<Kind::stream_wait_value>({s, flag, 5, 4, wire::Compare::greater_equal});
  store(s, 0, 9);
  a.ask<Kind::stream_write_value>({t, flag, 4, 4, {}});
  EXPECT_EQ(a.status<Kind::stream_wait>(t), Status::ok);
  EXPECT_EQ(query(s), Status::not_ready);
  a.ask<Kind::stream_write_value>({t, flag, 5, 4, {}});
  EXPECT_EQ(a.status<Kind::stream_wait>(s), Status::ok);
  EXPECT_EQ(a.read(data), 9u);
}

TEST_F(NodeOrder, AKernelCanRaiseTheValueThatAStreamWaitsFor) {
  const auto s = a.stream(true), t = a.stream(true);
  a.ask<Kind::stream_wait_value>({s, flag, 3, 4, wire::Compare::equal});
  store(s, 0, 9);
  ASSERT_TRUE(host.settle());
  ASSERT_EQ(a.launch(t, "store", {flag, 3}), Status::ok);
  EXPECT_EQ(a.status<Kind::stream_wait>(s), Status::ok);
  EXPECT_EQ(a.read(data), 9u);
}

TEST_F(NodeOrder, OnlySoManyKernelsRunOnADeviceAtOnce) {
  // 128 that wait for the flag, and one behind them that would raise it: it can't, as on hardware.
  for (int k = 0; k < 128; ++k) wait_and_copy(a.stream(true), 1, 0);
  const auto s = a.stream(true);
  ASSERT_EQ(a.launch(s, "store", {flag, 1}), Status::ok);
  ASSERT_TRUE(host.settle());
  EXPECT_EQ(query(s), Status::not_ready);
  raise();
  EXPECT_EQ(a.status<Kind::device_wait>({}), Status::ok);
  EXPECT_EQ(query(s), Status::ok);
}

}  // namespace
}  // namespace fb::machine
