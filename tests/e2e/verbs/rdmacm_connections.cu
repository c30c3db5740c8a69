// Connections by librdmacm in one process: how they begin, what both ends are told, and how they end. Prints every
// check that fails, and how many there were.

#include "rdmacm_uses.h"

namespace {

void test_connections() {
  rdma_event_channel *const here = rdma_create_event_channel(), *const there = rdma_create_event_channel();
  int context = 0;
  rdma_cm_id* const listening = listener(there, RDMA_PS_TCP, &context);
  const in_port_t port = rdma_get_src_port(listening);
  rdma_cm_id* const id = caller(here, port);
  CHECK(add_pair(id) == 0);
  uint8_t timeout = 12;
  CHECK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1) == 0);
  rdma_conn_param p = param("request", 8);
  CHECK(rdma_connect(id, &p) == 0);
  CHECK_ERROR(rdma_connect(id, &p), EINVAL);
  rdma_cm_id* peer = nullptr;
  {
    Taken request(there);
    CHECK(request.is(RDMA_CM_EVENT_CONNECT_REQUEST) && request.has("request", 56));
    CHECK(request->listen_id == listening && request->id != listening && request->id->context == &context);
    CHECK(request->param.conn.initiator_depth == 3 && request->param.conn.responder_resources == 2);
    CHECK(request->param.conn.retry_count == 5 && request->param.conn.rnr_retry_count == 6);
    CHECK(request->param.conn.qp_num == id->qp->qp_num);
    peer = request->id;
  }
  CHECK(peer->verbs && rdma_get_src_port(peer) == port && rdma_get_dst_port(peer) == rdma_get_src_port(id));
  CHECK_ERROR(rdma_accept(peer, nullptr), EINVAL);  // no queue pair
  CHECK(add_pair(peer) == 0);
  char text[32] = {};
  ibv_mr* const mr = rdma_reg_msgs(peer, text, sizeof text);
  CHECK(rdma_post_recv(peer, nullptr, text, sizeof text, mr) == 0);
  p = param("reply", 6);
  p.initiator_depth = 1;
  p.responder_resources = 2;
  p.rnr_retry_count = 4;
  CHECK(rdma_accept(peer, &p) == 0);
  CHECK_ERROR(rdma_accept(peer, &p), EINVAL);
  CHECK_ERROR(rdma_reject(peer, nullptr, 0), EINVAL);
  CHECK(query(peer).qp_state == IBV_QPS_RTS);
  {
    Taken established(here);
    CHECK(established.is(RDMA_CM_EVENT_ESTABLISHED) && established.has("reply", 196));
    CHECK(established->param.conn.qp_num == peer->qp->qp_num);
  }
  CHECK(Taken(there).is(RDMA_CM_EVENT_ESTABLISHED));
  CHECK_ERROR(rdma_notify(peer, IBV_EVENT_COMM_EST), EISCONN);
  CHECK_ERROR(rdma_establish(id), EINVAL);
  const ibv_qp_attr mine = query(id), theirs = query(peer);
  CHECK(mine.qp_state == IBV_QPS_RTS && mine.dest_qp_num == peer->qp->qp_num && mine.timeout == 12);
  CHECK(mine.retry_cnt == 5 && theirs.retry_cnt == 5 && mine.rnr_retry == 4 && theirs.rnr_retry == 6);
  CHECK(mine.max_rd_atomic == 2 && theirs.max_dest_rd_atomic == 2 && mine.max_dest_rd_atomic == 1);
  CHECK(mine.rq_psn == theirs.sq_psn && theirs.rq_psn == mine.sq_psn && theirs.timeout == 12);
  CHECK(id->route.path_rec->dlid != 0);
  // A message; then receives are flushed by rdma_disconnect, and both are told.
  char words[] = "over the card";
  ibv_mr* const from = rdma_reg_msgs(id, words, sizeof words);
  CHECK(rdma_post_send(id, nullptr, words, sizeof words, from, 0) == 0);
  ibv_wc wc{};
  CHECK(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
  CHECK(rdma_get_recv_comp(peer, &wc) == 1 && wc.byte_len == sizeof words && std::strcmp(text, words) == 0);
  CHECK(rdma_post_recv(peer, nullptr, text, sizeof text, mr) == 0);
  CHECK(rdma_disconnect(id) == 0 && query(id).qp_state == IBV_QPS_ERR);
  CHECK(Taken(there).is(RDMA_CM_EVENT_DISCONNECTED));
  CHECK(!is_readable(here->fd));
  CHECK(rdma_disconnect(peer) == 0);
  CHECK(rdma_get_recv_comp(peer, &wc) == 1 && wc.status == IBV_WC_WR_FLUSH_ERR);
  CHECK(Taken(here).is(RDMA_CM_EVENT_DISCONNECTED));
  CHECK(Taken(here).is(RDMA_CM_EVENT_TIMEWAIT_EXIT) && Taken(there).is(RDMA_CM_EVENT_TIMEWAIT_EXIT));
  rdma_dereg_mr(mr);
  rdma_dereg_mr(from);
  end(peer);
  end(id);

  // Refused, with data.
  rdma_cm_id* const refused = caller(here, port);
  CHECK(add_pair(refused) == 0 && rdma_connect(refused, nullptr) == 0);
  {
    Taken request(there);
    CHECK(rdma_reject(request->id, "no", 3) == 0);
    CHECK_ERROR(rdma_accept(request->id, &p), EINVAL);
    end(request->id);
  }
  {
    Taken rejected(here);
    CHECK(rejected.is(RDMA_CM_EVENT_REJECTED, 28) && rejected.has("no", 148));
  }
  CHECK(query(refused).qp_state == IBV_QPS_ERR);
  end(refused);

  // To destroy an identifier is to disconnect.
  rdma_cm_id* const left = caller(here, port);
  CHECK(add_pair(left) == 0 && rdma_connect(left, nullptr) == 0);
  {
    Taken request(there);
    peer = request->id;
  }
  CHECK(add_pair(peer) == 0 && rdma_accept(peer, nullptr) == 0);
  CHECK(Taken(here).is(RDMA_CM_EVENT_ESTABLISHED) && Taken(there).is(RDMA_CM_EVENT_ESTABLISHED));
  end(peer);
  CHECK(Taken(here).is(RDMA_CM_EVENT_DISCONNECTED));
  end(left);

  // Queue pairs of the program's own: it says when they are connected.
  rdma_cm_id* const own = caller(here, port);
  ibv_qp_attr attr{};
  int mask = 0;
  attr.qp_state = IBV_QPS_INIT;
  CHECK(rdma_init_qp_attr(own, &attr, &mask) == 0 && (mask & IBV_QP_ACCESS_FLAGS) != 0 && attr.qp_access_flags == 0);
  p = param("", 0);
  p.qp_num = 0x123;
  ibv_ece ece{.vendor_id = 0x15b3, .options = 7, .comp_mask = 0};
  CHECK(rdma_set_local_ece(own, &ece) == 0);
  CHECK(rdma_connect(own, &p) == 0);
  {
    Taken request(there);
    peer = request->id;
    CHECK(request->param.conn.qp_num == 0x123);
  }
  ece = {};
  CHECK(rdma_get_remote_ece(peer, &ece) == 0 && ece.vendor_id == 0x15b3 && ece.options == 7);
  attr.qp_state = IBV_QPS_RTR;
  CHECK_ERROR(rdma_init_qp_attr(own, &attr, &mask), EINVAL);
  CHECK(rdma_init_qp_attr(peer, &attr, &mask) == 0 && attr.dest_qp_num == 0x123 && (mask & IBV_QP_AV) != 0);
  attr.qp_state = IBV_QPS_RTS;
  CHECK(rdma_init_qp_attr(peer, &attr, &mask) == 0 && attr.max_rd_atomic == 3 && (mask & IBV_QP_TIMEOUT) != 0);
  attr.qp_state = IBV_QPS_SQD;
  CHECK_ERROR(rdma_init_qp_attr(peer, &attr, &mask), EINVAL);
  CHECK_ERROR(rdma_establish(own), EINVAL);
  p.qp_num = 0x456;
  CHECK(rdma_accept(peer, &p) == 0);
  {
    Taken response(here);
    CHECK(response.is(RDMA_CM_EVENT_CONNECT_RESPONSE) && response->param.conn.qp_num == 0x456);
  }
  CHECK(rdma_establish(own) == 0);
  CHECK(Taken(there).is(RDMA_CM_EVENT_ESTABLISHED));
  end(own);
  CHECK(Taken(there).is(RDMA_CM_EVENT_DISCONNECTED));
  end(peer);

  // A request that was not taken, when its listener goes; events go with their identifier.
  rdma_cm_id* const late = caller(here, port);
  CHECK(add_pair(late) == 0 && rdma_connect(late, nullptr) == 0);
  end(listening);
  rdma_event_channel* const next = rdma_create_event_channel();
  CHECK(rdma_migrate_id(late, next) == 0 && late->channel == next);
  CHECK(!is_readable(here->fd) && is_readable(next->fd));
  CHECK(Taken(next).is(RDMA_CM_EVENT_REJECTED, 28));
  end(late);
  rdma_destroy_event_channel(next);
  rdma_destroy_event_channel(there);
  rdma_destroy_event_channel(here);
}

}  // namespace

int main() {
  test_connections();
  return report();
}
