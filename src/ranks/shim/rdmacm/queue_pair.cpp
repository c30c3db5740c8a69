// Queue pairs and shared receive queues of identifiers, and the states that connecting takes them through.

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ranks/shim/rdmacm/ids.h"

namespace fb::shim::rdmacm {
namespace {

constexpr int kOpen = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

bool has_peer(const Id& id) {
  switch (id.state) {
    case State::answered:
    case State::wanted:
    case State::accepted:
    case State::connected:
    case State::leaving:
    case State::left_by_peer:
      return true;
    default:
      return false;
  }
}

void set_peer(const Id& id, ibv_qp_attr& attr, int& mask) {
  mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  attr.ah_attr = {};
  attr.ah_attr.dlid = static_cast<uint16_t>(id.peer.lid);
  attr.ah_attr.port_num = id.base.port_num;
  attr.path_mtu = static_cast<ibv_mtu>(std::min(id.peer.mtu, static_cast<uint32_t>(id.card->port.active_mtu)));
  attr.dest_qp_num = id.peer.queue_pair;
  attr.rq_psn = id.peer.psn;
  if (id.base.qp_type == IBV_QPT_RC || id.base.qp_type == IBV_QPT_XRC_RECV) {
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    attr.max_dest_rd_atomic = id.responder_resources;
    attr.min_rnr_timer = 0;
  }
}

void set_sending(const Id& id, ibv_qp_attr& attr, int& mask) {
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  attr.sq_psn = id.psn;
  const ibv_qp_type type = id.base.qp_type;
  if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND) {
    mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    attr.retry_cnt = id.retry_count;
    attr.rnr_retry = id.rnr_retry_count;
    attr.max_rd_atomic = id.initiator_depth;
  }
  if (type != IBV_QPT_UC) {
    mask |= IBV_QP_TIMEOUT;
    attr.timeout = id.ack_timeout;
  }
}

int move_to(Id& id, ibv_qp* qp, ibv_qp_state state) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  int mask = 0;
  if (init_attributes(id, attr, mask) != 0) return -1;
  return result_of(ibv_modify_qp(qp, &attr, mask));
}

int move_datagrams(Id& id, ibv_qp* qp) {
  if (move_to(id, qp, IBV_QPS_INIT) != 0) return -1;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  if (const int error = ibv_modify_qp(qp, &attr, IBV_QP_STATE); error != 0) return fail(error);
  attr.qp_state = IBV_QPS_RTS;
  return result_of(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

void destroy_queues(rdma_cm_id& id) {
  // The shared receive queue has them.
  if (id.qp_type == IBV_QPT_XRC_RECV && id.srq) return;
  if (id.recv_cq) ibv_destroy_cq(id.recv_cq);
  if (id.send_cq && id.send_cq != id.recv_cq) ibv_destroy_cq(id.send_cq);
  if (id.recv_cq_channel) ibv_destroy_comp_channel(id.recv_cq_channel);
  if (id.send_cq_channel && id.send_cq_channel != id.recv_cq_channel) ibv_destroy_comp_channel(id.send_cq_channel);
  id.recv_cq = id.send_cq = nullptr;
  id.recv_cq_channel = id.send_cq_channel = nullptr;
}

bool make_queue(rdma_cm_id& id, uint32_t entries, ibv_comp_channel*& channel, ibv_cq*& queue) {
  if (entries == 0) return true;
  channel = ibv_create_comp_channel(id.verbs);
  if (!channel) return false;
  queue = ibv_create_cq(id.verbs, static_cast<int>(entries), &id, channel, 0);
  return queue != nullptr;
}

int make_queues(rdma_cm_id& id, uint32_t sends, uint32_t receives) {
  if (make_queue(id, receives, id.recv_cq_channel, id.recv_cq) && make_queue(id, sends, id.send_cq_channel, id.send_cq))
    return 0;
  const int error = errno;
  destroy_queues(id);
  return fail(error);
}

int create_queue_pair(Id& id, ibv_qp_init_attr_ex& init) {
  rdma_cm_id& base = id.base;
  if (base.qp || !id.card) return fail(EINVAL);
  if ((init.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || !init.pd) {
    init.comp_mask |= IBV_QP_INIT_ATTR_PD;
    init.pd = base.pd;
  } else if (init.pd->context != base.verbs) {
    return fail(EINVAL);
  }
  if ((base.recv_cq && init.recv_cq && base.recv_cq != init.recv_cq) ||
      (base.send_cq && init.send_cq && base.send_cq != init.send_cq))
    return fail(EINVAL);
  const bool is_target = base.qp_type == IBV_QPT_XRC_RECV;
  if (is_target && ((init.comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0 || !init.xrcd)) {
    init.xrcd = domain_of_xrc(*id.card);
    if (!init.xrcd) return -1;
    init.comp_mask |= IBV_QP_INIT_ATTR_XRCD;
  }
  // A target of XRC has none of its own.
  if (!is_target && make_queues(base, init.send_cq || base.send_cq ? 0 : init.cap.max_send_wr,
                                init.recv_cq || base.recv_cq ? 0 : init.cap.max_recv_wr) != 0)
    return -1;
  if (!init.send_cq) init.send_cq = base.send_cq;
  if (!init.recv_cq) init.recv_cq = base.recv_cq;
  if (base.srq && !init.srq) init.srq = base.srq;
  ibv_qp* const qp = ibv_create_qp_ex(base.verbs, &init);
  const bool done = qp && (is_datagram(id) ? move_datagrams(id, qp) : move_to(id, qp, IBV_QPS_INIT)) == 0;
  if (!done) {
    const int error = errno;
    if (qp) ibv_destroy_qp(qp);
    destroy_queues(base);
    return fail(error);
  }
  if (qp->pd) base.pd = qp->pd;
  base.qp = qp;
  return 0;
}

int create_shared_queue(Id& id, ibv_srq_init_attr_ex& init) {
  rdma_cm_id& base = id.base;
  if ((init.comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0 || !id.card) return fail(EINVAL);
  if ((init.comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || !init.pd) {
    init.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
    init.pd = base.pd;
  }
  if (init.srq_type == IBV_SRQT_XRC) {
    if ((init.comp_mask & IBV_SRQ_INIT_ATTR_XRCD) == 0 || !init.xrcd) init.xrcd = domain_of_xrc(*id.card);
    if (!init.xrcd) return -1;
    if ((init.comp_mask & IBV_SRQ_INIT_ATTR_CQ) == 0 || !init.cq) {
      if (!base.recv_cq && make_queues(base, 0, init.attr.max_wr) != 0) return -1;
      init.cq = base.recv_cq;
    }
    init.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  }
  base.srq = ibv_create_srq_ex(base.verbs, &init);
  if (base.srq) return 0;
  const int error = errno;
  destroy_queues(base);
  return fail(error);
}

}  // namespace

int init_attributes(Id& id, ibv_qp_attr& attr, int& mask) {
  if (!id.card) return fail(EINVAL);
  const bool has_connection = has_peer(id) || id.state == State::asked;
  if (is_datagram(id) || !has_connection) {
    mask = kOpen;
    attr.port_num = id.base.port_num;
    attr.pkey_index = 0;
    if (is_datagram(id)) {
      mask |= IBV_QP_QKEY;
      attr.qkey = RDMA_UDP_QKEY;
    } else {
      mask |= IBV_QP_ACCESS_FLAGS;
      attr.qp_access_flags = 0;
    }
    return 0;
  }
  switch (attr.qp_state) {
    case IBV_QPS_INIT:
      mask = kOpen | IBV_QP_ACCESS_FLAGS;
      attr.port_num = id.base.port_num;
      attr.pkey_index = 0;
      attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
      if (id.responder_resources != 0) attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
      return 0;
    case IBV_QPS_RTR:
      if (!has_peer(id)) return fail(EINVAL);
      set_peer(id, attr, mask);
      return 0;
    case IBV_QPS_RTS:
      if (!has_peer(id)) return fail(EINVAL);
      set_sending(id, attr, mask);
      return 0;
    default:
      return fail(EINVAL);
  }
}

int connect_queue_pair(Id& id) {
  ibv_qp* const qp = id.base.qp;
  if (!qp) return 0;
  // INIT again: rights are known now.
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (move_to(id, qp, state) != 0) return -1;
  }
  return 0;
}

int stop_queue_pair(Id& id) {
  if (!id.base.qp) return 0;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  return result_of(ibv_modify_qp(id.base.qp, &attr, IBV_QP_STATE));
}

}  // namespace fb::shim::rdmacm

using namespace fb::shim::rdmacm;

FB_RDMACM int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* init) {
  const Lock lock(mutex());
  return create_queue_pair(of(id), *init);
}

FB_RDMACM int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* init) {
  ibv_qp_init_attr_ex extended{};
  std::memcpy(&extended, init, sizeof *init);  // it begins so
  extended.comp_mask = IBV_QP_INIT_ATTR_PD;
  extended.pd = pd ? pd : id->pd;
  const int result = rdma_create_qp_ex(id, &extended);
  std::memcpy(init, &extended, sizeof *init);
  return result;
}

FB_RDMACM void rdma_destroy_qp(rdma_cm_id* id) {
  const Lock lock(mutex());
  ibv_destroy_qp(id->qp);
  id->qp = nullptr;
  destroy_queues(*id);
}

FB_RDMACM int rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* init) {
  const Lock lock(mutex());
  return create_shared_queue(of(id), *init);
}

FB_RDMACM int rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* init) {
  ibv_srq_init_attr_ex extended{};
  std::memcpy(&extended, init, sizeof *init);
  extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  extended.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
  extended.pd = pd;
  const int result = rdma_create_srq_ex(id, &extended);
  std::memcpy(init, &extended, sizeof *init);
  return result;
}

FB_RDMACM void rdma_destroy_srq(rdma_cm_id* id) {
  const Lock lock(mutex());
  ibv_destroy_srq(id->srq);
  id->srq = nullptr;
  destroy_queues(*id);
}

FB_RDMACM int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attr, int* mask) {
  const Lock lock(mutex());
  return init_attributes(of(id), *attr, *mask);
}
