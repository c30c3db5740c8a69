// States of queue pairs: which changes are valid, with which attributes; what is lost and what is flushed.

#include <cerrno>

#include "rdma/world.h"
#include "virtual_node/rdma/transitions.h"

namespace fb::rdma {
namespace {

using namespace attribute;

constexpr std::array kStates = {QpState::reset, QpState::init, QpState::rtr, QpState::rts,
                                QpState::sqd,   QpState::sqe,  QpState::err};
constexpr std::array kTypes = {QpType::rc, QpType::uc, QpType::ud, QpType::xrc_send, QpType::xrc_receive};

// The attributes that the specification requires and allows, written as a table of its own.
struct Rule {
  QpState from, to;
  QpType type;
  uint32_t required, optional;
};
constexpr uint32_t kUcPath = alternate_path | access_flags | migration | current_state;
constexpr uint32_t kRcPath = kUcPath | rnr_timer;
const std::vector<Rule> kRules = {
    {QpState::reset, QpState::init, QpType::rc, pkey_index | port | access_flags, 0},
    {QpState::reset, QpState::init, QpType::uc, pkey_index | port | access_flags, 0},
    {QpState::reset, QpState::init, QpType::ud, pkey_index | port | qkey, 0},
    {QpState::init, QpState::init, QpType::rc, 0, pkey_index | port | access_flags},
    {QpState::init, QpState::init, QpType::uc, 0, pkey_index | port | access_flags},
    {QpState::init, QpState::init, QpType::ud, 0, pkey_index | port | qkey},
    {QpState::init, QpState::rtr, QpType::rc, address | path_mtu | remote_number | receive_psn | reads_in | rnr_timer,
     alternate_path | access_flags | pkey_index},
    {QpState::init, QpState::rtr, QpType::uc, address | path_mtu | remote_number | receive_psn,
     alternate_path | access_flags | pkey_index},
    {QpState::init, QpState::rtr, QpType::ud, 0, pkey_index | qkey},
    {QpState::rtr, QpState::rts, QpType::rc, timeout | retry_count | rnr_retry | send_psn | reads_out, kRcPath},
    {QpState::rtr, QpState::rts, QpType::uc, send_psn, kUcPath},
    {QpState::rtr, QpState::rts, QpType::ud, send_psn, current_state | qkey},
    {QpState::rts, QpState::rts, QpType::rc, 0, kRcPath},
    {QpState::rts, QpState::rts, QpType::uc, 0, kUcPath},
    {QpState::rts, QpState::rts, QpType::ud, 0, current_state | qkey},
    {QpState::rts, QpState::sqd, QpType::rc, 0, notify_drained},
    {QpState::rts, QpState::sqd, QpType::uc, 0, notify_drained},
    {QpState::rts, QpState::sqd, QpType::ud, 0, notify_drained},
    {QpState::sqd, QpState::rts, QpType::rc, 0, kRcPath},
    {QpState::sqd, QpState::rts, QpType::uc, 0, kUcPath},
    {QpState::sqd, QpState::rts, QpType::ud, 0, current_state | qkey},
    {QpState::sqd, QpState::sqd, QpType::rc, 0,
     port | address | timeout | retry_count | rnr_retry | reads_out | reads_in | alternate_path | access_flags |
         pkey_index | rnr_timer | migration},
    {QpState::sqd, QpState::sqd, QpType::uc, 0, address | alternate_path | access_flags | pkey_index | migration},
    {QpState::sqd, QpState::sqd, QpType::ud, 0, pkey_index | qkey},
    {QpState::sqe, QpState::rts, QpType::uc, 0, current_state | access_flags},
    {QpState::sqe, QpState::rts, QpType::ud, 0, current_state | qkey},
    // XRC: half a connection each.
    {QpState::reset, QpState::init, QpType::xrc_send, pkey_index | port | access_flags, 0},
    {QpState::reset, QpState::init, QpType::xrc_receive, pkey_index | port | access_flags, 0},
    {QpState::init, QpState::init, QpType::xrc_send, 0, pkey_index | port | access_flags},
    {QpState::init, QpState::init, QpType::xrc_receive, 0, pkey_index | port | access_flags},
    {QpState::init, QpState::rtr, QpType::xrc_send, address | path_mtu | remote_number | receive_psn,
     alternate_path | access_flags | pkey_index},
    {QpState::init, QpState::rtr, QpType::xrc_receive,
     address | path_mtu | remote_number | receive_psn | reads_in | rnr_timer,
     alternate_path | access_flags | pkey_index},
    {QpState::rtr, QpState::rts, QpType::xrc_send, timeout | retry_count | rnr_retry | send_psn | reads_out, kUcPath},
    {QpState::rtr, QpState::rts, QpType::xrc_receive, timeout | send_psn, kRcPath},
    {QpState::rts, QpState::rts, QpType::xrc_send, 0, kUcPath},
    {QpState::rts, QpState::rts, QpType::xrc_receive, 0, kRcPath},
    {QpState::rts, QpState::sqd, QpType::xrc_send, 0, notify_drained},
    {QpState::rts, QpState::sqd, QpType::xrc_receive, 0, notify_drained},
    {QpState::sqd, QpState::rts, QpType::xrc_send, 0, kUcPath},
    {QpState::sqd, QpState::rts, QpType::xrc_receive, 0, kRcPath},
    {QpState::sqd, QpState::sqd, QpType::xrc_send, 0,
     port | address | timeout | retry_count | rnr_retry | reads_out | alternate_path | access_flags | pkey_index |
         migration},
    {QpState::sqd, QpState::sqd, QpType::xrc_receive, 0,
     port | address | timeout | reads_in | alternate_path | access_flags | pkey_index | rnr_timer | migration},
};

const Rule* rule_of(QpType type, QpState from, QpState to) {
  for (const Rule& rule : kRules) {
    if (rule.type == type && rule.from == from && rule.to == to) return &rule;
  }
  return nullptr;
}

TEST(Transitions, EveryPairOfStatesWithEverySingleBitMoreOrLess) {
  int valid = 0;
  for (const QpType type : kTypes) {
    for (const QpState from : kStates) {
      for (const QpState to : kStates) {
        SCOPED_TRACE(testing::Message() << int(type) << ": " << int(from) << " to " << int(to));
        const Rule* const rule = rule_of(type, from, to);
        const bool ends = to == QpState::reset || (to == QpState::err && from != QpState::reset);
        const uint32_t required = rule ? rule->required : 0, optional = rule ? rule->optional : 0;
        EXPECT_EQ(is_valid_change(type, from, to, state | required), rule != nullptr || ends);
        valid += rule != nullptr || ends;
        for (uint32_t bit = 1; bit <= remote_number; bit <<= 1) {
          if (bit == state) continue;
          const bool is_required = (required & bit) != 0, is_allowed = ((required | optional) & bit) != 0;
          if (rule) {
            EXPECT_EQ(is_valid_change(type, from, to, state | (required ^ (is_required ? bit : 0))), !is_required);
          }
          EXPECT_EQ(is_valid_change(type, from, to, state | required | bit), rule != nullptr && is_allowed) << bit;
        }
      }
    }
  }
  EXPECT_EQ(valid, static_cast<int>(kTypes.size() * (7 + 6) + kRules.size()));
}

TEST(States, ARefusedChangeChangesNothing) {
  World w;
  End a(w, 0), b(w, 1);
  ASSERT_EQ(a.init(), 0);
  QpAttributes wrong = a.wish;
  const uint32_t mask = state | address | path_mtu | remote_number | receive_psn | reads_in | rnr_timer;
  wrong.path_mtu = 8192;
  EXPECT_EQ(w.cards.modify(*a.pair, wrong, mask), EINVAL);
  wrong = a.wish;
  wrong.reads_in = 17;
  EXPECT_EQ(w.cards.modify(*a.pair, wrong, mask), EINVAL);
  wrong = a.wish;
  wrong.rnr_timer = 32;
  EXPECT_EQ(w.cards.modify(*a.pair, wrong, mask), EINVAL);
  EXPECT_EQ(a.pair->state(), QpState::init);
  EXPECT_EQ(a.pair->attributes.remote_number, 0u);
  ASSERT_EQ(a.to_rtr(*b.pair), 0);
  wrong = a.wish;
  wrong.state = QpState::rts;
  const uint32_t to_rts = state | timeout | retry_count | rnr_retry | send_psn | reads_out;
  for (const auto change : {&QpAttributes::retry_count, &QpAttributes::rnr_retry}) {
    QpAttributes more = wrong;
    more.*change = 8;
    EXPECT_EQ(w.cards.modify(*a.pair, more, to_rts), EINVAL);
  }
  wrong.current = QpState::rts;
  EXPECT_EQ(w.cards.modify(*a.pair, wrong, to_rts | current_state), EINVAL) << "it is in RTR";
  wrong.current = QpState::rtr;
  EXPECT_EQ(w.cards.modify(*a.pair, wrong, to_rts | current_state), 0);
  QpAttributes port_2{.state = QpState::init, .port = 2};
  End c(w, 0);
  EXPECT_EQ(w.cards.modify(*c.pair, port_2, state | pkey_index | port | access_flags), EINVAL);
}

TEST(States, PostsByState) {
  World w;
  End a(w, 0), b(w, 1);
  const auto send = [&] { return a.send(work(1, Opcode::send, {a.piece(0, 8)})); };
  EXPECT_EQ(a.receive(1, {a.piece(0, 8)}), EINVAL) << "reset";
  EXPECT_EQ(send(), EINVAL);
  ASSERT_EQ(a.init(), 0);
  EXPECT_EQ(a.receive(1, {a.piece(0, 8)}), 0);
  EXPECT_EQ(send(), EINVAL) << "init";
  ASSERT_EQ(a.to_rtr(*b.pair), 0);
  EXPECT_EQ(send(), EINVAL) << "rtr";
  ASSERT_EQ(a.to_rts(), 0);
  EXPECT_EQ(send(), 0);
  ASSERT_EQ(a.change(QpState::err), 0);
  EXPECT_EQ(summary(a.poll()), "1:5 1:5");
  EXPECT_EQ(send(), 0) << "err: it is flushed";
  EXPECT_EQ(a.receive(7, {}), 0);
  EXPECT_EQ(summary(a.poll()), "1:5 7:5");
  EXPECT_EQ(a.change(QpState::rts), EINVAL);
  EXPECT_EQ(a.change(QpState::err), 0);
  EXPECT_EQ(a.change(QpState::reset), 0);
  EXPECT_EQ(a.change(QpState::err), EINVAL);
}

TEST(States, FlushIsInOrderSendsThenReceivesAndUnsignaledOnesToo) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  ASSERT_EQ(a.receive(10, {a.piece(0, 8)}), 0);
  ASSERT_EQ(a.receive(11, {a.piece(0, 8)}), 0);
  for (uint64_t id = 1; id <= 3; ++id) ASSERT_EQ(a.send(work(id, Opcode::send, {a.piece(0, 8)}, 0)), 0);
  ASSERT_EQ(a.change(QpState::err), 0);
  EXPECT_EQ(summary(a.poll()), "1:5 2:5 3:5 10:5 11:5");
  w.run();
  EXPECT_TRUE(a.poll().empty()) << "nothing completes twice";
}

TEST(States, ResetTakesCompletionsAlong) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  ASSERT_EQ(b.receive(5, {b.piece(0, 8)}), 0);
  ASSERT_EQ(a.send(work(1, Opcode::send, {a.piece(0, 8)})), 0);
  w.run();
  ASSERT_EQ(b.change(QpState::reset), 0);
  EXPECT_TRUE(b.poll().empty());
  EXPECT_EQ(summary(a.poll()), "1:0");
}

TEST(States, AResetPairCanBeConnectedAgain) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  ASSERT_EQ(a.send(one_sided(1, Opcode::write, {a.piece(0, 8)}, b, World::kBytes)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "1:10");
  EXPECT_EQ(b.pair->state(), QpState::err);
  ASSERT_EQ(a.change(QpState::reset), 0);
  ASSERT_EQ(b.change(QpState::reset), 0);
  connect(a, b);
  w.put(0, 0, "again");
  ASSERT_EQ(a.send(one_sided(2, Opcode::write, {a.piece(0, 5)}, b, 64)), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "2:0");
  EXPECT_EQ(w.get(1, 64, 5), "again");
}

TEST(States, DrainedSendQueueTellsOnceAndKeepsNewWork) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  ASSERT_EQ(a.send(one_sided(1, Opcode::write, {a.piece(0, 8)}, b, 0)), 0);
  w.run_for(600 * platform::kNanosecond);  // it has left
  ASSERT_EQ(w.cards.modify(*a.pair, {.state = QpState::sqd, .notify_drained = true}, state | notify_drained), 0);
  EXPECT_EQ(w.count(AsyncEvent::sq_drained, *a.pair), 0);
  ASSERT_EQ(a.send(one_sided(2, Opcode::write, {a.piece(0, 8)}, b, 0)), 0);
  w.run();
  EXPECT_EQ(w.count(AsyncEvent::sq_drained, *a.pair), 1);
  EXPECT_EQ(summary(a.poll()), "1:0");
  ASSERT_EQ(a.change(QpState::rts), 0);
  w.run();
  EXPECT_EQ(summary(a.poll()), "2:0");
  EXPECT_EQ(w.count(AsyncEvent::sq_drained, *a.pair), 1);
}

TEST(States, ObjectsInUseAreBusy) {
  World w;
  End a(w, 0, QpType::rc, true);
  EXPECT_EQ(w.cards.destroy(*a.domain), EBUSY);
  EXPECT_EQ(w.cards.destroy(*a.cq), EBUSY);
  EXPECT_EQ(w.cards.destroy(*a.srq), EBUSY);
  EXPECT_EQ(w.cards.destroy(*a.pair), 0);
  EXPECT_EQ(w.cards.destroy(*a.cq), 0);
  EXPECT_EQ(w.cards.destroy(*a.domain), EBUSY);
  EXPECT_EQ(w.cards.destroy(*a.srq), 0);
  EXPECT_EQ(w.cards.destroy(*a.region), 0);
  EXPECT_EQ(w.cards.destroy(*a.domain), 0);
}

TEST(States, AProcessThatEndsTakesItsObjectsWithIt) {
  World w;
  End a(w, 0), b(w, 1);
  connect(a, b);
  const uint64_t domain = a.domain->id, pair = a.pair->id;
  ASSERT_EQ(b.send(one_sided(1, Opcode::write, {b.piece(0, 8)}, a, 0)), 0);
  w.cards.remove_process(0);
  EXPECT_EQ(w.cards.find<Domain>(0, domain), nullptr);
  EXPECT_EQ(w.cards.find<QueuePair>(0, pair), nullptr);
  w.run();
  EXPECT_EQ(summary(b.poll()), "1:12") << "its peer gives up";
}

TEST(States, LimitsOfACard) {
  World w(1, {.objects = 4});
  Domain* domain = nullptr;
  EXPECT_EQ(w.cards.make_domain(0, 1, domain), EINVAL) << "there is one card";
  ASSERT_EQ(w.cards.make_domain(0, 0, domain), 0);
  CompletionQueue* cq = nullptr;
  EXPECT_EQ(w.cards.make_completion_queue(0, 0, 0, cq), EINVAL);
  EXPECT_EQ(w.cards.make_completion_queue(0, 0, w.cards.limits().completions + 1, cq), EINVAL);
  ASSERT_EQ(w.cards.make_completion_queue(0, 0, 100, cq), 0);
  EXPECT_EQ(cq->capacity, 127u);
  QueuePair wanted, *pair = nullptr;
  wanted.type = static_cast<QpType>(8);
  EXPECT_EQ(w.cards.make_queue_pair(*domain, wanted, pair), EOPNOTSUPP);
  wanted.type = QpType::xrc_receive;
  EXPECT_EQ(w.cards.make_queue_pair(*domain, wanted, pair), EOPNOTSUPP) << "such are made without a protection domain";
  wanted.type = QpType::rc;
  EXPECT_EQ(w.cards.make_queue_pair(*domain, wanted, pair), EINVAL) << "no completion queue";
  wanted.send_cq = wanted.receive_cq = cq;
  for (const auto limit : {&QpLimits::sends, &QpLimits::receives, &QpLimits::send_pieces, &QpLimits::receive_pieces,
                           &QpLimits::inline_bytes}) {
    QueuePair more = wanted;
    more.limits.*limit = 1 << 20;
    EXPECT_EQ(w.cards.make_queue_pair(*domain, more, pair), EINVAL);
  }
  ASSERT_EQ(w.cards.make_queue_pair(*domain, wanted, pair), 0);
  EXPECT_GE(pair->number, 16u) << "small numbers are special";
  Region* region = nullptr;
  ASSERT_EQ(w.cards.make_region(*domain, World::kBase, 64, World::kBase, access::local_write, region), 0);
  EXPECT_EQ(w.cards.make_region(*domain, World::kBase, 64, World::kBase, access::local_write, region), ENOMEM);
}

}  // namespace
}  // namespace fb::rdma
