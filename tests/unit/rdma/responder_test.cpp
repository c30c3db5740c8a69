// The responder of reliable connections: order of its checks, receives, errors of both sides.

#include <cerrno>

#include "rdma/world.h"

namespace fb::rdma {
namespace {

TEST(Responder, SendLandsInTheReceiveAcrossPieces) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  w.put(0, 0, "hello, ");
  w.put(0, 100, "world");
  ASSERT_EQ(b.receive(9, {b.piece(0, 3), b.piece(100, 0), b.piece(200, 32)}), 0);
  SendWork send = work(1, Opcode::send_immediate, {a.piece(0, 7), a.piece(100, 5)});
  send.immediate = 0xdeadbeef;
  ASSERT_EQ(a.send(send), 0);
  w.run();
  const auto got = b.poll();
  ASSERT_EQ(summary(got), "9:0");
  EXPECT_EQ(got[0].bytes, 12u);
  EXPECT_EQ(got[0].immediate, 0xdeadbeef);
  EXPECT_EQ(got[0].flags, completion_flags::immediate);
  EXPECT_EQ(got[0].opcode, CompletionOpcode::receive);
  EXPECT_EQ(got[0].queue_pair, b.pair->number);
  EXPECT_EQ(w.get(1, 0, 3) + w.get(1, 200, 9), "hello, world");
  EXPECT_EQ(summary(a.poll()), "1:0");
}

TEST(Responder, WriteWithImmediateTakesAReceiveAndLeavesItsPiecesAlone) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  w.put(0, 0, "payload");
  w.put(1, 500, "untouched");
  ASSERT_EQ(b.receive(9, {b.piece(500, 9)}), 0);
  SendWork write = one_sided(1, Opcode::write_immediate, {a.piece(0, 7)}, b, 64);
  write.immediate = 77;
  ASSERT_EQ(a.send(write), 0);
  w.run();
  const auto got = b.poll();
  ASSERT_EQ(summary(got), "9:0");
  EXPECT_EQ(got[0].opcode, CompletionOpcode::receive_write_immediate);
  EXPECT_EQ(got[0].bytes, 7u);
  EXPECT_EQ(got[0].immediate, 77u);
  EXPECT_EQ(w.get(1, 64, 7), "payload");
  EXPECT_EQ(w.get(1, 500, 9), "untouched");
}

TEST(Responder, ReadFetchesAndCompletesWhenTheBytesAreHere) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  w.put(1, 32, "remote");
  ASSERT_EQ(a.send(one_sided(1, Opcode::read, {a.piece(0, 6)}, b, 32)), 0);
  w.run_for(World::kHop);
  EXPECT_TRUE(a.poll().empty());
  w.run();
  const auto got = a.poll();
  ASSERT_EQ(summary(got), "1:0");
  EXPECT_EQ(got[0].opcode, CompletionOpcode::read);
  EXPECT_EQ(got[0].bytes, 6u);
  EXPECT_EQ(w.get(0, 0, 6), "remote");
}

// Each row fails by two rules or more; the earlier one decides.
TEST(Responder, OrderOfChecks) {
  const auto outcome = [](uint32_t rights, bool receive, SendWork (*make)(const End&, const End&)) {
    World w;
    End a(w, 0), b(w, 1);
    connect(a, b);
    EXPECT_EQ(w.cards.modify(*b.pair, {.state = QpState::rts, .access_flags = rights},
                             attribute::state | attribute::access_flags),
              0);
    if (receive) {
      EXPECT_EQ(b.receive(9, {b.piece(0, 4)}), 0);
    }
    EXPECT_EQ(a.send(make(a, b)), 0);
    w.run();
    EXPECT_EQ(a.pair->state(), QpState::err);
    return summary(a.poll());
  };
  const auto bad_write = [](const End& a, const End& b) {
    SendWork write = one_sided(1, Opcode::write_immediate, {a.piece(0, 8)}, b, 0);
    write.remote_key += 0x1000;
    return write;
  };
  EXPECT_EQ(outcome(access::remote_read, false, bad_write), "1:9") << "rights of the pair before receives";
  EXPECT_EQ(outcome(access::remote_write, false, bad_write), "1:13") << "receives before keys";
  EXPECT_EQ(outcome(access::remote_write, true, bad_write), "1:10");
  EXPECT_EQ(outcome(0, true, [](const End& a, const End&) { return work(1, Opcode::send, {a.piece(0, 8)}); }), "1:9")
      << "longer than the receive";
  EXPECT_EQ(outcome(0, false, [](const End& a, const End&) { return work(1, Opcode::send, {a.piece(0, 8)}); }), "1:13");
  EXPECT_EQ(outcome(access::remote_atomic, false,
                    [](const End& a, const End& b) {
                      return one_sided(1, Opcode::fetch_and_add, {a.piece(0, 8)}, b, World::kBytes + 4);
                    }),
            "1:9")
      << "alignment before ranges";
}

TEST(Responder, RightsAndRangesOfRegions) {
  struct Row {
    Opcode opcode;
    uint32_t rights;
    uint64_t offset;
    uint32_t bytes;
    const char* expected;
  };
  constexpr uint32_t kLocal = access::local_write;
  const Row rows[] = {
      {Opcode::write, kLocal | access::remote_write, 0, 64, "1:0"},
      {Opcode::write, kLocal | access::remote_write, 1, 64, "1:10"},
      {Opcode::write, kLocal | access::remote_read, 0, 8, "1:10"},
      {Opcode::write, kLocal | access::remote_read, 4096, 0, "1:0"},  // no bytes, no check
      {Opcode::read, kLocal | access::remote_read, 0, 64, "1:0"},
      {Opcode::read, kLocal | access::remote_write, 0, 64, "1:10"},
      {Opcode::read, kLocal | access::remote_read, 60, 8, "1:10"},
      {Opcode::read, 0, 60, 0, "1:0"},
      {Opcode::fetch_and_add, kLocal | access::remote_atomic, 56, 8, "1:0"},
      {Opcode::fetch_and_add, kLocal | access::remote_atomic, 64, 8, "1:10"},
      {Opcode::compare_and_swap, kLocal | access::remote_write, 0, 8, "1:10"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(testing::Message() << int(row.opcode) << " " << row.offset << " " << row.bytes);
    World w;
    End a(w, 0), b(w, 1);
    connect(a, b);
    Region* small = nullptr;
    ASSERT_EQ(w.cards.make_region(*b.domain, World::kBase + 1024, 64, World::kBase + 1024, row.rights, small), 0);
    SendWork work = one_sided(1, row.opcode, {a.piece(0, row.bytes)}, b, 1024 + row.offset);
    work.remote_key = small->key;
    ASSERT_EQ(a.send(work), 0);
    w.run();
    EXPECT_EQ(summary(a.poll()), row.expected);
    const bool fails = std::string(row.expected) != "1:0";
    EXPECT_EQ(b.pair->state(), fails ? QpState::err : QpState::rts);
    EXPECT_EQ(w.count(AsyncEvent::qp_access_error, *b.pair), fails ? 1 : 0);
  }
}

TEST(Responder, KeysOfOthersAreWorthNothing) {
  World w(3);
  End a(w, 0), b(w, 1), c(w, 2);
  connect(a, b);
  // b's pair is in b's domain: c's key is not, even if it is known.
  ASSERT_EQ(a.send(one_sided(1, Opcode::write, {a.piece(0, 8)}, c, 0)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:10");
  // Nor can a name b's region as its own.
  World v;
  End x(v, 0), y(v, 1);
  connect(x, y);
  SendWork mine = one_sided(2, Opcode::write, {y.piece(0, 8)}, y, 0);
  ASSERT_EQ(x.send(mine), 0);
  v.run();
  EXPECT_EQ(summary(x.poll()), "2:4");
}

TEST(Responder, AnotherDomainOfTheSameProcessIsForeignToo) {
  World w;
  End a(w, 0), other(w, 0), b(w, 1);
  connect(a, b);
  ASSERT_EQ(a.send(work(2, Opcode::send, {other.piece(0, 8)})), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "2:4");
}

TEST(Responder, AfterAnErrorBothSidesFlush) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  ASSERT_EQ(a.receive(50, {a.piece(0, 8)}), 0);
  ASSERT_EQ(b.receive(60, {b.piece(0, 8)}), 0);
  ASSERT_EQ(a.send(one_sided(1, Opcode::write, {a.piece(0, 8)}, b, 0, 0)), 0);
  ASSERT_EQ(a.send(one_sided(2, Opcode::write, {a.piece(0, 8)}, b, World::kBytes, 0)), 0);
  ASSERT_EQ(a.send(one_sided(3, Opcode::write, {a.piece(0, 8)}, b, 0, 0)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "2:10 3:5 50:5");
  EXPECT_EQ(summary(b.poll()), "60:5");
}

TEST(Responder, AReceiveThatIsTooSmallOrForeign) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  ASSERT_EQ(b.receive(60, {b.piece(0, 4)}), 0);
  ASSERT_EQ(b.receive(61, {b.piece(0, 4)}), 0);
  ASSERT_EQ(a.send(work(1, Opcode::send, {a.piece(0, 8)})), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:9");
  EXPECT_EQ(summary(b.poll()), "60:1 61:5");

  World v;
  End x(v, 0), y(v, 1);
  connect(x, y);
  ASSERT_EQ(y.receive(60, {{World::kBase, 16, y.region->key + 0x100}}), 0);
  ASSERT_EQ(x.send(work(1, Opcode::send, {x.piece(0, 8)})), 0);
  v.run();
  EXPECT_EQ(summary(x.poll()), "1:11");
  EXPECT_EQ(summary(y.poll()), "60:4");
}

TEST(Responder, AtomicsAreExactAndReturnTheOldValue) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  w.set_word(1, 64, 40);
  SendWork add = one_sided(1, Opcode::fetch_and_add, {a.piece(0, 8)}, b, 64);
  add.compare_or_add = 2;
  ASSERT_EQ(a.send(add), 0);
  SendWork swap = one_sided(2, Opcode::compare_and_swap, {a.piece(8, 8)}, b, 64);
  swap.compare_or_add = 42;
  swap.swap = 7;
  ASSERT_EQ(a.send(swap), 0);
  swap.id = 3;
  swap.pieces = {a.piece(16, 4), a.piece(24, 4)};
  ASSERT_EQ(a.send(swap), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:0 2:0 3:0");
  EXPECT_EQ(w.word(0, 0), 40u);
  EXPECT_EQ(w.word(0, 8), 42u);
  EXPECT_EQ(w.word(0, 16) & 0xffffffff, 7u);
  EXPECT_EQ(w.word(1, 64), 7u);
  // Not eight bytes
  ASSERT_EQ(a.send(one_sided(4, Opcode::fetch_and_add, {a.piece(0, 4)}, b, 64)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "4:1");
}

TEST(Responder, NoResourcesForReadsMeansNoReads) {
  World w;
  End a(w, 0), b(w, 1);
  b.wish.reads_in = 0;
  connect(a, b);
  ASSERT_EQ(a.send(one_sided(1, Opcode::read, {a.piece(0, 8)}, b, 0)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:9");
  EXPECT_EQ(w.count(AsyncEvent::qp_request_error, *b.pair), 1);
  // More of them than it was made for
  World v;
  End x(v, 0), y(v, 1);
  x.wish.reads_out = 4;
  y.wish.reads_in = 1;
  connect(x, y);
  for (uint64_t id = 1; id <= 3; ++id) ASSERT_EQ(x.send(one_sided(id, Opcode::read, {x.piece(0, 4096)}, y, 0)), 0);
  v.run();
  EXPECT_EQ(summary(x.poll()), "1:0 2:9 3:5");
}

TEST(Responder, FirstPacketInRtrIsTold) {
  World w;
  End a(w, 0), b(w, 1);
  ASSERT_EQ(a.init() + b.init() + a.to_rtr(*b.pair) + b.to_rtr(*a.pair) + a.to_rts(), 0);
  ASSERT_EQ(a.send(one_sided(1, Opcode::write, {a.piece(0, 8)}, b, 0)), 0);
  ASSERT_EQ(a.send(one_sided(2, Opcode::write, {a.piece(0, 8)}, b, 0)), 0);
  w.run();
  EXPECT_EQ(w.count(AsyncEvent::communication_established, *b.pair), 1);
  EXPECT_EQ(summary(a.poll()), "1:0 2:0");
}

TEST(Responder, SharedReceivesServeSeveralPairsAndTellTheirLimitOnce) {
  World w(3);
  End a(w, 0), b(w, 1), server(w, 2, QpType::rc, true);
  QueuePair wanted, *second = nullptr;
  wanted.send_cq = wanted.receive_cq = server.cq;
  wanted.srq = server.srq;
  ASSERT_EQ(w.cards.make_queue_pair(*server.domain, wanted, second), 0);
  connect(a, server);
  End twin = server;
  twin.pair = second;
  connect(b, twin);
  EXPECT_EQ(server.receive(1, {}), EINVAL) << "receives go to the shared queue";
  for (uint64_t id = 1; id <= 4; ++id)
    ASSERT_EQ(w.cards.post(*server.srq, ReceiveWork{id, {server.piece(id * 64, 64)}}), 0);
  EXPECT_EQ(w.cards.set_limit(*server.srq, 1000), EINVAL);
  ASSERT_EQ(w.cards.set_limit(*server.srq, 3), 0);
  EXPECT_EQ(w.count(AsyncEvent::srq_limit_reached, *server.srq), 0);
  for (const End* end : {&a, &b}) {
    ASSERT_EQ(end->send(work(1, Opcode::send, {end->piece(0, 8)})), 0);
    ASSERT_EQ(end->send(work(2, Opcode::send, {end->piece(0, 8)})), 0);
  }
  w.run();
  EXPECT_EQ(w.count(AsyncEvent::srq_limit_reached, *server.srq), 1);
  const auto got = server.poll();
  EXPECT_EQ(summary(got), "1:0 2:0 3:0 4:0");
  int of_second = 0;
  for (const Completion& c : got) of_second += c.queue_pair == second->number;
  EXPECT_EQ(of_second, 2);
  // Armed when it is below already
  ASSERT_EQ(w.cards.set_limit(*server.srq, 1), 0);
  EXPECT_EQ(w.count(AsyncEvent::srq_limit_reached, *server.srq), 2);
  // A pair in error leaves shared receives alone, and says so.
  ASSERT_EQ(w.cards.post(*server.srq, ReceiveWork{8, {}}), 0);
  ASSERT_EQ(server.change(QpState::err), 0);
  EXPECT_TRUE(server.poll().empty());
  EXPECT_EQ(w.count(AsyncEvent::last_receive_reached, *server.pair), 1);
}

}  // namespace
}  // namespace fb::rdma
