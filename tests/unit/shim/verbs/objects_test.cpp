// Objects: what holds which, attributes there and back, states that refusals leave alone, events and their
// acknowledgements.

#include <fcntl.h>
#include <poll.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "tests/unit/shim/requests.h"
#include "tests/unit/shim/verbs/ends.h"

namespace {

using VerbsObjects = fb::Verbs;
using fb::End;

TEST_F(VerbsObjects, PortsAndTablesHaveOneEntry) {
  End a(list_[2]);
  ibv_port_attr port{};
  ibv_gid gid{};
  __be16 key = 0;
  EXPECT_LOCAL(ibv_query_port(a.context, 0, &port), EINVAL);
  EXPECT_LOCAL(ibv_query_port(a.context, 2, &port), EINVAL);
  EXPECT_LOCAL(ibv_query_port(a.context, 1, &port), 0);
  EXPECT_LOCAL(ibv_query_gid(a.context, 1, 1, &gid), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_LOCAL(ibv_query_gid(a.context, 1, 0, &gid), 0);
  EXPECT_LOCAL(ibv_query_pkey(a.context, 1, 1, &key), -1);
  EXPECT_LOCAL(ibv_query_pkey(a.context, 1, 0, &key), 0);
  EXPECT_LOCAL(ibv_get_pkey_index(a.context, 1, key), 0);
  EXPECT_LOCAL(ibv_get_pkey_index(a.context, 1, 0x1234), -1);
  ibv_gid_entry entries[2] = {};
  EXPECT_LOCAL(ibv_query_gid_table(a.context, entries, 2, 0), 1);
  EXPECT_EQ(entries[0].gid.global.interface_id, gid.global.interface_id);
  EXPECT_LOCAL(ibv_query_gid_table(a.context, entries, 0, 0), -EINVAL);
  EXPECT_LOCAL(ibv_query_gid_ex(a.context, 1, 1, entries, 0), ENODATA);
  EXPECT_LOCAL(ibv_query_gid_ex(a.context, 1, 0, entries, 4), EINVAL);
}

TEST_F(VerbsObjects, WrongArgumentsAreRefusedByTheLibrary) {
  End a(list_[0]);
  const auto none = [](auto* made) { return made == nullptr ? errno : 0; };
  EXPECT_LOCAL(none(ibv_create_cq(a.context, 0, nullptr, nullptr, 0)), EINVAL);
  EXPECT_LOCAL(none(ibv_create_cq(a.context, 4, nullptr, nullptr, 1)), EINVAL);
  EXPECT_LOCAL(none(ibv_create_cq(a.context, 4, nullptr, nullptr, -1)), EINVAL);
  EXPECT_LOCAL(ibv_resize_cq(a.cq, 0), EINVAL);
  EXPECT_LOCAL(none((ibv_reg_mr)(a.pd, a.memory.data(), 0, IBV_ACCESS_LOCAL_WRITE)), EINVAL);
  EXPECT_LOCAL(none(ibv_reg_dmabuf_mr(a.pd, 0, 4096, 0, -1, 0)), EBADF);
  EXPECT_LOCAL(ibv_rereg_mr(a.mr, 0, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_LOCAL(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  ibv_ah_attr address{};
  EXPECT_LOCAL(none(ibv_create_ah(a.pd, &address)), EINVAL);
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_RC;
  EXPECT_LOCAL(none(ibv_create_qp_ex(a.context, &init)), EINVAL);  // of no domain
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = a.pd;
  init.send_ops_flags = uint64_t{1} << 50;
  EXPECT_LOCAL(none(ibv_create_qp_ex(a.context, &init)), EOPNOTSUPP);
  ibv_srq_init_attr_ex shared{};
  EXPECT_LOCAL(none(ibv_create_srq_ex(a.context, &shared)), EINVAL);
  ibv_td_init_attr thread{};
  thread.comp_mask = 1;
  EXPECT_LOCAL(none(ibv_alloc_td(a.context, &thread)), EINVAL);
  ibv_parent_domain_init_attr parent{};
  EXPECT_LOCAL(none(ibv_alloc_parent_domain(a.context, &parent)), EINVAL);
  ibv_xrcd_init_attr domain{};
  EXPECT_LOCAL(none(ibv_open_xrcd(a.context, &domain)), EINVAL);
  EXPECT_EQ(ibv_query_qp_data_in_order(a.qp, IBV_WR_RDMA_WRITE, 0), 0);
}

TEST_F(VerbsObjects, WhatIsInUseStays) {
  auto* const a = new End(list_[0]);
  EXPECT_EQ(ibv_dealloc_pd(a->pd), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(a->cq), EBUSY);
  EXPECT_LOCAL(ibv_destroy_comp_channel(a->channel), EBUSY);
  // Two parent domains and a thread domain: counted by the library.
  ibv_td_init_attr thread{};
  ibv_td* const td = ibv_alloc_td(a->context, &thread);
  ibv_parent_domain_init_attr wanted{};
  wanted.pd = a->pd;
  wanted.td = td;
  std::vector<ibv_pd*> parents;
  for (int k = 0; k < 2; ++k) parents.push_back(ibv_alloc_parent_domain(a->context, &wanted));
  for (ibv_pd* parent : parents) {
    EXPECT_LOCAL(ibv_dealloc_td(td), EBUSY);
    EXPECT_LOCAL(ibv_dealloc_pd(a->pd), EBUSY);
    EXPECT_LOCAL(ibv_dealloc_pd(parent), 0);
  }
  EXPECT_LOCAL(ibv_dealloc_td(td), 0);
  delete a;  // in the right order, nothing is in use
}

TEST_F(VerbsObjects, StatesAreWhatTheCardHasTaken) {
  End a(list_[0]), b(list_[1]);
  EXPECT_EQ(a.qp->state, IBV_QPS_RESET);
  EXPECT_EQ(a.to_rts(), EINVAL);
  EXPECT_EQ(a.change(IBV_QPS_SQD), EINVAL);
  EXPECT_EQ(a.qp->state, IBV_QPS_RESET);
  ASSERT_EQ(a.to_init(), 0);
  EXPECT_EQ(a.qp->state, IBV_QPS_INIT);
  ibv_qp_attr wrong{};
  wrong.qp_state = IBV_QPS_RTR;
  wrong.path_mtu = fb::no_such<ibv_mtu>(9);
  wrong.ah_attr.port_num = 1;
  EXPECT_EQ(ibv_modify_qp(a.qp, &wrong,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            EINVAL);
  EXPECT_EQ(a.qp->state, IBV_QPS_INIT);
  ASSERT_EQ(a.to_rtr(b), 0);
  ASSERT_EQ(a.to_rts(), 0);
  const ibv_qp_attr now = a.query();
  EXPECT_EQ(now.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(now.path_mtu, IBV_MTU_2048);
  EXPECT_EQ(now.dest_qp_num, b.qp->qp_num);
  EXPECT_EQ(now.rq_psn, 77u);
  EXPECT_EQ(now.sq_psn, 77u);
  EXPECT_EQ(now.qp_access_flags, static_cast<unsigned int>(fb::kAllAccess));
  EXPECT_EQ(now.ah_attr.dlid, b.port.lid);
  EXPECT_EQ(now.min_rnr_timer, 3);
  EXPECT_EQ(now.timeout, 10);
  EXPECT_EQ(now.retry_cnt, 2);
  EXPECT_EQ(now.rnr_retry, 1);
  EXPECT_EQ(now.max_rd_atomic, 2);
  EXPECT_EQ(now.max_dest_rd_atomic, 4);
  EXPECT_GE(now.cap.max_send_wr, 8u);
  EXPECT_GE(now.cap.max_inline_data, 64u);
  // Back to the beginning, from where it goes the same way.
  EXPECT_EQ(a.change(IBV_QPS_ERR), 0);
  EXPECT_EQ(a.change(IBV_QPS_RTS), EINVAL);
  EXPECT_EQ(a.qp->state, IBV_QPS_ERR);
  EXPECT_EQ(a.change(IBV_QPS_RESET), 0);
  EXPECT_EQ(a.to_init(), 0);
}

// An error of the card is seen when it is asked for.
TEST_F(VerbsObjects, AStateThatChangesByItselfIsFoundByAsking) {
  End a(list_[0]), b(list_[1]);
  connect(a, b);
  ibv_sge piece = a.piece(0, 8);
  ibv_send_wr wr = a.write(1, &piece, 1, b), *bad = nullptr;
  wr.wr.rdma.rkey ^= 0x100;
  ASSERT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
  EXPECT_EQ(a.next(1).front().status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(a.qp->state, IBV_QPS_RTS) << "what the program has set";
  EXPECT_EQ(a.query().qp_state, IBV_QPS_ERR);
  EXPECT_EQ(a.qp->state, IBV_QPS_ERR);
  // The peer is told by an event, which names its queue pair.
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(b.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(event.element.qp, b.qp);
  ibv_ack_async_event(&event);
}

TEST_F(VerbsObjects, SharedReceiveQueuesKeepTheirSizeAndHaveALimit) {
  End a(list_[0]);
  ibv_srq_init_attr wanted{};
  wanted.attr = {10, 2, 0};
  ibv_srq* const srq = ibv_create_srq(a.pd, &wanted);
  ASSERT_NE(srq, nullptr);
  EXPECT_GE(wanted.attr.max_wr, 10u);
  std::vector<ibv_sge> pieces(3, a.piece(0, 8));
  ibv_recv_wr receive{1, nullptr, pieces.data(), 3}, *bad = nullptr;
  EXPECT_LOCAL(ibv_post_srq_recv(srq, &receive, &bad), EINVAL);
  EXPECT_EQ(bad, &receive);
  receive.num_sge = 2;
  for (int k = 0; k < 5; ++k) EXPECT_EQ(ibv_post_srq_recv(srq, &receive, &bad), 0);
  ibv_srq_attr attr{.max_wr = 20, .max_sge = 0, .srq_limit = 4};
  EXPECT_LOCAL(ibv_modify_srq(srq, &attr, 0), EINVAL);
  EXPECT_LOCAL(ibv_modify_srq(srq, &attr, 1 << 7), EINVAL);
  EXPECT_LOCAL(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
  EXPECT_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
  ibv_srq_attr now{};
  EXPECT_EQ(ibv_query_srq(srq, &now), 0);
  EXPECT_EQ(now.srq_limit, 4u);
  EXPECT_EQ(now.max_wr, wanted.attr.max_wr);
  // With fewer left it is reached, once.
  attr.srq_limit = 6;
  EXPECT_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(a.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, srq);
  ibv_ack_async_event(&event);
  EXPECT_EQ(ibv_query_srq(srq, &now), 0);
  EXPECT_EQ(now.srq_limit, 0u);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

// One event for each time the queue was armed.
void complete_one(End& a, End& b) {
  ibv_sge piece = a.piece(0, 8);
  ibv_send_wr wr = a.write(1, &piece, 1, b), *bad = nullptr;
  ASSERT_EQ(ibv_req_notify_cq(a.cq, 0), 0);
  ASSERT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
  EXPECT_EQ(a.next(1).front().status, IBV_WC_SUCCESS);
}
bool is_readable(int descriptor) {
  pollfd p{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&p, 1, 1000) == 1;
}

TEST_F(VerbsObjects, AQueueWaitsForItsEventsToBeAcknowledged) {
  End a(list_[0]), b(list_[1]);
  connect(a, b);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  for (int k = 0; k < 2; ++k) {
    complete_one(a, b);
    ASSERT_EQ(ibv_get_cq_event(a.channel, &cq, &context), 0);
    EXPECT_EQ(cq, a.cq);
    EXPECT_EQ(context, &a);
  }
  ibv_ack_cq_events(a.cq, 1);
  ASSERT_EQ(ibv_destroy_qp(a.qp), 0);
  std::atomic<bool> destroyed = false;
  const size_t before = fb::requests_sent();
  std::thread other([&] {
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    destroyed = true;
  });
  // The card's queue ends, and the thread says that it is about to wait. The machine answers it when this thread has
  // slept for a while.
  for (int k = 0; k < 20'000 && fb::requests_sent() < before + 2; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(destroyed);
  ibv_ack_cq_events(cq, 1);
  other.join();
  ibv_qp_init_attr init{};
  a.cq = ibv_create_cq(a.context, 8, nullptr, nullptr, 0);
  init.send_cq = init.recv_cq = a.cq;
  init.cap = {1, 1, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  a.qp = ibv_create_qp(a.pd, &init);
}

// It is still in the pipe, and names what is gone.
TEST_F(VerbsObjects, EventsOfWhatIsGoneAreLeftOut) {
  End a(list_[0]), b(list_[1]);
  connect(a, b);
  complete_one(a, b);
  ASSERT_TRUE(is_readable(a.channel->fd));
  ASSERT_EQ(ibv_destroy_qp(a.qp), 0);
  ASSERT_EQ(ibv_destroy_cq(a.cq), 0);
  ASSERT_EQ(::fcntl(a.channel->fd, F_SETFL, O_NONBLOCK), 0);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  errno = 0;
  EXPECT_EQ(ibv_get_cq_event(a.channel, &cq, &context), -1);
  EXPECT_EQ(errno, EAGAIN);
  ibv_qp_init_attr init{};
  a.cq = ibv_create_cq(a.context, 8, nullptr, a.channel, 0);
  init.send_cq = init.recv_cq = a.cq;
  init.cap = {1, 1, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  a.qp = ibv_create_qp(a.pd, &init);
}

}  // namespace
