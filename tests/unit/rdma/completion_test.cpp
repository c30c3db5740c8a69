// Completion queues: events, overrun, and resizing.

#include <cerrno>

#include "rdma/world.h"

namespace fb::rdma {
namespace {

TEST(Completions, AnArmedQueueTellsOnce) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  const auto write = [&] { return a.send(one_sided(1, Opcode::write, {a.piece(0, 8)}, b, 0)); };
  ASSERT_EQ(write(), 0);
  w.run();
  EXPECT_TRUE(w.notified.empty()) << "not armed";
  w.cards.arm(*a.cq, false);
  w.run();
  EXPECT_TRUE(w.notified.empty()) << "what was there before gives no event";
  ASSERT_EQ(write(), 0);
  ASSERT_EQ(write(), 0);
  w.run();
  EXPECT_EQ(w.notified, std::vector{a.cq->id});
  EXPECT_EQ(a.poll(2).size(), 2u);
  EXPECT_EQ(a.poll(2).size(), 1u);
}

TEST(Completions, SolicitedOnly) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  for (uint64_t id = 1; id <= 3; ++id) ASSERT_EQ(b.receive(id, {b.piece(0, 8)}), 0);
  w.cards.arm(*b.cq, true);
  ASSERT_EQ(a.send(work(1, Opcode::send, {a.piece(0, 8)})), 0);
  w.run();
  EXPECT_TRUE(w.notified.empty());
  ASSERT_EQ(a.send(work(2, Opcode::send, {a.piece(0, 8)}, send_flags::signaled | send_flags::solicited)), 0);
  w.run();
  EXPECT_EQ(w.notified, std::vector{b.cq->id});
  // Errors are always told.
  w.cards.arm(*b.cq, true);
  ASSERT_EQ(b.change(QpState::err), 0);
  EXPECT_EQ(w.notified.size(), 2u);
  // Asking for all is not taken back by asking for less.
  w.cards.arm(*a.cq, false);
  w.cards.arm(*a.cq, true);
  EXPECT_FALSE(a.cq->solicited_only);
}

TEST(Completions, AnOverrunQueueIsDeadAndSoAreItsPairs) {
  World w;
  End a(w, 0, QpType::rc, false, 16, 3), b(w, 1);
  ASSERT_EQ(a.cq->capacity, 3u);
  connect(a, b);
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_EQ(a.send(one_sided(id, Opcode::write, {a.piece(0, 8)}, b, 0)), 0);
  w.run();
  EXPECT_EQ(w.count(AsyncEvent::cq_error, *a.cq), 1);
  EXPECT_EQ(w.count(AsyncEvent::qp_fatal, *a.pair), 1);
  EXPECT_EQ(a.pair->state(), QpState::err);
  EXPECT_EQ(summary(a.poll()), "1:0 2:0 3:0");
  std::vector<Completion> none;
  EXPECT_EQ(w.cards.poll(*a.cq, 1, none), -1);
}

TEST(Completions, OverrunMayBeIgnored) {
  World w;
  End a(w, 0, QpType::rc, false, 16, 3), b(w, 1);
  a.cq->ignores_overrun = true;
  connect(a, b);
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_EQ(a.send(one_sided(id, Opcode::write, {a.piece(0, 8)}, b, 0)), 0);
  w.run();
  EXPECT_EQ(w.count(AsyncEvent::cq_error, *a.cq), 0);
  EXPECT_EQ(a.pair->state(), QpState::rts);
  EXPECT_EQ(a.poll().size(), 3u);
}

TEST(Completions, ResizingKeepsWhatIsThere) {
  World w;
  End a(w, 0, QpType::rc, false, 16, 3), b(w, 1);
  connect(a, b);
  EXPECT_EQ(w.cards.resize(*a.cq, 0), EINVAL);
  EXPECT_EQ(w.cards.resize(*a.cq, 60), 0);
  EXPECT_EQ(a.cq->capacity, 63u);
  for (uint64_t id = 1; id <= 5; ++id) ASSERT_EQ(a.send(one_sided(id, Opcode::write, {a.piece(0, 8)}, b, 0)), 0);
  w.run();
  EXPECT_EQ(w.cards.resize(*a.cq, 4), EINVAL) << "there are more";
  EXPECT_EQ(a.poll().size(), 5u);
}

TEST(Completions, AllSignaledByThePair) {
  World w;
  End a(w, 0), b(w, 1);
  QueuePair wanted, *pair = nullptr;
  wanted.send_cq = wanted.receive_cq = a.cq;
  wanted.limits.sends = 4;
  wanted.limits.send_pieces = 1;
  wanted.signals_all = true;
  ASSERT_EQ(w.cards.make_queue_pair(*a.domain, wanted, pair), 0);
  a.pair = pair;
  connect(a, b);
  ASSERT_EQ(a.send(one_sided(1, Opcode::write, {a.piece(0, 8)}, b, 0, 0)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0");
}

}  // namespace
}  // namespace fb::rdma
