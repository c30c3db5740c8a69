// Queue pairs, shared receive queues and address handles.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "ranks/shim/verbs/call.h"
#include "ranks/shim/verbs/notes.h"
#include "ranks/shim/verbs/objects.h"

namespace fb::shim::verbs {
namespace {

// What a queue pair takes inline that asks for nothing: what is free in its smallest entry. As mlx5 has it: entries
// have units of 64 bytes, and begin with what the largest operation needs.
uint32_t inline_bytes_free(const ibv_qp_init_attr_ex& init) {
  constexpr uint32_t kUnit = 64, kPiece = 16, kInlineHeader = 4, kControl = 16, kRemote = 16, kAtomic = 16;
  constexpr uint32_t kWindow = 176, kDatagram = 48, kXrc = 16;
  constexpr uint64_t kRemotes =
      IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ;
  constexpr uint64_t kAtomics = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
  constexpr uint64_t kWindows = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
  if (init.cap.max_send_wr == 0) return 0;
  uint64_t operations = init.qp_type == IBV_QPT_UD ? 0 : ~uint64_t{0};
  if ((init.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) operations = init.send_ops_flags;
  uint32_t begin = kControl;
  if ((operations & kRemotes) != 0) begin = kControl + kRemote;
  if ((operations & kAtomics) != 0) begin = kControl + kRemote + kAtomic;
  if ((operations & kWindows) != 0) begin = kControl + kWindow;
  if (init.qp_type == IBV_QPT_UD) begin += kDatagram;
  if (init.qp_type == IBV_QPT_XRC_SEND) begin += kXrc;
  const uint32_t whole = (begin + init.cap.max_send_sge * kPiece + kUnit - 1) / kUnit * kUnit;
  return whole - begin - std::min(whole - begin, kInlineHeader);
}

// `pd`: null for a receiving queue pair of XRC, which has `xrcd`; `number`: of one that there is, 0: a new one.
QueuePair* make_pair(ibv_context* context, ibv_pd* pd, ibv_qp_init_attr_ex& init, ibv_xrcd* xrcd = nullptr,
                     uint32_t number = 0) {
  auto* const pair = new QueuePair;
  pair->told.cookie = add_cookie(pair);
  wire::VerbsMake request{.kind = wire::VerbsObject::queue_pair, .parent = pd ? of(pd).id : 0};
  request.xrc_domain = xrcd ? of(xrcd).id : 0;
  request.number = number;
  request.cookie = pair->told.cookie;
  request.send_queue = init.send_cq ? of(init.send_cq).id : 0;
  request.receive_queue = init.recv_cq ? of(init.recv_cq).id : 0;
  request.shared_queue = init.srq ? of(init.srq).id : 0;
  request.type = static_cast<uint32_t>(init.qp_type);
  request.sends = init.cap.max_send_wr;
  request.receives = init.srq || init.qp_type == IBV_QPT_XRC_SEND ? 0 : init.cap.max_recv_wr;
  request.send_pieces = init.cap.max_send_sge;
  request.receive_pieces = init.srq ? 0 : init.cap.max_recv_sge;
  request.inline_bytes = init.cap.max_inline_data != 0 ? init.cap.max_inline_data : inline_bytes_free(init);
  request.signals_all = init.sq_sig_all != 0;
  wire::VerbsMade made;
  if (const int error = make_object(request, made); error != 0) {
    remove_cookie(pair->told.cookie);
    delete pair;
    return nothing(error);
  }
  init.cap = {.max_send_wr = made.sends,
              .max_recv_wr = made.receives,
              .max_send_sge = made.send_pieces,
              .max_recv_sge = made.receive_pieces,
              .max_inline_data = made.inline_bytes};
  pair->id = made.id;
  pair->limits = init.cap;
  pair->signals_all = init.sq_sig_all != 0;
  ibv_qp& base = pair->base.qp_base;
  base.context = context;
  base.qp_context = init.qp_context;
  base.pd = pd;
  base.send_cq = init.send_cq;
  base.recv_cq = init.recv_cq;
  base.srq = init.srq;
  base.handle = static_cast<uint32_t>(made.id);
  base.qp_num = made.number;
  base.state = IBV_QPS_RESET;
  base.qp_type = init.qp_type;
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
  return pair;
}

// 0: it is none.
uint32_t mtu_bytes(ibv_mtu code) { return code < IBV_MTU_256 || code > IBV_MTU_4096 ? 0 : 128u << code; }

template <class T>
void wait_for_events(T& object, uint64_t id, const uint32_t& completed, const uint32_t& told) {
  pthread_mutex_lock(&object.mutex);
  if (completed != told) note_wait(wire::VerbsWait::acknowledgements, id, told - completed, true);
  while (completed != told) pthread_cond_wait(&object.cond, &object.mutex);
  pthread_mutex_unlock(&object.mutex);
}

}  // namespace

wire::VerbsPath path_of(const ibv_ah_attr& address) {
  wire::VerbsPath path;
  path.lid = address.dlid;
  path.global = address.is_global;
  std::memcpy(path.gid.data(), address.grh.dgid.raw, path.gid.size());
  return path;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init) {
  constexpr uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_XRCD;
  constexpr uint64_t kOperations = (IBV_QP_EX_WITH_SEND_WITH_INV << 1) - 1;
  if ((init->comp_mask & ~kKnown) != 0) return nothing(EOPNOTSUPP);
  if (init->qp_type == IBV_QPT_XRC_RECV) {
    if ((init->comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0 || !init->xrcd) return nothing(EINVAL);
    init->send_cq = init->recv_cq = nullptr;
    init->srq = nullptr;
    init->cap = {};
    QueuePair* const target = make_pair(context, nullptr, *init, init->xrcd);
    return target ? &target->base.qp_base : nullptr;
  }
  if ((init->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) return nothing(EINVAL);
  const bool extended = (init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if (extended && (init->send_ops_flags & ~kOperations) != 0) return nothing(EOPNOTSUPP);
  QueuePair* const pair = make_pair(init->pd->context, init->pd, *init);
  if (!pair) return nullptr;
  pair->is_extended = extended;
  if (extended) set_builders(*pair);
  return &pair->base.qp_base;
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attr) {
  constexpr uint32_t kNeeded = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  constexpr uint32_t kKnown = kNeeded | IBV_QP_OPEN_ATTR_CONTEXT;
  if ((attr->comp_mask & ~kKnown) != 0 || (attr->comp_mask & kNeeded) != kNeeded) return nothing(EINVAL);
  if (attr->qp_type != IBV_QPT_XRC_RECV || !attr->xrcd || attr->qp_num == 0) return nothing(EINVAL);
  ibv_qp_init_attr_ex init{};
  init.qp_type = attr->qp_type;
  if ((attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0) init.qp_context = attr->qp_context;
  QueuePair* const pair = make_pair(context, nullptr, init, attr->xrcd, attr->qp_num);
  return pair ? &pair->base.qp_base : nullptr;
}

// Shared receive queues

namespace {

ibv_srq* make_srq(ibv_pd* pd, void* srq_context, ibv_srq_attr& attr, ibv_xrcd* xrcd, ibv_cq* cq) {
  auto* const queue = new SharedReceiveQueue;
  queue->told.cookie = add_cookie(queue);
  wire::VerbsMake request{.kind = wire::VerbsObject::shared_receive_queue, .parent = of(pd).id};
  request.cookie = queue->told.cookie;
  request.receives = attr.max_wr;
  request.receive_pieces = attr.max_sge;
  request.xrc_domain = xrcd ? of(xrcd).id : 0;
  request.receive_queue = cq ? of(cq).id : 0;
  wire::VerbsMade made;
  if (const int error = make_object(request, made); error != 0) {
    remove_cookie(queue->told.cookie);
    delete queue;
    return nothing(error);
  }
  attr = {.max_wr = made.receives, .max_sge = made.receive_pieces, .srq_limit = 0};
  queue->id = made.id;
  queue->number = made.number;
  queue->limits = attr;
  ibv_srq& base = queue->base;
  base.context = pd->context;
  base.srq_context = srq_context;
  base.pd = pd;
  base.handle = static_cast<uint32_t>(made.id);
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
  return &base;
}

}  // namespace

ibv_srq* create_srq_ex(ibv_context*, ibv_srq_init_attr_ex* init) {
  constexpr uint32_t kOfXrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  constexpr uint32_t kKnown = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | kOfXrc;
  if ((init->comp_mask & ~kKnown) != 0) return nothing(EOPNOTSUPP);
  if ((init->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) return nothing(EINVAL);
  const ibv_srq_type type = (init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 ? init->srq_type : IBV_SRQT_BASIC;
  if (type == IBV_SRQT_BASIC) return make_srq(init->pd, init->srq_context, init->attr, nullptr, nullptr);
  if (type != IBV_SRQT_XRC) return nothing(EOPNOTSUPP);
  if ((init->comp_mask & kOfXrc) != kOfXrc || !init->xrcd || !init->cq) return nothing(EINVAL);
  return make_srq(init->pd, init->srq_context, init->attr, init->xrcd, init->cq);
}

int get_srq_num(ibv_srq* srq, uint32_t* number) {
  *number = of(srq).number;
  return 0;
}

// Domains of XRC. Processes that open the same file share one.

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* init) {
  constexpr uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if (init->comp_mask != kNeeded) return nothing(EINVAL);
  wire::VerbsMake request{.kind = wire::VerbsObject::xrc_domain, .parent = of(context).id};
  const bool makes = (init->oflags & O_CREAT) != 0;
  if (init->fd >= 0) {
    struct stat file{};
    if (::fstat(init->fd, &file) != 0) return nothing(EBADF);
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
    request.identity = ((uint64_t{file.st_dev} * kOdd) ^ uint64_t{file.st_ino}) >> 1 | 1;
    request.must_be_there = makes ? 0 : 1;
    request.must_be_new = makes && (init->oflags & O_EXCL) != 0 ? 1 : 0;
  } else if (!makes) {
    return nothing(EINVAL);
  }
  wire::VerbsMade made;
  if (const int error = make_object(request, made); error != 0) return nothing(error);
  auto* const domain = new XrcDomain;
  domain->id = made.id;
  domain->base = {.context = context};
  return &domain->base;
}

int close_xrcd(ibv_xrcd* xrcd) {
  const int error = end_object(wire::VerbsObject::xrc_domain, of(xrcd).id);
  if (error == 0) delete &of(xrcd);
  return error;
}

}  // namespace fb::shim::verbs

using namespace fb::shim::verbs;
namespace wire = fb::wire;

// Queue pairs

FB_VERBS ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  ibv_qp_init_attr_ex extended{};
  std::memcpy(&extended, init, sizeof *init);  // it begins so
  QueuePair* const pair = make_pair(pd->context, pd, extended);
  if (!pair) return nullptr;
  init->cap = extended.cap;
  return &pair->base.qp_base;
}

FB_VERBS ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) { return of(qp).is_extended ? &of(qp).base : nullptr; }

FB_VERBS int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  wire::VerbsModify request{.pair = of(qp).id};
  wire::VerbsAttributes& to = request.to;
  const auto has = [mask](int bit) { return (mask & bit) != 0; };
  to.mask = static_cast<uint32_t>(mask);
  if (has(IBV_QP_STATE)) to.state = static_cast<uint32_t>(attr->qp_state);
  if (has(IBV_QP_CUR_STATE)) to.current = static_cast<uint32_t>(attr->cur_qp_state);
  if (has(IBV_QP_ACCESS_FLAGS)) to.access_flags = attr->qp_access_flags;
  if (has(IBV_QP_QKEY)) to.qkey = attr->qkey;
  if (has(IBV_QP_PKEY_INDEX)) to.pkey_index = attr->pkey_index;
  if (has(IBV_QP_PORT)) to.port = attr->port_num;
  if (has(IBV_QP_PATH_MTU)) to.path_mtu = mtu_bytes(attr->path_mtu);
  if (has(IBV_QP_DEST_QPN)) to.remote_number = attr->dest_qp_num;
  if (has(IBV_QP_RQ_PSN)) to.receive_psn = attr->rq_psn;
  if (has(IBV_QP_SQ_PSN)) to.send_psn = attr->sq_psn;
  if (has(IBV_QP_MAX_DEST_RD_ATOMIC)) to.reads_in = attr->max_dest_rd_atomic;
  if (has(IBV_QP_MAX_QP_RD_ATOMIC)) to.reads_out = attr->max_rd_atomic;
  if (has(IBV_QP_MIN_RNR_TIMER)) to.rnr_timer = attr->min_rnr_timer;
  if (has(IBV_QP_TIMEOUT)) to.timeout = attr->timeout;
  if (has(IBV_QP_RETRY_CNT)) to.retry_count = attr->retry_cnt;
  if (has(IBV_QP_RNR_RETRY)) to.rnr_retry = attr->rnr_retry;
  if (has(IBV_QP_EN_SQD_ASYNC_NOTIFY)) to.notify_drained = attr->en_sqd_async_notify;
  if (has(IBV_QP_AV)) to.path = path_of(attr->ah_attr);
  wire::VerbsResult result;
  if (!ask<wire::Kind::verbs_modify>(request, result)) return EIO;
  if (result.error != 0) return static_cast<int>(result.error);
  if (has(IBV_QP_STATE)) qp->state = attr->qp_state;
  if (has(IBV_QP_AV)) of(qp).address = attr->ah_attr;
  return 0;
}

FB_VERBS int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int, ibv_qp_init_attr* init) {
  wire::VerbsPair reply;
  if (!ask<wire::Kind::verbs_query>({of(qp).id}, reply)) return EIO;
  if (reply.error != 0) return static_cast<int>(reply.error);
  const wire::VerbsAttributes& from = reply.attributes;
  *attr = {};
  attr->qp_state = attr->cur_qp_state = qp->state = static_cast<ibv_qp_state>(from.state);
  attr->path_mtu = mtu_code(from.path_mtu);
  attr->qkey = from.qkey;
  attr->rq_psn = from.receive_psn;
  attr->sq_psn = from.send_psn;
  attr->dest_qp_num = from.remote_number;
  attr->qp_access_flags = from.access_flags;
  attr->cap = of(qp).limits;
  attr->ah_attr = of(qp).address;
  attr->pkey_index = static_cast<uint16_t>(from.pkey_index);
  attr->max_rd_atomic = static_cast<uint8_t>(from.reads_out);
  attr->max_dest_rd_atomic = static_cast<uint8_t>(from.reads_in);
  attr->min_rnr_timer = static_cast<uint8_t>(from.rnr_timer);
  attr->port_num = static_cast<uint8_t>(from.port);
  attr->timeout = static_cast<uint8_t>(from.timeout);
  attr->retry_cnt = static_cast<uint8_t>(from.retry_count);
  attr->rnr_retry = static_cast<uint8_t>(from.rnr_retry);
  if (!init) return 0;
  *init = {.qp_context = qp->qp_context,
           .send_cq = qp->send_cq,
           .recv_cq = qp->recv_cq,
           .srq = qp->srq,
           .cap = of(qp).limits,
           .qp_type = qp->qp_type,
           .sq_sig_all = of(qp).signals_all ? 1 : 0};
  return 0;
}

FB_VERBS int ibv_destroy_qp(ibv_qp* qp) {
  QueuePair& pair = of(qp);
  if (const int error = end_object(wire::VerbsObject::queue_pair, pair.id); error != 0) return error;
  remove_cookie(pair.told.cookie);
  wait_for_events(*qp, pair.id, qp->events_completed, pair.told.async_events);
  delete &pair;
  return 0;
}

// No order is promised among the bytes of one message.
FB_VERBS int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t) { return 0; }

// Shared receive queues

FB_VERBS ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  return make_srq(pd, init->srq_context, init->attr, nullptr, nullptr);
}

FB_VERBS int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  if (mask == 0 || (mask & ~(IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR)) != 0) return EINVAL;
  if ((mask & IBV_SRQ_MAX_WR) != 0) return EOPNOTSUPP;  // as mlx5: queues keep their size
  wire::VerbsResult result;
  if (!ask<wire::Kind::verbs_change>({.setting = wire::VerbsSetting::limit, .value = attr->srq_limit, .id = of(srq).id},
                                     result))
    return EIO;
  return static_cast<int>(result.error);
}

FB_VERBS int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  wire::VerbsResult result;
  if (!ask<wire::Kind::verbs_change>({.setting = wire::VerbsSetting::get_limit, .id = of(srq).id}, result)) return EIO;
  *attr = of(srq).limits;
  attr->srq_limit = result.value;
  return static_cast<int>(result.error);
}

FB_VERBS int ibv_destroy_srq(ibv_srq* srq) {
  SharedReceiveQueue& queue = of(srq);
  if (const int error = end_object(wire::VerbsObject::shared_receive_queue, queue.id); error != 0) return error;
  remove_cookie(queue.told.cookie);
  wait_for_events(*srq, queue.id, srq->events_completed, queue.told.async_events);
  delete &queue;
  return 0;
}

// Address handles

FB_VERBS ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  if (attr->port_num != 1) return nothing(EINVAL);
  wire::VerbsMake request{.kind = wire::VerbsObject::address, .parent = of(pd).id};
  request.path = path_of(*attr);
  wire::VerbsMade made;
  if (const int error = make_object(request, made); error != 0) return nothing(error);
  auto* const handle = new AddressHandle;
  handle->id = made.id;
  handle->base = {.context = pd->context, .pd = pd, .handle = static_cast<uint32_t>(made.id)};
  return &handle->base;
}

FB_VERBS int ibv_destroy_ah(ibv_ah* ah) {
  const int error = end_object(wire::VerbsObject::address, of(ah).id);
  if (error == 0) delete &of(ah);
  return error;
}

FB_VERBS int ibv_init_ah_from_wc(ibv_context*, uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* attr) {
  *attr = {};
  attr->dlid = wc->slid;
  attr->sl = wc->sl;
  attr->src_path_bits = wc->dlid_path_bits;
  attr->port_num = port;
  if ((wc->wc_flags & IBV_WC_GRH) != 0) {
    attr->is_global = 1;
    attr->grh.dgid = grh->sgid;
    attr->grh.hop_limit = 0xff;
  }
  return 0;
}

FB_VERBS ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port) {
  ibv_ah_attr attr{};
  ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr);
  return ibv_create_ah(pd, &attr);
}
