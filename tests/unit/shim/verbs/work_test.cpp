// Work requests: lists of which a part is wrong, payloads that are read at once, requests that are built call by call,
// and how their completions are polled.

#include <cerrno>
#include <cstring>

#include "tests/unit/shim/requests.h"
#include "tests/unit/shim/verbs/ends.h"

namespace {

using VerbsWork = fb::Verbs;
using fb::End;

std::vector<uint64_t> ids_of(const std::vector<ibv_wc>& completions) {
  std::vector<uint64_t> ids;
  for (const ibv_wc& wc : completions) {
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    ids.push_back(wc.wr_id);
  }
  return ids;
}
bool is_empty(ibv_cq* cq) {
  ibv_wc wc{};
  return ibv_poll_cq(cq, 1, &wc) == 0;
}
template <class Request>
void chain(std::vector<Request>& requests) {
  for (size_t k = 0; k + 1 < requests.size(); ++k) requests[k].next = &requests[k + 1];
}

TEST_F(VerbsWork, WhatComesBeforeAWrongRequestIsPosted) {
  End a(list_[0]), b(list_[1]);
  connect(a, b);
  ibv_sge three[3] = {a.piece(0, 8), a.piece(8, 8), a.piece(16, 8)};
  std::vector<ibv_send_wr> list(4);
  for (size_t k = 0; k < list.size(); ++k) list[k] = a.write(k + 1, three, 1, b);
  chain(list);
  ibv_send_wr* bad = nullptr;
  for (const auto& [name, change] :
       {std::pair<const char*, void (*)(ibv_send_wr&)>{"pieces", [](ibv_send_wr& w) { w.num_sge = 3; }},
        {"negative", [](ibv_send_wr& w) { w.num_sge = -1; }},
        {"opcode", [](ibv_send_wr& w) { w.opcode = fb::no_such<ibv_wr_opcode>(0x0a); }},
        {"inline", [](ibv_send_wr& w) { w.send_flags |= IBV_SEND_INLINE; }}}) {
    SCOPED_TRACE(name);
    const ibv_send_wr right = list[2];
    change(list[2]);
    if (std::strcmp(name, "inline") == 0) three[0].length = 65;  // one byte more than the queue pair takes inline
    EXPECT_EQ(ibv_post_send(a.qp, list.data(), &bad), EINVAL);
    EXPECT_EQ(bad, &list[2]);
    EXPECT_EQ(ids_of(a.next(2)), (std::vector<uint64_t>{1, 2}));
    EXPECT_TRUE(is_empty(a.cq));
    list[2] = right;
  }
  // The first is wrong: nothing is posted, and the machine is not asked.
  list[0].num_sge = 9;
  EXPECT_LOCAL(ibv_post_send(a.qp, list.data(), &bad), EINVAL);
  EXPECT_EQ(bad, &list[0]);
  EXPECT_TRUE(is_empty(a.cq));
}

TEST_F(VerbsWork, AFullQueueTakesTheFirstOfAList) {
  End a(list_[0]), b(list_[1]);
  connect(a, b);
  ibv_sge piece = a.piece(0, 8);
  std::vector<ibv_send_wr> list(11);
  for (size_t k = 0; k < list.size(); ++k) list[k] = a.write(k, &piece, 1, b);
  chain(list);
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(a.qp, list.data(), &bad), ENOMEM);
  ASSERT_EQ(bad, &list[8]);
  EXPECT_EQ(a.next(8).back().wr_id, 7u);
  // What was refused can be posted again as it is.
  EXPECT_EQ(ibv_post_send(a.qp, bad, &bad), 0);
  EXPECT_EQ(ids_of(a.next(3)), (std::vector<uint64_t>{8, 9, 10}));

  std::vector<ibv_recv_wr> receives(10);
  ibv_sge into = b.piece(0, 8);
  for (size_t k = 0; k < receives.size(); ++k) receives[k] = {k, nullptr, &into, 1};
  chain(receives);
  ibv_recv_wr* bad_receive = nullptr;
  receives[1].num_sge = 3;
  EXPECT_EQ(ibv_post_recv(b.qp, receives.data(), &bad_receive), EINVAL);
  EXPECT_EQ(bad_receive, &receives[1]);
  receives[1].num_sge = 1;
  EXPECT_EQ(ibv_post_recv(b.qp, receives.data(), &bad_receive), ENOMEM);
  EXPECT_EQ(bad_receive, &receives[7]) << "one was posted before";
}

// More than one message to the machine holds.
TEST_F(VerbsWork, AListMayBeLongerThanAMessage) {
  constexpr size_t kRequests = 9000;
  End a(list_[0], 0, kRequests), b(list_[1]);
  connect(a, b);
  ibv_sge piece = a.piece(0, 48);
  std::vector<ibv_send_wr> list(kRequests);
  for (size_t k = 0; k < list.size(); ++k) {
    list[k] = a.write(k, &piece, 1, b);
    list[k].send_flags = IBV_SEND_INLINE;
    if (k % 1000 == 999) list[k].send_flags |= IBV_SEND_SIGNALED;
  }
  chain(list);
  list[kRequests - 2].num_sge = 5;
  ibv_send_wr* bad = nullptr;
  const size_t before = fb::requests_sent();
  EXPECT_EQ(ibv_post_send(a.qp, list.data(), &bad), EINVAL);
  EXPECT_EQ(bad, &list[kRequests - 2]);
  EXPECT_GT(fb::requests_sent(), before + 1);
  EXPECT_EQ(a.next(8).back().wr_id, 7999u);
}

TEST_F(VerbsWork, AnInlinePayloadIsReadByTheCall) {
  End a(list_[0]), b(list_[1]);
  connect(a, b);
  std::memcpy(a.memory.data(), "one two", 8);
  ibv_sge pieces[2] = {{reinterpret_cast<uint64_t>(&a.memory[4]), 3, 0},
                       {reinterpret_cast<uint64_t>(&a.memory[0]), 3, 0}};
  ibv_send_wr wr = a.write(1, pieces, 2, b);
  wr.send_flags |= IBV_SEND_INLINE;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
  std::memset(a.memory.data(), 'x', 8);
  EXPECT_EQ(ids_of(a.next(1)), std::vector<uint64_t>{1});
  EXPECT_EQ(std::memcmp(b.memory.data(), "twoone", 6), 0);
}

TEST_F(VerbsWork, AQueuePairTakesWorkByItsState) {
  End a(list_[0]), b(list_[1]);
  ibv_sge piece = a.piece(0, 8);
  ibv_recv_wr receive{7, nullptr, &piece, 1}, *bad_receive = nullptr;
  ibv_send_wr send = a.write(8, &piece, 1, b), *bad = nullptr;
  const auto taken = [&] {
    bad = nullptr;
    bad_receive = nullptr;
    const int r = ibv_post_recv(a.qp, &receive, &bad_receive), s = ibv_post_send(a.qp, &send, &bad);
    EXPECT_EQ(bad_receive, r == 0 ? nullptr : &receive);
    EXPECT_EQ(bad, s == 0 ? nullptr : &send);
    return std::vector{r, s};
  };
  EXPECT_EQ(taken(), (std::vector{EINVAL, EINVAL}));
  ASSERT_EQ(a.to_init(), 0);
  EXPECT_EQ(taken(), (std::vector{0, EINVAL}));
  ASSERT_EQ(b.to_init(), 0);
  ASSERT_EQ(a.to_rtr(b), 0);
  ASSERT_EQ(b.to_rtr(a), 0);
  EXPECT_EQ(taken(), (std::vector{0, EINVAL}));
  ASSERT_EQ(a.to_rts(), 0);
  EXPECT_EQ(taken(), (std::vector{0, 0}));
  EXPECT_EQ(ids_of(a.next(1)), std::vector<uint64_t>{8});
  // What is left, and what comes later, is given back.
  ASSERT_EQ(a.change(IBV_QPS_ERR), 0);
  EXPECT_EQ(taken(), (std::vector{0, 0}));
  for (const ibv_wc& wc : a.next(5)) EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(VerbsWork, PollingGivesWhatThereIsInOrder) {
  End a(list_[0]), b(list_[1]);
  connect(a, b);
  ibv_sge piece = a.piece(0, 8);
  std::vector<ibv_send_wr> list(5);
  for (size_t k = 0; k < list.size(); ++k) list[k] = a.write(k, &piece, 1, b);
  chain(list);
  ibv_send_wr* bad = nullptr;
  std::vector<ibv_wc> got(8);
  EXPECT_LOCAL(ibv_poll_cq(a.cq, 0, got.data()), 0);
  EXPECT_LT(ibv_poll_cq(a.cq, -1, got.data()), 0);
  EXPECT_EQ(ibv_poll_cq(a.cq, 8, got.data()), 0);
  ASSERT_EQ(ibv_post_send(a.qp, list.data(), &bad), 0);
  const ibv_wc first = a.next(1).front();
  EXPECT_EQ(first.wr_id, 0u);
  EXPECT_EQ(first.qp_num, a.qp->qp_num);
  EXPECT_EQ(first.opcode, IBV_WC_RDMA_WRITE);
  size_t count = 0;
  for (int tries = 0; tries < 100'000 && count < 4; ++tries) {
    const int more = ibv_poll_cq(a.cq, 3, &got[count]);
    ASSERT_GE(more, 0);
    ASSERT_LE(more, 3);
    count += static_cast<size_t>(more);
  }
  got.resize(count);
  EXPECT_EQ(ids_of(got), (std::vector<uint64_t>{1, 2, 3, 4}));
}

constexpr uint64_t kBuilt = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND;

// One write that is built call by call.
void build_write(End& a, End& b, uint64_t id, uint32_t bytes = 8) {
  ibv_qp_ex* const x = ibv_qp_to_qp_ex(a.qp);
  x->wr_id = id;
  x->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_rdma_write(x, b.mr->rkey, reinterpret_cast<uint64_t>(b.memory.data()));
  ibv_wr_set_sge(x, a.mr->lkey, reinterpret_cast<uint64_t>(a.memory.data()), bytes);
}

TEST_F(VerbsWork, ABuiltBatchIsPostedAtItsEnd) {
  End a(list_[0], kBuilt), b(list_[1]);
  connect(a, b);
  EXPECT_EQ(ibv_qp_to_qp_ex(b.qp), nullptr) << "made without operations";
  ibv_qp_ex* const x = ibv_qp_to_qp_ex(a.qp);
  ASSERT_NE(x, nullptr);
  const size_t before = fb::requests_sent();
  ibv_wr_start(x);
  build_write(a, b, 1);
  build_write(a, b, 2);
  EXPECT_EQ(fb::requests_sent(), before);
  EXPECT_EQ(ibv_wr_complete(x), 0);
  EXPECT_EQ(fb::requests_sent(), before + 1);
  EXPECT_EQ(ids_of(a.next(2)), (std::vector<uint64_t>{1, 2}));
  // What is given up leaves nothing behind, nor does nothing.
  ibv_wr_start(x);
  build_write(a, b, 3);
  ibv_wr_abort(x);
  ibv_wr_start(x);
  EXPECT_LOCAL(ibv_wr_complete(x), 0);
  ibv_wr_start(x);
  build_write(a, b, 4);
  EXPECT_EQ(ibv_wr_complete(x), 0);
  EXPECT_EQ(ids_of(a.next(1)), std::vector<uint64_t>{4});
  EXPECT_TRUE(is_empty(a.cq));
}

TEST_F(VerbsWork, ABuiltBatchWithAMistakeIsDroppedAsAWhole) {
  End a(list_[0], kBuilt), b(list_[1]);
  connect(a, b);
  ibv_qp_ex* const x = ibv_qp_to_qp_ex(a.qp);
  char payload[65] = {};
  ibv_wr_start(x);
  build_write(a, b, 1);
  ibv_wr_set_inline_data(x, payload, sizeof payload);  // too long
  build_write(a, b, 2);
  EXPECT_LOCAL(ibv_wr_complete(x), EINVAL);
  ibv_wr_start(x);
  ibv_wr_set_sge(x, a.mr->lkey, 0, 8);  // of no request
  EXPECT_LOCAL(ibv_wr_complete(x), EINVAL);
  EXPECT_TRUE(is_empty(a.cq));
  // A mistake that only the card can see: there is no room for the last ones.
  ibv_wr_start(x);
  for (uint64_t k = 0; k < 10; ++k) build_write(a, b, k);
  EXPECT_EQ(ibv_wr_complete(x), ENOMEM);
  EXPECT_TRUE(is_empty(a.cq));
  // The next batch knows nothing of them.
  ibv_wr_start(x);
  build_write(a, b, 9);
  EXPECT_EQ(ibv_wr_complete(x), 0);
  EXPECT_EQ(ids_of(a.next(1)), std::vector<uint64_t>{9});
}

// The extended way to poll: entries are read one by one, and those that are not read stay.
TEST_F(VerbsWork, AnExtendedQueueKeepsWhatIsNotRead) {
  End a(list_[0]), b(list_[1]);
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = 16;
  wanted.wc_flags = uint64_t{1} << 40;
  EXPECT_LOCAL(ibv_create_cq_ex(b.context, &wanted), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  wanted.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  ibv_cq_ex* const cq = ibv_create_cq_ex(b.context, &wanted);
  ASSERT_NE(cq, nullptr);
  ibv_poll_cq_attr wrong{};
  wrong.comp_mask = 1;
  EXPECT_LOCAL(ibv_start_poll(cq, &wrong), EINVAL);
  ibv_poll_cq_attr none{};
  EXPECT_EQ(ibv_start_poll(cq, &none), ENOENT);

  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq);
  init.cap = {8, 8, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  ASSERT_EQ(ibv_destroy_qp(b.qp), 0);
  b.qp = ibv_create_qp(b.pd, &init);
  ASSERT_NE(b.qp, nullptr);
  connect(a, b);
  ibv_sge into = b.piece(0, 64), from = a.piece(0, 24);
  for (uint64_t k = 0; k < 3; ++k) {
    ibv_recv_wr receive{k, nullptr, &into, 1}, *bad_receive = nullptr;
    ASSERT_EQ(ibv_post_recv(b.qp, &receive, &bad_receive), 0);
    ibv_send_wr send = a.write(k, &from, 1, b), *bad = nullptr;
    send.opcode = IBV_WR_SEND_WITH_IMM;
    send.imm_data = static_cast<uint32_t>(1000 + k);
    ASSERT_EQ(ibv_post_send(a.qp, &send, &bad), 0);
  }
  EXPECT_EQ(ids_of(a.next(3)).size(), 3u);
  uint64_t before = 0;
  for (uint64_t k = 0; k < 3; ++k) {  // k = 1 by the other way of polls
    int error = ENOENT;
    if (k == 1) {
      ASSERT_EQ(ibv_next_poll(cq), 0);
    } else {
      for (int tries = 0; tries < 100'000 && error == ENOENT; ++tries) error = ibv_start_poll(cq, &none);
      ASSERT_EQ(error, 0);
    }
    EXPECT_EQ(cq->wr_id, k);
    EXPECT_EQ(cq->status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV);
    EXPECT_EQ(ibv_wc_read_byte_len(cq), 24u);
    EXPECT_EQ(ibv_wc_read_imm_data(cq), 1000 + k);
    EXPECT_EQ(ibv_wc_read_qp_num(cq), b.qp->qp_num);
    EXPECT_GE(ibv_wc_read_completion_ts(cq), before);
    before = ibv_wc_read_completion_ts(cq);
    if (k != 0) ibv_end_poll(cq);
  }
  EXPECT_EQ(ibv_start_poll(cq, &none), ENOENT);
  ASSERT_EQ(ibv_destroy_qp(b.qp), 0);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
  init.send_cq = init.recv_cq = b.cq;
  b.qp = ibv_create_qp(b.pd, &init);
}

}  // namespace
