// The requester of reliable connections: retries, fences, order, and a full send queue.

#include <cerrno>

#include "rdma/world.h"

namespace fb::rdma {
namespace {

constexpr Time kTimeout8 = Time{4'096'000} << 8;

TEST(Requester, ReceiverNotReadyIsTriedAgainSoOften) {
  World w;
  End a(w, 0), b(w, 1);
  a.wish.rnr_retry = 2;
  b.wish.rnr_timer = 14;  // 1.28 ms
  connect(a, b);
  ASSERT_EQ(a.send(work(1, Opcode::send, {a.piece(0, 8)})), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:13");
  EXPECT_GT(w.now(), 2 * 1280 * platform::kMicrosecond);
  EXPECT_LT(w.now(), 2 * 1300 * platform::kMicrosecond);
  EXPECT_EQ(b.pair->state(), QpState::rts) << "it has done nothing wrong";
}

TEST(Requester, AReceiveInTimeIsFound) {
  for (const uint32_t retries : {1u, 6u, 7u}) {
    World w;
    End a(w, 0), b(w, 1);
    a.wish.rnr_retry = retries;
    b.wish.rnr_timer = 14;
    connect(a, b);
    w.put(0, 0, "late");
    ASSERT_EQ(a.send(work(1, Opcode::send, {a.piece(0, 4)})), 0);
    ASSERT_EQ(a.send(work(2, Opcode::send, {a.piece(0, 4)})), 0);
    w.run_for(1000 * platform::kMicrosecond);
    ASSERT_EQ(b.receive(9, {b.piece(64, 4)}), 0);
    ASSERT_EQ(b.receive(10, {b.piece(80, 4)}), 0);
    w.run();
    EXPECT_EQ(summary(a.poll()), "1:0 2:0") << retries;
    EXPECT_EQ(summary(b.poll()), "9:0 10:0");
    EXPECT_EQ(w.get(1, 64, 4) + w.get(1, 80, 4), "latelate");
    EXPECT_GT(w.now(), 1280 * platform::kMicrosecond) << "after the receiver's timer";
  }
}

TEST(Requester, SevenMeansForEverAndIsSeenAsStuck) {
  World w;
  End a(w, 0), b(w, 1);
  a.wish.rnr_retry = 7;
  connect(a, b);
  ASSERT_EQ(a.send(work(5, Opcode::send, {a.piece(0, 4)})), 0);
  w.run();
  EXPECT_TRUE(a.poll().empty());
  const auto stuck = w.cards.stuck();
  ASSERT_EQ(stuck.size(), 1u);
  EXPECT_EQ(stuck[0].reason, Cards::Stuck::Reason::no_receive);
  EXPECT_EQ(stuck[0].pair, a.pair);
  EXPECT_EQ(stuck[0].peer, b.pair);
  EXPECT_EQ(stuck[0].work_id, 5u);
  // The sender begins anew; the one that starved is forgotten.
  ASSERT_EQ(a.change(QpState::reset), 0);
  EXPECT_TRUE(w.cards.stuck().empty() || w.cards.stuck()[0].work_id != 5u);
  ASSERT_EQ(a.init() + a.to_rtr(*b.pair) + a.to_rts(), 0);
  ASSERT_EQ(a.send(one_sided(6, Opcode::write, {a.piece(0, 4)}, b, 0)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "6:0");
}

TEST(Requester, AMissingPeerIsNoticedAfterAllTimeouts) {
  World w;
  End a(w, 0), b(w, 1);
  a.wish.timeout = 8;
  a.wish.retry_count = 2;
  ASSERT_EQ(a.init() + a.to_rtr(*b.pair) + a.to_rts(), 0);  // b is in RESET
  ASSERT_EQ(a.send(work(1, Opcode::send, {a.piece(0, 8)})), 0);
  ASSERT_EQ(a.send(work(2, Opcode::send, {a.piece(0, 8)}, 0)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:12 2:5");
  EXPECT_GE(w.now(), 3 * kTimeout8);
  EXPECT_LT(w.now(), 3 * kTimeout8 + 20 * platform::kMicrosecond);
}

// Requests behind one that is refused get no answer, and none has to wait for: no time passes for their timers.
TEST(Requester, NoTimeoutIsLeftOfRequestsThatWereFlushed) {
  World w;
  End a(w, 0), b(w, 1);
  a.wish.timeout = 8;
  connect(a, b);
  SendWork refused = one_sided(1, Opcode::write, {a.piece(0, 8)}, b, 0);
  refused.remote_key ^= 0x5a5a;
  ASSERT_EQ(a.send(refused), 0);
  for (uint64_t id = 2; id <= 4; ++id) ASSERT_EQ(a.send(one_sided(id, Opcode::write, {a.piece(0, 8)}, b, 0)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:10 2:5 3:5 4:5");
  EXPECT_LT(w.now(), kTimeout8);
}

TEST(Requester, ATimeoutOfZeroWaitsForEver) {
  World w;
  End a(w, 0), b(w, 1);
  a.wish.timeout = 0;
  ASSERT_EQ(a.init() + a.to_rtr(*b.pair) + a.to_rts(), 0);
  ASSERT_EQ(a.send(work(3, Opcode::send, {a.piece(0, 8)})), 0);
  w.run();
  ASSERT_EQ(w.cards.stuck().size(), 1u);
  EXPECT_EQ(w.cards.stuck()[0].reason, Cards::Stuck::Reason::peer_not_ready);
}

TEST(Requester, APeerThatBecomesReadyIsReached) {
  World w;
  End a(w, 0), b(w, 1);
  ASSERT_EQ(a.init() + b.init() + a.to_rtr(*b.pair) + a.to_rts(), 0);
  w.put(0, 0, "12345678");
  for (uint64_t id = 1; id <= 4; ++id)
    ASSERT_EQ(a.send(one_sided(id, Opcode::write, {a.piece(id - 1, 1)}, b, 64 + id - 1)), 0);
  w.run_for(1510 * platform::kNanosecond);  // the first ones are lost
  ASSERT_EQ(b.to_rtr(*a.pair), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0 2:0 3:0 4:0");
  EXPECT_EQ(w.get(1, 64, 4), "1234");
}

TEST(Requester, RepeatedRequestsHaveNoSecondEffect) {
  // The responder expects the second packet: the first is old to it, and is acknowledged without being executed.
  World w;
  End a(w, 0), b(w, 1);
  a.wish.send_psn = 99;
  connect(a, b);
  w.set_word(1, 64, 5);
  SendWork add = one_sided(1, Opcode::write, {a.piece(0, 8)}, b, 64);
  ASSERT_EQ(a.send(add), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0");
  EXPECT_EQ(w.word(1, 64), 5u);
  // A read is executed again.
  World v;
  End x(v, 0), y(v, 1);
  x.wish.send_psn = 99;
  connect(x, y);
  v.set_word(1, 64, 5);
  ASSERT_EQ(x.send(one_sided(1, Opcode::read, {x.piece(0, 8)}, y, 64)), 0);
  v.run();
  EXPECT_EQ(summary(x.poll()), "1:0");
  EXPECT_EQ(v.word(0, 0), 5u);
}

TEST(Requester, ASequenceThatNeverFitsIsAnError) {
  World w;
  End a(w, 0), b(w, 1);
  a.wish.send_psn = 500;  // the responder expects 100
  connect(a, b);
  ASSERT_EQ(a.send(one_sided(1, Opcode::write, {a.piece(0, 8)}, b, 64)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:12");
  EXPECT_EQ(w.word(1, 64), 0u);
}

TEST(Requester, CompletionsAreInOrderThoughAReadTakesLonger) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  ASSERT_EQ(a.send(one_sided(1, Opcode::read, {a.piece(0, 8192)}, b, 0)), 0);
  ASSERT_EQ(a.send(one_sided(2, Opcode::write, {a.piece(9000, 8)}, b, 9000)), 0);
  w.run_for(4 * World::kHop);
  EXPECT_TRUE(a.poll().empty()) << "the write is acknowledged, and waits for the read";
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0 2:0");
}

TEST(Requester, AFenceWaitsForReads) {
  const auto sent = [](uint32_t flags) {
    World w;
    End a(w, 0), b(w, 1);
    connect(a, b);
    w.put(1, 0, "new");
    w.put(0, 0, "old");
    EXPECT_EQ(a.send(one_sided(1, Opcode::read, {a.piece(0, 3)}, b, 0)), 0);
    EXPECT_EQ(a.send(one_sided(2, Opcode::write, {a.piece(0, 3)}, b, 64, flags)), 0);
    w.run();
    return w.get(1, 64, 3);
  };
  EXPECT_EQ(sent(send_flags::signaled), "old");
  EXPECT_EQ(sent(send_flags::signaled | send_flags::fence), "new");
}

TEST(Requester, ReadsAreOutstandingOnlySoMany) {
  const auto duration = [](uint32_t reads) {
    World w;
    End a(w, 0), b(w, 1);
    a.wish.reads_out = reads;
    connect(a, b);
    for (uint64_t id = 1; id <= 4; ++id) EXPECT_EQ(a.send(one_sided(id, Opcode::read, {a.piece(0, 8)}, b, 0)), 0);
    w.run();
    EXPECT_EQ(a.poll().size(), 4u);
    return w.now();
  };
  EXPECT_GT(duration(1), 4 * 2 * World::kHop);
  EXPECT_LT(duration(4), 2 * 2 * World::kHop);
}

TEST(Requester, InlineDataIsCopiedWhenPosted) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  SendWork write = one_sided(1, Opcode::write, {}, b, 64, send_flags::signaled | send_flags::inline_data);
  write.inlined.assign(5, std::byte{'x'});
  ASSERT_EQ(a.send(write), 0);
  write.inlined.resize(65);
  EXPECT_EQ(a.send(write), EINVAL) << "more than the queue pair's limit";
  write.inlined.resize(8);
  write.opcode = Opcode::read;
  EXPECT_EQ(a.send(write), EINVAL) << "there is nothing to send";
  w.run();
  EXPECT_EQ(w.get(1, 64, 5), "xxxxx");
}

TEST(Requester, ASendQueueIsFreedByPollingOnly) {
  World w;
  End a(w, 0, QpType::rc, false, 4), b(w, 1);
  connect(a, b);
  const auto post = [&](uint64_t id, uint32_t flags) {
    return a.send(one_sided(id, Opcode::write, {a.piece(0, 8)}, b, 0, flags));
  };
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_EQ(post(id, 0), 0);
  w.run();
  EXPECT_EQ(post(5, 0), ENOMEM) << "all are over, but none was polled";
  EXPECT_TRUE(a.poll().empty());

  End c(w, 0, QpType::rc, false, 4), d(w, 1);
  connect(c, d);
  const auto post_c = [&](uint64_t id, uint32_t flags) {
    return c.send(one_sided(id, Opcode::write, {c.piece(0, 8)}, d, 0, flags));
  };
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_EQ(post_c(id, id == 3 ? send_flags::signaled : 0), 0);
  w.run();
  EXPECT_EQ(post_c(5, 0), ENOMEM);
  EXPECT_EQ(summary(c.poll()), "3:0");
  for (uint64_t id = 5; id <= 7; ++id) EXPECT_EQ(post_c(id, 0), 0);
  EXPECT_EQ(post_c(8, 0), ENOMEM);
}

TEST(Requester, ABatchIsTakenAsAWholeOrNotAtAll) {
  World w;
  End a(w, 0, QpType::rc, false, 4), b(w, 1);
  connect(a, b);
  const auto batch_of = [&](uint64_t first, uint64_t last) {
    std::vector<SendWork> batch;
    for (uint64_t id = first; id <= last; ++id) batch.push_back(one_sided(id, Opcode::write, {a.piece(0, 8)}, b, 0));
    return batch;
  };
  EXPECT_EQ(w.cards.post(*a.pair, batch_of(1, 5)), ENOMEM) << "one more than there is room for";
  std::vector<SendWork> wrong = batch_of(1, 3);
  wrong[2].pieces.assign(9, a.piece(0, 1));
  EXPECT_EQ(w.cards.post(*a.pair, std::move(wrong)), EINVAL);
  EXPECT_EQ(a.pair->past.refused, 2u);
  w.run();
  EXPECT_TRUE(a.poll().empty());
  EXPECT_EQ(w.cards.post(*a.pair, batch_of(6, 9)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "6:0 7:0 8:0 9:0");
}

TEST(Requester, WhatAPairCanNotDo) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  EXPECT_EQ(a.send(work(1, Opcode::send, {5, a.piece(0, 1)})), EINVAL) << "too many pieces";
  EXPECT_EQ(b.receive(1, {5, b.piece(0, 1)}), EINVAL);
  for (int i = 0; i < 16; ++i) ASSERT_EQ(b.receive(1, {}), 0);
  EXPECT_EQ(b.receive(1, {}), ENOMEM);
  End u(w, 0, QpType::uc), v(w, 1, QpType::uc);
  connect(u, v);
  EXPECT_EQ(u.send(one_sided(1, Opcode::read, {u.piece(0, 8)}, v, 0)), EINVAL);
  EXPECT_EQ(u.send(one_sided(1, Opcode::fetch_and_add, {u.piece(0, 8)}, v, 0)), EINVAL);
}

TEST(Requester, LocalErrorsStopTheQueue) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  Region* read_only = nullptr;
  ASSERT_EQ(w.cards.make_region(*a.domain, World::kBase, 64, World::kBase, 0, read_only), 0);
  SendWork read = one_sided(1, Opcode::read, {{World::kBase, 8, read_only->key}}, b, 0);
  ASSERT_EQ(a.send(read), 0);
  ASSERT_EQ(a.send(one_sided(2, Opcode::write, {a.piece(0, 8)}, b, 0)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:4 2:5");
  EXPECT_EQ(a.pair->state(), QpState::err);
  EXPECT_EQ(b.pair->state(), QpState::rts) << "nothing has told it";
}

TEST(Requester, OneMessageLeavesBehindTheOther) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  constexpr uint32_t kBytes = 8192;  // a nanosecond each
  for (const uint64_t id : {1, 2, 3})
    ASSERT_EQ(a.send(one_sided(id, Opcode::write, {a.piece(0, kBytes)}, b, 16384)), 0);
  w.run();
  const auto got = a.poll();
  ASSERT_EQ(summary(got), "1:0 2:0 3:0");
  EXPECT_EQ(got[1].at - got[0].at, kBytes * platform::kNanosecond);
  EXPECT_EQ(got[2].at - got[1].at, kBytes * platform::kNanosecond);
}

TEST(Requester, ReadsAreAnsweredOneByOne) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  constexpr uint32_t kBytes = 8192;
  for (const uint64_t id : {1, 2, 3}) ASSERT_EQ(a.send(one_sided(id, Opcode::read, {a.piece(0, kBytes)}, b, 16384)), 0);
  w.run();
  const auto got = a.poll();
  ASSERT_EQ(summary(got), "1:0 2:0 3:0");
  // The card looks at the next one when the last byte of the one before has left.
  const Time each = kBytes * platform::kNanosecond + 10 * platform::kNanosecond;
  EXPECT_EQ(got[1].at - got[0].at, each);
  EXPECT_EQ(got[2].at - got[1].at, each);
}

}  // namespace
}  // namespace fb::rdma
