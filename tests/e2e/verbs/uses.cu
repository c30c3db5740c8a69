// Uses and misuses of verbs in one process: errno of calls, statuses of completions, events, memory of all kinds.
// Prints every check that fails, and how many there were.

#include <cuda_runtime.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

int checks = 0, failed = 0;

#define CHECK(condition)                                          \
  do {                                                            \
    ++checks;                                                     \
    if (!(condition)) {                                           \
      ++failed;                                                   \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                             \
  } while (false)

constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

// A card with a queue pair; two of them are connected.
struct End {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
  ibv_mr* mr = nullptr;
  ibv_port_attr port{};
  alignas(64) char buffer[8192] = {};

  explicit End(ibv_device* device, int entries = 64) {
    context = ibv_open_device(device);
    pd = ibv_alloc_pd(context);
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, entries, this, channel, 0);
    mr = ibv_reg_mr(pd, buffer, sizeof buffer, kAll);
    ibv_query_port(context, 1, &port);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {8, 8, 2, 2, 64};
    init.qp_type = IBV_QPT_RC;
    qp = ibv_create_qp(pd, &init);
  }
  ~End() {
    CHECK(ibv_destroy_qp(qp) == 0);
    CHECK(ibv_dereg_mr(mr) == 0);
    CHECK(ibv_destroy_cq(cq) == 0);
    CHECK(ibv_destroy_comp_channel(channel) == 0);
    CHECK(ibv_dealloc_pd(pd) == 0);
    CHECK(ibv_close_device(context) == 0);
  }
  int init(int access = kAll & ~IBV_ACCESS_MW_BIND) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qp_access_flags = static_cast<unsigned int>(access);
    return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  }
  int to_rtr(const End& peer, int missing = 0) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_4096;
    a.dest_qp_num = peer.qp->qp_num;
    a.rq_psn = 7;
    a.max_dest_rd_atomic = 4;
    a.min_rnr_timer = 1;
    a.ah_attr.dlid = peer.port.lid;
    a.ah_attr.port_num = 1;
    return ibv_modify_qp(qp, &a,
                         (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) &
                             ~missing);
  }
  int to_rts() {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 10;
    a.retry_cnt = 1;
    a.rnr_retry = 1;
    a.sq_psn = 7;
    a.max_rd_atomic = 4;
    return ibv_modify_qp(
        qp, &a,
        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  }
  int change(ibv_qp_state to) {
    ibv_qp_attr a{};
    a.qp_state = to;
    return ibv_modify_qp(qp, &a, IBV_QP_STATE);
  }
  ibv_sge piece(size_t at, uint32_t bytes) { return {reinterpret_cast<uint64_t>(buffer + at), bytes, mr->lkey}; }
  int receive(uint64_t id, ibv_sge sge) {
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    return ibv_post_recv(qp, &wr, &bad);
  }
  int send(uint64_t id, ibv_wr_opcode opcode, ibv_sge sge, const void* remote = nullptr, uint32_t key = 0,
           int flags = IBV_SEND_SIGNALED, uint64_t compare = 0, uint64_t swap = 0) {
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = static_cast<unsigned int>(flags);
    wr.imm_data = 0x12345678;
    if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {reinterpret_cast<uint64_t>(remote), compare, swap, key};
    } else {
      wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(remote);
      wr.wr.rdma.rkey = key;
    }
    return ibv_post_send(qp, &wr, &bad);
  }
  // The next completion, of any kind.
  ibv_wc next() {
    ibv_wc wc{};
    for (int tries = 0; tries < 100000; ++tries) {
      if (ibv_poll_cq(cq, 1, &wc) == 1) return wc;
    }
    wc.status = IBV_WC_GENERAL_ERR;
    return wc;
  }
  ibv_wc_status status() { return next().status; }
};

void join(End& a, End& b) {
  CHECK(a.init() == 0 && b.init() == 0);
  CHECK(a.to_rtr(b) == 0 && b.to_rtr(a) == 0);
  CHECK(a.to_rts() == 0 && b.to_rts() == 0);
}

void check_devices(ibv_device** list, int count) {
  CHECK(count == 8);
  CHECK(list[8] == nullptr);
  CHECK(std::strcmp(ibv_get_device_name(list[5]), "mlx5_5") == 0);
  ibv_context* c = ibv_open_device(list[0]);
  ibv_device_attr a{};
  CHECK(ibv_query_device(c, &a) == 0 && a.phys_port_cnt == 1 && a.atomic_cap == IBV_ATOMIC_HCA);
  ibv_device_attr_ex x{};
  CHECK(ibv_query_device_ex(c, nullptr, &x) == 0 && x.hca_core_clock != 0);
  ibv_port_attr p{};
  CHECK(ibv_query_port(c, 2, &p) == EINVAL);
  CHECK(ibv_query_port(c, 1, &p) == 0 && p.state == IBV_PORT_ACTIVE && p.link_layer == IBV_LINK_LAYER_INFINIBAND);
  ibv_gid gid{};
  CHECK(ibv_query_gid(c, 1, 0, &gid) == 0 && gid.raw[0] == 0xfe);
  CHECK(ibv_query_gid(c, 1, 9, &gid) == -1);
  ibv_values_ex v{};
  v.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  CHECK(ibv_query_rt_values_ex(c, &v) == 0 && v.raw_clock.tv_nsec > 0);
  errno = 0;
  CHECK(ibv_create_cq(c, 0, nullptr, nullptr, 0) == nullptr && errno == EINVAL);
  CHECK(ibv_create_cq(c, a.max_cqe + 1, nullptr, nullptr, 0) == nullptr && errno == EINVAL);
  CHECK(ibv_create_cq(c, 1, nullptr, nullptr, 5) == nullptr && errno == EINVAL);
  ibv_pd* pd = ibv_alloc_pd(c);
  char byte[64];
  CHECK(ibv_reg_mr(pd, byte, sizeof byte, IBV_ACCESS_REMOTE_WRITE) == nullptr && errno == EINVAL);
  CHECK(ibv_reg_mr(pd, nullptr, 64, 0) == nullptr);
  ibv_mr* mr = ibv_reg_mr(pd, byte, sizeof byte, IBV_ACCESS_LOCAL_WRITE);
  CHECK(mr != nullptr);
  ibv_mr* again = ibv_reg_mr(pd, byte, sizeof byte, IBV_ACCESS_LOCAL_WRITE);  // overlaps are allowed
  CHECK(again != nullptr && again->lkey != mr->lkey);
  CHECK(ibv_dealloc_pd(pd) == EBUSY);
  CHECK(ibv_dereg_mr(mr) == 0 && ibv_dereg_mr(again) == 0);
  CHECK(ibv_dealloc_pd(pd) == 0);
  errno = 0;
  CHECK(ibv_import_pd(c, 1) == nullptr && errno == EOPNOTSUPP);
  CHECK(ibv_close_device(c) == 0);
}

void check_states(ibv_device** list) {
  End a(list[0]), b(list[1]);
  CHECK(a.receive(1, a.piece(0, 8)) == EINVAL);
  CHECK(a.change(IBV_QPS_ERR) == EINVAL);
  CHECK(a.to_rtr(b) == EINVAL);
  CHECK(a.init() == 0);
  CHECK(a.receive(1, a.piece(0, 8)) == 0);
  CHECK(a.send(1, IBV_WR_SEND, a.piece(0, 8)) == EINVAL);
  CHECK(a.to_rtr(b, IBV_QP_RQ_PSN) == EINVAL);
  CHECK(a.to_rtr(b, IBV_QP_MIN_RNR_TIMER) == EINVAL);
  CHECK(a.to_rtr(b) == 0);
  CHECK(a.to_rts() == 0);
  ibv_qp_attr q{};
  ibv_qp_init_attr qi{};
  CHECK(ibv_query_qp(a.qp, &q, IBV_QP_STATE, &qi) == 0 && q.qp_state == IBV_QPS_RTS && q.dest_qp_num == b.qp->qp_num);
  CHECK(q.cap.max_send_wr >= 8 && qi.qp_type == IBV_QPT_RC);
  CHECK(a.change(IBV_QPS_ERR) == 0);
  CHECK(a.status() == IBV_WC_WR_FLUSH_ERR);
  CHECK(a.change(IBV_QPS_RTS) == EINVAL);
  CHECK(a.change(IBV_QPS_RESET) == 0);
}

void check_work(ibv_device** list) {
  End a(list[0]), b(list[3]);
  join(a, b);
  std::strcpy(a.buffer, "first");
  CHECK(b.receive(20, b.piece(100, 64)) == 0);
  CHECK(a.send(1, IBV_WR_SEND_WITH_IMM, a.piece(0, 6)) == 0);
  CHECK(a.next().opcode == IBV_WC_SEND);
  ibv_wc wc = b.next();
  CHECK(wc.wr_id == 20 && wc.byte_len == 6 && wc.imm_data == 0x12345678 && (wc.wc_flags & IBV_WC_WITH_IMM) != 0);
  CHECK(std::strcmp(b.buffer + 100, "first") == 0);

  CHECK(a.send(2, IBV_WR_RDMA_WRITE, a.piece(0, 6), b.buffer + 200, b.mr->rkey) == 0 && a.status() == IBV_WC_SUCCESS);
  CHECK(std::strcmp(b.buffer + 200, "first") == 0);
  std::strcpy(b.buffer + 300, "there");
  CHECK(a.send(3, IBV_WR_RDMA_READ, a.piece(400, 6), b.buffer + 300, b.mr->rkey) == 0 && a.status() == IBV_WC_SUCCESS);
  CHECK(std::strcmp(a.buffer + 400, "there") == 0);

  auto* const counter = reinterpret_cast<uint64_t*>(b.buffer + 512);
  *counter = 40;
  CHECK(a.send(4, IBV_WR_ATOMIC_FETCH_AND_ADD, a.piece(512, 8), counter, b.mr->rkey, IBV_SEND_SIGNALED, 2) == 0);
  CHECK(a.status() == IBV_WC_SUCCESS && *counter == 42 && *reinterpret_cast<uint64_t*>(a.buffer + 512) == 40);
  CHECK(a.send(5, IBV_WR_ATOMIC_CMP_AND_SWP, a.piece(512, 8), counter, b.mr->rkey, IBV_SEND_SIGNALED, 42, 7) == 0);
  CHECK(a.status() == IBV_WC_SUCCESS && *counter == 7);

  std::strcpy(a.buffer, "inline");
  CHECK(a.send(6, IBV_WR_RDMA_WRITE, {reinterpret_cast<uint64_t>(a.buffer), 7, 0}, b.buffer + 200, b.mr->rkey,
               IBV_SEND_SIGNALED | IBV_SEND_INLINE) == 0);
  std::strcpy(a.buffer, "changed");
  CHECK(a.status() == IBV_WC_SUCCESS && std::strcmp(b.buffer + 200, "inline") == 0);
  CHECK(a.send(7, IBV_WR_RDMA_WRITE, a.piece(0, 1000), b.buffer, b.mr->rkey, IBV_SEND_INLINE) == EINVAL);
  CHECK(a.send(8, IBV_WR_RDMA_WRITE, a.piece(0, 0), nullptr, 0) == 0 && a.status() == IBV_WC_SUCCESS);

  // A full send queue: unsignaled requests are not given back.
  int posted = 0;
  while (a.send(9, IBV_WR_RDMA_WRITE, a.piece(0, 8), b.buffer, b.mr->rkey, 0) == 0) ++posted;
  CHECK(posted == 8);
  CHECK(a.send(9, IBV_WR_RDMA_WRITE, a.piece(0, 8), b.buffer, b.mr->rkey, 0) == ENOMEM);
}

void check_errors(ibv_device** list) {
  const auto outcome = [&](auto post) {
    End a(list[0]), b(list[1]);
    join(a, b);
    CHECK(post(a, b) == 0);
    return a.status();
  };
  CHECK(outcome([](End& a, End& b) {
          return a.send(1, IBV_WR_RDMA_WRITE, a.piece(0, 8), b.buffer, b.mr->rkey + 0x1000);
        }) == IBV_WC_REM_ACCESS_ERR);
  CHECK(outcome([](End& a, End& b) {
          return a.send(1, IBV_WR_RDMA_WRITE, a.piece(0, 8), b.buffer + 8190, b.mr->rkey);
        }) == IBV_WC_REM_ACCESS_ERR);
  CHECK(outcome([](End& a, End& b) {
          return a.send(1, IBV_WR_ATOMIC_FETCH_AND_ADD, a.piece(0, 8), b.buffer + 4, b.mr->rkey);
        }) == IBV_WC_REM_INV_REQ_ERR);
  CHECK(outcome([](End& a, End&) { return a.send(1, IBV_WR_SEND, a.piece(0, 8)); }) == IBV_WC_RNR_RETRY_EXC_ERR);
  CHECK(outcome([](End& a, End& b) {
          CHECK(b.receive(1, b.piece(0, 4)) == 0);
          return a.send(1, IBV_WR_SEND, a.piece(0, 8));
        }) == IBV_WC_REM_INV_REQ_ERR);
  CHECK(outcome([](End& a, End& b) {
          return a.send(1, IBV_WR_RDMA_WRITE, {reinterpret_cast<uint64_t>(a.buffer), 8, 1}, b.buffer, b.mr->rkey);
        }) == IBV_WC_LOC_PROT_ERR);
  CHECK(outcome([](End& a, End& b) {
          CHECK(b.change(IBV_QPS_RESET) == 0);
          return a.send(1, IBV_WR_SEND, a.piece(0, 8));
        }) == IBV_WC_RETRY_EXC_ERR);
}

void check_events(ibv_device** list) {
  End a(list[0]), b(list[1]);
  join(a, b);
  CHECK(ibv_req_notify_cq(b.cq, 0) == 0);
  pollfd waits{b.channel->fd, POLLIN, 0};
  CHECK(poll(&waits, 1, 0) == 0);
  CHECK(b.receive(1, b.piece(0, 8)) == 0);
  CHECK(a.send(1, IBV_WR_SEND, a.piece(0, 8)) == 0);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  CHECK(ibv_get_cq_event(b.channel, &cq, &context) == 0 && cq == b.cq && context == &b);
  ibv_ack_cq_events(cq, 1);
  CHECK(b.status() == IBV_WC_SUCCESS && a.status() == IBV_WC_SUCCESS);
  fcntl(b.channel->fd, F_SETFL, O_NONBLOCK);
  CHECK(ibv_get_cq_event(b.channel, &cq, &context) == -1 && errno == EAGAIN);
  // An access error at the responder
  CHECK(a.send(1, IBV_WR_RDMA_WRITE, a.piece(0, 8), b.buffer, 12345) == 0 && a.status() == IBV_WC_REM_ACCESS_ERR);
  ibv_async_event event{};
  CHECK(ibv_get_async_event(b.context, &event) == 0 && event.event_type == IBV_EVENT_QP_ACCESS_ERR &&
        event.element.qp == b.qp);
  ibv_ack_async_event(&event);
}

void check_windows(ibv_device** list) {
  End a(list[0]), b(list[1]);
  join(a, b);
  ibv_mw* mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
  CHECK(mw != nullptr);
  ibv_mw_bind bind{};
  bind.wr_id = 5;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {b.mr, reinterpret_cast<uint64_t>(b.buffer + 64), 64, IBV_ACCESS_REMOTE_WRITE};
  const uint32_t before = mw->rkey;
  CHECK(ibv_bind_mw(b.qp, mw, &bind) == 0 && mw->rkey != before);
  CHECK(b.next().opcode == IBV_WC_BIND_MW);
  CHECK(ibv_dereg_mr(b.mr) == EBUSY);
  CHECK(a.send(1, IBV_WR_RDMA_WRITE, a.piece(0, 8), b.buffer + 64, mw->rkey) == 0 && a.status() == IBV_WC_SUCCESS);
  CHECK(a.send(1, IBV_WR_RDMA_WRITE, a.piece(0, 8), b.buffer, mw->rkey) == 0 && a.status() == IBV_WC_REM_ACCESS_ERR);
  CHECK(ibv_dealloc_mw(mw) == 0);
}

// Memory of a GPU, pinned memory, and the heap
void check_memory(ibv_device** list) {
  End a(list[0]), b(list[1]);
  join(a, b);
  void *device = nullptr, *pinned = nullptr;
  CHECK(cudaMalloc(&device, 4096) == cudaSuccess && cudaMallocHost(&pinned, 4096) == cudaSuccess);
  std::vector<char> heap(100'000);
  for (void* memory : {device, pinned, static_cast<void*>(heap.data() + 5000)}) {
    ibv_mr* mr = ibv_reg_mr(b.pd, memory, 4096, kAll);
    CHECK(mr != nullptr);
    if (!mr) continue;
    std::strcpy(a.buffer, "to and fro");
    CHECK(a.send(1, IBV_WR_RDMA_WRITE, a.piece(0, 11), memory, mr->rkey) == 0 && a.status() == IBV_WC_SUCCESS);
    char seen[16] = {};
    CHECK(cudaMemcpy(seen, memory, 11, cudaMemcpyDefault) == cudaSuccess && std::strcmp(seen, "to and fro") == 0);
    CHECK(a.send(1, IBV_WR_RDMA_READ, a.piece(100, 11), memory, mr->rkey) == 0 && a.status() == IBV_WC_SUCCESS);
    CHECK(std::strcmp(a.buffer + 100, "to and fro") == 0);
    CHECK(ibv_dereg_mr(mr) == 0);
  }
  CHECK(heap[5000] == 't' && heap[4999] == 0);
  cudaFree(device);
  cudaFreeHost(pinned);
}

}  // namespace

int main() {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  check_devices(list, count);
  check_states(list);
  check_work(list);
  check_errors(list);
  check_events(list);
  check_windows(list);
  check_memory(list);
  ibv_free_device_list(list);
  std::printf("%d checks, %d failed\n", checks, failed);
  return failed == 0 ? 0 : 1;
}
