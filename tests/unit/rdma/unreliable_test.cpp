// Unreliable connections and datagrams: what is dropped, and what stops a send queue.

#include <cerrno>

#include "rdma/world.h"

namespace fb::rdma {
namespace {

struct Datagrams : testing::Test {
  World w;
  End a{w, 0, QpType::ud}, b{w, 1, QpType::ud};
  void SetUp() override { connect(a, b); }

  SendWork send(uint64_t id, uint32_t bytes, uint32_t qkey = 0x11, bool global = false) const {
    SendWork made = work(id, Opcode::send, {a.piece(0, bytes)});
    made.destination = SendWork::Destination{.card = 1, .reachable = true, .global = global};
    made.remote_number = b.pair->number;
    made.remote_qkey = qkey;
    return made;
  }
};

TEST_F(Datagrams, PayloadIsBehindTheHeader) {
  w.put(0, 0, "datagram");
  ASSERT_EQ(b.receive(9, {b.piece(0, 40), b.piece(1000, 64)}), 0);
  ASSERT_EQ(a.send(send(1, 8)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0");
  const auto got = b.poll();
  ASSERT_EQ(summary(got), "9:0");
  EXPECT_EQ(got[0].bytes, 48u);
  EXPECT_EQ(got[0].flags, 0u);
  EXPECT_EQ(got[0].remote_queue_pair, a.pair->number);
  EXPECT_EQ(got[0].remote_card, 0u);
  EXPECT_EQ(w.get(1, 1000, 8), "datagram");
}

TEST_F(Datagrams, AGlobalAddressFillsTheHeader) {
  ASSERT_EQ(b.receive(9, {b.piece(0, 100)}), 0);
  ASSERT_EQ(a.send(send(1, 8, 0x11, true)), 0);
  w.run();
  const auto got = b.poll();
  ASSERT_EQ(summary(got), "9:0");
  EXPECT_EQ(got[0].flags, completion_flags::grh);
  EXPECT_EQ(w.get(1, 0, 1), "\x60");
  EXPECT_EQ(w.get(1, 6, 1), "\x1b");
  EXPECT_EQ(w.get(1, 5, 1)[0], 20 + 8 + 4) << "length of what follows";
  EXPECT_EQ(w.get(1, 8 + 15, 1), "\x01") << "from card 0";
  EXPECT_EQ(w.get(1, 24 + 15, 1), "\x02") << "to card 1";
}

TEST_F(Datagrams, AreDroppedSilently) {
  ASSERT_EQ(a.send(send(1, 8)), 0);  // no receive
  w.run();
  ASSERT_EQ(b.receive(9, {b.piece(0, 47)}), 0);
  ASSERT_EQ(a.send(send(2, 8)), 0);        // 48 bytes do not fit
  ASSERT_EQ(a.send(send(3, 7, 0x12)), 0);  // another key
  SendWork nowhere = send(4, 7);
  nowhere.remote_number = 12345;
  ASSERT_EQ(a.send(nowhere), 0);
  nowhere.destination->reachable = false;
  ASSERT_EQ(a.send(nowhere), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0 2:0 3:0 4:0 4:0") << "the sender never knows";
  EXPECT_TRUE(b.poll().empty());
  EXPECT_EQ(b.pair->state(), QpState::rts);
  ASSERT_EQ(a.send(send(5, 7, 0x8000'0000)), 0);  // the sender's own key
  w.run();
  EXPECT_EQ(summary(b.poll()), "9:0");
}

TEST_F(Datagrams, OneIsAtMostAnMtu) {
  ASSERT_EQ(a.send(send(1, 4096)), 0);
  ASSERT_EQ(a.send(send(2, 4097)), 0);
  ASSERT_EQ(a.send(send(3, 8)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0 2:1 3:5");
  EXPECT_EQ(a.pair->state(), QpState::sqe);
  ASSERT_EQ(a.send(send(4, 8)), 0);
  EXPECT_EQ(summary(a.poll()), "4:5") << "the send queue has stopped";
  // It still receives, and can be started again.
  ASSERT_EQ(a.receive(20, {a.piece(0, 100)}), 0);
  ASSERT_EQ(a.change(QpState::rts), 0);
  ASSERT_EQ(b.receive(9, {b.piece(0, 100)}), 0);
  ASSERT_EQ(a.send(send(5, 8)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "5:0");
  EXPECT_EQ(summary(b.poll()), "9:0");
}

TEST_F(Datagrams, NeedAnAddress) {
  SendWork without = send(1, 8);
  without.destination.reset();
  EXPECT_EQ(a.send(without), EINVAL);
  SendWork write = send(1, 8);
  write.opcode = Opcode::write;
  EXPECT_EQ(a.send(write), EINVAL);
}

TEST_F(Datagrams, WhatIsOnTheWireArrivesThoughItsQueueStops) {
  ASSERT_EQ(b.receive(9, {b.piece(0, 100)}), 0);
  ASSERT_EQ(a.send(send(1, 8)), 0);
  ASSERT_EQ(a.send(send(2, 5000)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0 2:1");
  EXPECT_EQ(summary(b.poll()), "9:0");
}

TEST(UnreliableConnections, WritesAndSendsArriveAndErrorsAreDropped) {
  World w;
  End a(w, 0, QpType::uc), b(w, 1, QpType::uc);
  connect(a, b);
  w.put(0, 0, "uc");
  ASSERT_EQ(a.send(one_sided(1, Opcode::write, {a.piece(0, 2)}, b, 64)), 0);
  ASSERT_EQ(a.send(one_sided(2, Opcode::write, {a.piece(0, 2)}, b, World::kBytes)), 0);  // out of range
  ASSERT_EQ(a.send(work(3, Opcode::send, {a.piece(0, 2)})), 0);                          // no receive
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0 2:0 3:0");
  EXPECT_EQ(w.get(1, 64, 2), "uc");
  EXPECT_EQ(b.pair->state(), QpState::rts);
  EXPECT_TRUE(w.happened_events.empty());
  ASSERT_EQ(b.receive(9, {b.piece(128, 2)}), 0);
  ASSERT_EQ(a.send(work(4, Opcode::send, {a.piece(0, 2)})), 0);
  w.run();
  EXPECT_EQ(summary(b.poll()), "9:0");
  EXPECT_EQ(w.get(1, 128, 2), "uc");
}

TEST(UnreliableConnections, ALocalErrorStopsTheSendQueueOnly) {
  World w;
  End a(w, 0, QpType::uc), b(w, 1, QpType::uc);
  connect(a, b);
  ASSERT_EQ(a.receive(50, {a.piece(0, 8)}), 0);
  ASSERT_EQ(a.send(one_sided(1, Opcode::write, {a.piece(0, 2)}, b, 64)), 0);
  ASSERT_EQ(a.send(one_sided(2, Opcode::write, {b.piece(0, 2)}, b, 64)), 0);
  ASSERT_EQ(a.send(one_sided(3, Opcode::write, {a.piece(0, 2)}, b, 64)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0 2:4 3:5");
  EXPECT_EQ(a.pair->state(), QpState::sqe);
  EXPECT_EQ(a.change(QpState::rts), 0);
}

}  // namespace
}  // namespace fb::rdma
