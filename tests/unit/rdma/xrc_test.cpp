// XRC: shared receive queues that messages name, receiving queue pairs without memory of their own, and domains that
// processes share.

#include <cerrno>

#include "rdma/world.h"

namespace fb::rdma {
namespace {

// Process 0 on card 0 sends to queues of processes on card 1.
struct XrcWorld {
  World w{3};
  End sender{w, 0, QpType::xrc_send};
  Domain* domain = nullptr;
  CompletionQueue* cq = nullptr;
  Region* region = nullptr;
  XrcDomain* xrc = nullptr;
  SharedReceiveQueue* srq = nullptr;
  QueuePair* target = nullptr;

  XrcWorld() {
    EXPECT_EQ(w.cards.make_domain(1, 1, domain), 0);
    EXPECT_EQ(w.cards.make_completion_queue(1, 1, 64, cq), 0);
    EXPECT_EQ(w.cards.make_region(*domain, World::kBase, World::kBytes, World::kBase, kAllRights, region), 0);
    EXPECT_EQ(w.cards.make_xrc_domain(1, 1, 77, xrc), 0);
    EXPECT_EQ(w.cards.make_shared_receive_queue(*domain, 16, 4, srq, xrc, cq), 0);
    EXPECT_EQ(w.cards.make_xrc_target(*xrc, target), 0);
    join(7);
  }
  void join(uint32_t rnr_retry) {
    using namespace attribute;
    QpAttributes a = sender.wish;
    a.rnr_retry = rnr_retry;
    a.state = QpState::init;
    a.access_flags = kAllRights & ~access::bind;
    a.port = 1;
    for (QueuePair* pair : {sender.pair, target})
      EXPECT_EQ(w.cards.modify(*pair, a, state | pkey_index | port | access_flags), 0);
    a.state = QpState::rtr;
    const uint32_t peer = state | address | path_mtu | remote_number | receive_psn;
    a.remote_card = 1;
    a.remote_number = target->number;
    EXPECT_EQ(w.cards.modify(*sender.pair, a, peer), 0);
    a.remote_card = 0;
    a.remote_number = sender.pair->number;
    EXPECT_EQ(w.cards.modify(*target, a, peer | reads_in | rnr_timer), 0);
    a.state = QpState::rts;
    EXPECT_EQ(w.cards.modify(*sender.pair, a, state | timeout | retry_count | rnr_retry_bit() | send_psn | reads_out),
              0);
    EXPECT_EQ(w.cards.modify(*target, a, state | timeout | send_psn), 0);
  }
  static uint32_t rnr_retry_bit() { return attribute::rnr_retry; }
  SendWork message(uint64_t id, uint32_t queue) const {
    SendWork s = work(id, Opcode::send, {sender.piece(0, 5)});
    s.remote_srq = queue;
    return s;
  }
  std::vector<Completion> received(CompletionQueue& from) {
    std::vector<Completion> got;
    w.cards.poll(from, 100, got);
    return got;
  }
  Piece piece(uint64_t offset, uint32_t size) const { return {World::kBase + offset, size, region->key}; }
};

TEST(Xrc, AMessageNamesItsQueue) {
  XrcWorld x;
  SharedReceiveQueue* second = nullptr;
  CompletionQueue* second_cq = nullptr;
  ASSERT_EQ(x.w.cards.make_completion_queue(1, 1, 64, second_cq), 0);
  ASSERT_EQ(x.w.cards.make_shared_receive_queue(*x.domain, 16, 4, second, x.xrc, second_cq), 0);
  ASSERT_NE(x.srq->number, second->number);
  ASSERT_EQ(x.w.cards.post(*x.srq, ReceiveWork{1, {x.piece(100, 64)}}), 0);
  ASSERT_EQ(x.w.cards.post(*second, ReceiveWork{2, {x.piece(200, 64)}}), 0);
  x.w.put(0, 0, "hello");
  ASSERT_EQ(x.sender.send(x.message(10, second->number)), 0);
  ASSERT_EQ(x.sender.send(x.message(11, x.srq->number)), 0);
  x.w.run();
  EXPECT_EQ(summary(x.sender.poll()), "10:0 11:0");
  EXPECT_EQ(summary(x.received(*x.cq)), "1:0");
  const auto got = x.received(*second_cq);
  ASSERT_EQ(summary(got), "2:0");
  EXPECT_EQ(got[0].queue_pair, x.target->number);
  EXPECT_EQ(x.w.get(1, 100, 5), "hello");
  EXPECT_EQ(x.w.get(1, 200, 5), "hello");
}

TEST(Xrc, AQueueThatIsNotThereIsAnInvalidRequest) {
  XrcWorld x;
  ASSERT_EQ(x.sender.send(x.message(1, x.srq->number + 1000)), 0);
  x.w.run();
  EXPECT_EQ(summary(x.sender.poll()), "1:9");
  EXPECT_EQ(x.target->state(), QpState::err);
  EXPECT_EQ(x.w.count(AsyncEvent::qp_request_error, *x.target), 1);
}

TEST(Xrc, QueuesOfOtherDomainsAreNotThere) {
  XrcWorld x;
  XrcDomain* other = nullptr;
  SharedReceiveQueue* foreign = nullptr;
  ASSERT_EQ(x.w.cards.make_xrc_domain(1, 1, 78, other), 0);
  ASSERT_EQ(x.w.cards.make_shared_receive_queue(*x.domain, 16, 4, foreign, other, x.cq), 0);
  ASSERT_EQ(x.w.cards.post(*foreign, ReceiveWork{1, {x.piece(100, 64)}}), 0);
  ASSERT_EQ(x.sender.send(x.message(1, foreign->number)), 0);
  x.w.run();
  EXPECT_EQ(summary(x.sender.poll()), "1:9");
  SharedReceiveQueue* plain = nullptr;
  ASSERT_EQ(x.w.cards.make_shared_receive_queue(*x.domain, 16, 4, plain), 0);
  QueuePair wanted, *pair = nullptr;
  wanted.send_cq = wanted.receive_cq = x.cq;
  wanted.srq = foreign;
  EXPECT_EQ(x.w.cards.make_queue_pair(*x.domain, wanted, pair), EINVAL) << "a queue of XRC serves no other";
  wanted.srq = plain;
  EXPECT_EQ(x.w.cards.make_queue_pair(*x.domain, wanted, pair), 0);
}

TEST(Xrc, AnEmptyQueueIsWaitedFor) {
  XrcWorld x;
  ASSERT_EQ(x.sender.send(x.message(1, x.srq->number)), 0);
  x.w.run();
  EXPECT_EQ(summary(x.sender.poll()), "");
  ASSERT_EQ(x.w.cards.stuck().size(), 1u);
  EXPECT_EQ(x.w.cards.stuck()[0].reason, Cards::Stuck::Reason::no_receive);
  ASSERT_EQ(x.w.cards.post(*x.srq, ReceiveWork{5, {x.piece(0, 64)}}), 0);
  x.w.run();
  EXPECT_EQ(summary(x.sender.poll()), "1:0");
  EXPECT_EQ(summary(x.received(*x.cq)), "5:0");
}

TEST(Xrc, RemoteMemoryIsThatOfTheNamedQueuesDomain) {
  XrcWorld x;
  Domain* other = nullptr;
  Region* foreign = nullptr;
  ASSERT_EQ(x.w.cards.make_domain(1, 1, other), 0);
  ASSERT_EQ(x.w.cards.make_region(*other, World::kBase, 64, World::kBase, kAllRights, foreign), 0);
  x.w.put(0, 0, "words");
  SendWork write = work(1, Opcode::write, {x.sender.piece(0, 5)});
  write.remote_srq = x.srq->number;
  write.remote_address = World::kBase + 300;
  write.remote_key = x.region->key;
  ASSERT_EQ(x.sender.send(write), 0);
  x.w.run();
  EXPECT_EQ(summary(x.sender.poll()), "1:0");
  EXPECT_EQ(x.w.get(1, 300, 5), "words");
  write.remote_address = World::kBase;
  write.remote_key = foreign->key;
  ASSERT_EQ(x.sender.send(write), 0);
  x.w.run();
  EXPECT_EQ(summary(x.sender.poll()), "1:10");
}

TEST(Xrc, HalvesDoOneThingOnly) {
  XrcWorld x;
  EXPECT_EQ(x.w.cards.post(*x.target, x.message(1, x.srq->number)), EINVAL);
  EXPECT_NE(x.w.cards.post(*x.target, ReceiveWork{1, {}}), 0);
  EXPECT_NE(x.w.cards.post(*x.sender.pair, ReceiveWork{1, {}}), 0);
  QueuePair wanted, *pair = nullptr;
  wanted.type = QpType::xrc_send;
  wanted.send_cq = x.cq;
  wanted.limits.receives = 4;
  EXPECT_EQ(x.w.cards.make_queue_pair(*x.domain, wanted, pair), EINVAL);
  wanted.limits.receives = 0;
  EXPECT_EQ(x.w.cards.make_queue_pair(*x.domain, wanted, pair), 0);
  SharedReceiveQueue* half = nullptr;
  EXPECT_EQ(x.w.cards.make_shared_receive_queue(*x.domain, 16, 4, half, x.xrc, nullptr), EINVAL);
}

TEST(Xrc, DomainsAreSharedByIdentityOnOneCard) {
  XrcWorld x;
  XrcDomain *same = nullptr, *other = nullptr, *own = nullptr;
  EXPECT_TRUE(x.w.cards.is_known_xrc(1, 77));
  EXPECT_FALSE(x.w.cards.is_known_xrc(0, 77));
  // Process 2 works on card 1, too.
  ASSERT_EQ(x.w.cards.make_xrc_domain(2, 1, 77, same), 0);
  ASSERT_EQ(x.w.cards.make_xrc_domain(2, 1, 78, other), 0);
  ASSERT_EQ(x.w.cards.make_xrc_domain(2, 1, 0, own), 0);
  QueuePair* opened = nullptr;
  EXPECT_EQ(x.w.cards.open_xrc_target(*other, x.target->number, opened), EINVAL);
  EXPECT_EQ(x.w.cards.open_xrc_target(*own, x.target->number, opened), EINVAL);
  EXPECT_EQ(x.w.cards.open_xrc_target(*same, x.target->number + 1, opened), EINVAL);
  ASSERT_EQ(x.w.cards.open_xrc_target(*same, x.target->number, opened), 0);
  EXPECT_EQ(opened, x.target);
  EXPECT_EQ(x.w.cards.find_queue_pair(2, opened->id), opened);
  EXPECT_EQ(x.w.cards.find_queue_pair(3, opened->id), nullptr);
  EXPECT_EQ(x.w.cards.destroy(*same), EBUSY);

  // A queue of the other process, in its own memory.
  Domain* domain = nullptr;
  CompletionQueue* cq = nullptr;
  Region* region = nullptr;
  SharedReceiveQueue* srq = nullptr;
  ASSERT_EQ(x.w.cards.make_domain(2, 1, domain), 0);
  ASSERT_EQ(x.w.cards.make_completion_queue(2, 1, 64, cq), 0);
  ASSERT_EQ(x.w.cards.make_region(*domain, World::kBase, 64, World::kBase, kAllRights, region), 0);
  ASSERT_EQ(x.w.cards.make_shared_receive_queue(*domain, 16, 4, srq, same, cq), 0);
  ASSERT_EQ(x.w.cards.post(*srq, ReceiveWork{9, {{World::kBase, 64, region->key}}}), 0);
  x.w.put(0, 0, "other");
  ASSERT_EQ(x.sender.send(x.message(1, srq->number)), 0);
  x.w.run();
  EXPECT_EQ(summary(x.sender.poll()), "1:0");
  EXPECT_EQ(summary(x.received(*cq)), "9:0");
  EXPECT_EQ(x.w.get(2, 0, 5), "other");

  // The one that has made it ends: the queue pair stays with the other, and works.
  x.w.cards.remove_process(1);
  ASSERT_EQ(x.w.cards.find_queue_pair(2, opened->id), opened);
  ASSERT_EQ(x.w.cards.post(*srq, ReceiveWork{8, {{World::kBase, 64, region->key}}}), 0);
  ASSERT_EQ(x.sender.send(x.message(2, srq->number)), 0);
  x.w.run();
  EXPECT_EQ(summary(x.sender.poll()), "2:0");
  EXPECT_FALSE(x.w.cards.close_opened(*opened, 2)) << "the last one destroys it";
  EXPECT_EQ(x.w.cards.destroy(*opened), 0);
  x.w.cards.remove_process(2);
}

TEST(Xrc, AQueueThatIsDestroyedLetsItsSenderDown) {
  XrcWorld x;
  ASSERT_EQ(x.sender.send(x.message(1, x.srq->number)), 0);
  x.w.run();
  EXPECT_EQ(x.w.cards.destroy(*x.cq), EBUSY);
  EXPECT_EQ(x.w.cards.destroy(*x.srq), 0);
  EXPECT_EQ(x.w.cards.destroy(*x.cq), 0);
  x.w.run();
  // It tries again after its timer, and hears that there is no such queue.
  EXPECT_EQ(summary(x.sender.poll()), "1:9");
}

}  // namespace
}  // namespace fb::rdma
