// A send that waits for a receive which is never posted, with rnr_retry 7: a hang, with its cause.

#include <infiniband/verbs.h>

#include <cstdlib>

int main() {
  ibv_device** list = ibv_get_device_list(nullptr);
  ibv_context* context = ibv_open_device(list[0]);
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_cq* cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
  ibv_port_attr port{};
  ibv_query_port(context, 1, &port);
  void* memory = std::aligned_alloc(4096, 4096);
  ibv_mr* mr = ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
  ibv_qp* pair[2];
  for (ibv_qp*& qp : pair) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {4, 4, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    qp = ibv_create_qp(pd, &init);
  }
  for (int k = 0; k < 2; ++k) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    ibv_modify_qp(pair[k], &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = pair[1 - k]->qp_num;
    a.ah_attr.dlid = port.lid;
    a.ah_attr.port_num = 1;
    a.min_rnr_timer = 1;
    ibv_modify_qp(pair[k], &a,
                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = a.rnr_retry = 7;
    ibv_modify_qp(
        pair[k], &a,
        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  }
  ibv_sge piece{reinterpret_cast<uint64_t>(memory), 64, mr->lkey};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = 4711;
  wr.sg_list = &piece;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  if (ibv_post_send(pair[0], &wr, &bad) != 0) return 1;
  ibv_wc wc{};
  while (ibv_poll_cq(cq, 1, &wc) == 0) continue;
  return 0;
}
