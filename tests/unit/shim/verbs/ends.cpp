#include "tests/unit/shim/verbs/ends.h"

namespace fb {

End::End(ibv_device* device, uint64_t operations, uint32_t sends) {
  context = ibv_open_device(device);
  pd = ibv_alloc_pd(context);
  channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, static_cast<int>(sends) + 64, this, channel, 0);
  mr = ibv_reg_mr(pd, memory.data(), memory.size(), kAllAccess);
  EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {sends, 8, 2, 2, 64};
  init.qp_type = IBV_QPT_RC;
  init.pd = pd;
  init.comp_mask = IBV_QP_INIT_ATTR_PD;
  if (operations != 0) {
    init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = operations;
  }
  qp = ibv_create_qp_ex(context, &init);
  EXPECT_NE(qp, nullptr);
}

End::~End() {
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

int End::to_init() {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qp_access_flags = kAllAccess;
  return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int End::to_rtr(const End& peer) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_2048;
  a.dest_qp_num = peer.qp->qp_num;
  a.rq_psn = 77;
  a.max_dest_rd_atomic = 4;
  a.min_rnr_timer = 3;
  a.ah_attr.dlid = peer.port.lid;
  a.ah_attr.port_num = 1;
  return ibv_modify_qp(qp, &a,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int End::to_rts() {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 10;
  a.retry_cnt = 2;
  a.rnr_retry = 1;
  a.sq_psn = 77;
  a.max_rd_atomic = 2;
  return ibv_modify_qp(
      qp, &a,
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int End::change(ibv_qp_state state) {
  ibv_qp_attr a{};
  a.qp_state = state;
  return ibv_modify_qp(qp, &a, IBV_QP_STATE);
}

ibv_qp_attr End::query() {
  ibv_qp_attr a{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(qp, &a, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(init.qp_type, IBV_QPT_RC);
  return a;
}

ibv_send_wr End::write(uint64_t id, ibv_sge* pieces, int count, const End& to, size_t at) {
  ibv_send_wr wr{};
  wr.wr_id = id;
  wr.sg_list = pieces;
  wr.num_sge = count;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(&to.memory[at]);
  wr.wr.rdma.rkey = to.mr->rkey;
  return wr;
}

std::vector<ibv_wc> End::next(size_t count) {
  std::vector<ibv_wc> all;
  for (int tries = 0; tries < 100'000 && all.size() < count; ++tries) {
    ibv_wc wc{};
    const int got = ibv_poll_cq(cq, 1, &wc);
    EXPECT_GE(got, 0);
    if (got == 1) all.push_back(wc);
  }
  EXPECT_EQ(all.size(), count) << "completions that never came";
  return all;
}

void Verbs::connect(End& a, End& b) {
  ASSERT_EQ(a.to_init(), 0);
  ASSERT_EQ(b.to_init(), 0);
  ASSERT_EQ(a.to_rtr(b), 0);
  ASSERT_EQ(b.to_rtr(a), 0);
  ASSERT_EQ(a.to_rts(), 0);
  ASSERT_EQ(b.to_rts(), 0);
}

}  // namespace fb
