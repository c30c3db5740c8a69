// Collectives as ranks ask for them, without libraries and sockets.

#include <gtest/gtest.h>

#include <vector>

#include "common/wire/collectives.h"
#include "tests/unit/machine/node_host.h"

namespace fb::machine {
namespace {

using wire::CollectiveKind;
using wire::Kind;
using wire::Status;

constexpr uint32_t kCount = 256;

class NodeCollective : public testing::Test {
 protected:
  NodeCollective() : a(host, 0), b(host, 1) {}

  // A communicator of both ranks, on devices 0 and 1.
  void connect() {
    const wire::CommId id = a.ask<Kind::comm_id>({});
    comm_a = create(a, id, 0);
    comm_b = create(b, id, 1);
    EXPECT_EQ(a.ask<Kind::comm_wait>({comm_a}).state, wire::CommState::ready);
    EXPECT_EQ(b.ask<Kind::comm_wait>({comm_b}).ranks, 2);
  }
  static wire::CommCreate request(const wire::CommId& id, uint32_t rank) {
    wire::CommCreate m;
    m.device = rank;
    m.ranks = 2;
    m.rank = static_cast<int32_t>(rank);
    m.id = id;
    return m;
  }
  static wire::Id create(Rank& of, const wire::CommId& id, uint32_t rank) {
    return of.ask<Kind::comm_create>(request(id, rank)).handle;
  }
  static wire::CollectiveCall all_reduce(uint64_t send, uint64_t receive, uint64_t count = kCount) {
    wire::CollectiveCall c;
    c.kind = CollectiveKind::all_reduce;
    c.type = wire::ElementType::u32;
    c.send = send;
    c.receive = receive;
    c.count = count;
    return c;
  }
  static std::optional<Status> collect(Rank& of, wire::Id comm, const wire::CollectiveCall& call, uint32_t device) {
    wire::Collective m;
    m.stream.device = device;
    m.comm = comm;
    m.calls = 1;
    return of.status<Kind::collective>(m, std::as_bytes(std::span(&call, 1)));
  }

  NodeHost host;
  Rank a, b;
  wire::Id comm_a = 0, comm_b = 0;
};

TEST_F(NodeCollective, AnAllReduceAddsAndTakesTime) {
  connect();
  const uint64_t x = a.allocate(0, kCount * 4), y = b.allocate(1, kCount * 4);
  a.write(x + 40, 5);
  b.write(y + 40, 7, 1);
  EXPECT_EQ(collect(a, comm_a, all_reduce(x, x), 0), Status::ok);
  EXPECT_EQ(collect(b, comm_b, all_reduce(y, y), 1), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({0, 0}), Status::ok);
  EXPECT_EQ(b.status<Kind::device_wait>({1, 0}), Status::ok);
  EXPECT_EQ(a.read(x + 40), 12u);
  EXPECT_EQ(b.read(y + 40, 1), 12u);
}

TEST_F(NodeCollective, DifferentCountsNeverEndAndAreNamed) {
  connect();
  const uint64_t x = a.allocate(0, kCount * 4), y = b.allocate(1, kCount * 4);
  EXPECT_EQ(collect(a, comm_a, all_reduce(x, x), 0), Status::ok);
  EXPECT_EQ(collect(b, comm_b, all_reduce(y, y, kCount / 2), 1), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({0, 0}), std::nullopt);
  const std::string text = host.node.explain_deadlock();
  EXPECT_TRUE(text.starts_with("calls of a collective do not match: ")) << text;
  EXPECT_NE(text.find("different counts"), std::string::npos) << text;
}

TEST_F(NodeCollective, ABufferThatIsNoMemoryIsAFaultOfTheDevice) {
  connect();
  const uint64_t x = a.allocate(0, kCount * 4);
  EXPECT_EQ(collect(a, comm_a, all_reduce(x, x + 8), 0), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({0, 0}), Status::illegal_address);
  ASSERT_EQ(host.incidents.size(), 1u);
  EXPECT_NE(host.incidents[0].text.find("the receive buffer"), std::string::npos) << host.incidents[0].text;
}

TEST_F(NodeCollective, WhatCannotBeIsRefused) {
  connect();
  const uint64_t x = a.allocate(0, kCount * 4);
  const auto with = [&](auto change) {
    wire::CollectiveCall c = all_reduce(x, x);
    change(c);
    return collect(a, comm_a, c, 0);
  };
  EXPECT_EQ(with([](auto& c) { c.kind = static_cast<CollectiveKind>(wire::kCollectives.size()); }),
            Status::invalid_value);
  EXPECT_EQ(with([](auto& c) { c.type = static_cast<wire::ElementType>(12); }), Status::invalid_value);
  EXPECT_EQ(with([](auto& c) { c.op = static_cast<wire::ReduceOp>(6); }), Status::invalid_value);
  EXPECT_EQ(with([](auto& c) { c.scalar_from = static_cast<wire::ScalarFrom>(3); }), Status::invalid_value);
  EXPECT_EQ(with([](auto& c) { c.count = ~uint64_t{0}; }), Status::invalid_value);
  EXPECT_EQ(with([](auto& c) {
              c.kind = CollectiveKind::send;
              c.peer = 2;
            }),
            Status::invalid_value);
  EXPECT_EQ(with([](auto& c) { c.kind = CollectiveKind::put_signal; }), Status::invalid_value);  // no window
  EXPECT_EQ(with([](auto& c) {
              c.kind = CollectiveKind::wait_signal;
              c.count = 0;
            }),
            Status::invalid_value);
  EXPECT_EQ(collect(a, comm_a, all_reduce(x, x), 1), Status::invalid_value);  // the communicator is on device 0
  EXPECT_EQ(collect(a, comm_a + 1000, all_reduce(x, x), 0), Status::invalid_handle);
  wire::Collective m;
  m.comm = comm_a;
  m.calls = 1000;  // the blob has none
  EXPECT_EQ(a.status<Kind::collective>(m), Status::invalid_value);
}

TEST_F(NodeCollective, AnIdCannotBeMadeUpOrUsedTwiceByARank) {
  EXPECT_EQ(a.status<Kind::comm_create>(request({}, 0)), Status::invalid_value);
  const wire::CommId id = a.ask<Kind::comm_id>({});
  create(a, id, 0);
  EXPECT_EQ(a.status<Kind::comm_create>(request(id, 0)), Status::invalid_value);
  wire::CommCreate larger = request(id, 1);
  larger.ranks = 3;
  EXPECT_EQ(b.status<Kind::comm_create>(larger), Status::invalid_value);
}

TEST_F(NodeCollective, APutBeyondTheWindowOfTheOtherIsAFault) {
  connect();
  const uint64_t x = a.allocate(0, kCount * 8), y = b.allocate(1, kCount * 8);
  const wire::Id own = a.ask<Kind::comm_window>({comm_a, 0, x, kCount * 8, 1, 0}).handle;
  b.ask<Kind::comm_window>({comm_b, 0, y, kCount * 4, 1, 0});
  EXPECT_EQ(a.ask<Kind::comm_wait>({comm_a}).state, wire::CommState::ready);
  wire::CollectiveCall put = all_reduce(x, 4);
  put.kind = CollectiveKind::put_signal;
  put.peer = 1;
  put.window = own;
  EXPECT_EQ(collect(a, comm_a, put, 0), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({0, 0}), Status::illegal_address);
}

TEST_F(NodeCollective, ASignalThatIsMissingIsNamed) {
  connect();
  wire::CollectiveCall call;
  call.kind = CollectiveKind::signal;
  EXPECT_EQ(collect(b, comm_b, call, 1), Status::ok);
  call.kind = CollectiveKind::wait_signal;
  call.peer = 1;
  call.count = 1;
  EXPECT_EQ(collect(a, comm_a, call, 0), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({0, 0}), Status::ok);
  EXPECT_EQ(collect(a, comm_a, call, 0), Status::ok);
  b.leave();
  EXPECT_EQ(a.status<Kind::device_wait>({0, 0}), std::nullopt);
  const std::string text = host.node.explain_deadlock();
  EXPECT_NE(text.find("up to signal 2"), std::string::npos) << text;
}

TEST_F(NodeCollective, AnIdToGrowByIsOneAtATimeAndNoOther) {
  connect();
  const wire::CommId id = a.ask<Kind::comm_id>({comm_a});
  EXPECT_EQ(b.status<Kind::comm_id>({comm_b}), Status::not_permitted);
  wire::CommCreate m = request(id, 0);
  EXPECT_EQ(a.status<Kind::comm_create>(m), Status::invalid_value);  // made to grow by, not to begin with
  m.origin = wire::CommOrigin::grow;
  m.ranks = 3;
  m.rank = 1;  // taken
  EXPECT_EQ(b.status<Kind::comm_create>(m), Status::invalid_value);
  m.rank = 2;
  EXPECT_EQ(b.status<Kind::comm_create>(m), Status::ok);
  EXPECT_EQ(b.status<Kind::comm_create>(m), Status::invalid_value);
}

TEST_F(NodeCollective, ARankThatLeavesLeavesTheOthersWaiting) {
  connect();
  const uint64_t x = a.allocate(0, kCount * 4);
  EXPECT_EQ(collect(a, comm_a, all_reduce(x, x), 0), Status::ok);
  b.leave();
  EXPECT_EQ(a.status<Kind::device_wait>({0, 0}), std::nullopt);
  const std::string text = host.node.explain_deadlock();
  EXPECT_NE(text.find("rank 1 has ended"), std::string::npos) << text;
}

TEST_F(NodeCollective, AnAbortEndsWhatWaits) {
  connect();
  const uint64_t x = a.allocate(0, kCount * 4);
  EXPECT_EQ(collect(a, comm_a, all_reduce(x, x), 0), Status::ok);
  EXPECT_EQ(a.status<Kind::comm_end>({comm_a, wire::CommChange::abort, 0}), Status::ok);
  EXPECT_EQ(a.status<Kind::device_wait>({0, 0}), Status::ok);
  EXPECT_EQ(a.status<Kind::comm_end>({comm_a, wire::CommChange::destroy, 0}), Status::invalid_handle);
}

}  // namespace
}  // namespace fb::machine
