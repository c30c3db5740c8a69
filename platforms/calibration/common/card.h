// Shared by programs that measure network cards: one end of a connection, with memory that the card may use. Programs
// run under --virtual-clock, so that the host's clock is the machine's.
#pragma once
#include <cuda_runtime.h>
#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../../examples/common/bootstrap.h"
#include "../../../examples/common/check.h"

inline double now_in_microseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What the other end has to know.
struct Address {
  uint32_t lid = 0, number = 0;
  uint64_t memory = 0;
  uint32_t key = 0;
};

enum class Memory { host, device };

class Card {
 public:
  static constexpr int kDepth = 128;  // of queues: that of perftest

  Card(ibv_qp_type type, size_t bytes, Memory where = Memory::host) : type_(type) {
    int count = 0;
    ibv_device** const devices = ibv_get_device_list(&count);
    if (count == 0) fail("there is no card");
    context_ = ibv_open_device(devices[0]);
    pd_ = ibv_alloc_pd(context_);
    if (where == Memory::device) {
      CHECK(cudaMalloc(&memory_, bytes));
    } else {
      memory_ = std::calloc(bytes, 1);
    }
    mr_ = ibv_reg_mr(
        pd_, memory_, bytes,
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    cq_ = ibv_create_cq(context_, 2 * kDepth, nullptr, nullptr, 0);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.cap.max_send_wr = init.cap.max_recv_wr = kDepth;
    init.cap.max_send_sge = init.cap.max_recv_sge = 2;
    init.cap.max_inline_data = 220;
    init.qp_type = type;
    qp_ = ibv_create_qp(pd_, &init);
    if (!mr_ || !cq_ || !qp_) fail("the card gave no queue pair");
  }
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
  ~Card() {
    ibv_destroy_qp(qp_);
    ibv_destroy_cq(cq_);
    ibv_dereg_mr(mr_);
  }

  void* memory() const { return memory_; }
  bool promises_order() const { return ibv_query_qp_data_in_order(qp_, IBV_WR_RDMA_WRITE, 0) != 0; }

  Address address() const {
    ibv_port_attr port{};
    ibv_query_port(context_, 1, &port);
    return {port.lid, qp_->qp_num, reinterpret_cast<uint64_t>(memory_), mr_->rkey};
  }

  void connect(const Address& peer) {
    peer_ = peer;
    const bool reliable = type_ == IBV_QPT_RC;
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (reliable) a.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    change(a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    a = {};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_4096;
    a.dest_qp_num = peer.number;
    a.max_dest_rd_atomic = 16;
    a.min_rnr_timer = 12;
    a.ah_attr.dlid = static_cast<uint16_t>(peer.lid);
    a.ah_attr.port_num = 1;
    change(a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                  (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
    a = {};
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = a.rnr_retry = 7;
    a.max_rd_atomic = 16;
    change(a, IBV_QP_STATE | IBV_QP_SQ_PSN |
                  (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0));
  }

  void receive(long bytes) {
    ibv_sge sge = piece(0, bytes);
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = bytes == 0 ? 0 : 1;
    if (ibv_post_recv(qp_, &wr, &bad) != 0) fail("ibv_post_recv");
  }

  // `pieces`: the payload is in so many parts.
  void post(ibv_wr_opcode opcode, long bytes, unsigned int flags = IBV_SEND_SIGNALED, int pieces = 1) {
    const bool is_atomic = opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    ibv_sge list[2] = {piece(0, bytes / pieces), piece(bytes / pieces, bytes - bytes / pieces)};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = list;
    wr.num_sge = bytes == 0 ? 0 : pieces;
    wr.opcode = opcode;
    wr.send_flags = flags;
    if (is_atomic) {
      wr.wr.atomic.remote_addr = peer_.memory;
      wr.wr.atomic.rkey = peer_.key;
      wr.wr.atomic.compare_add = wr.wr.atomic.swap = 1;
    } else {
      wr.wr.rdma.remote_addr = peer_.memory;
      wr.wr.rdma.rkey = peer_.key;
    }
    if (ibv_post_send(qp_, &wr, &bad) != 0) fail("ibv_post_send");
  }

  void wait(int completions = 1) {
    ibv_wc wc[8];
    while (completions > 0) {
      const int found = ibv_poll_cq(cq_, completions < 8 ? completions : 8, wc);
      if (found < 0) fail("ibv_poll_cq");
      for (int k = 0; k < found; ++k) {
        if (wc[k].status != IBV_WC_SUCCESS) fail("a completion failed: %s", ibv_wc_status_str(wc[k].status));
      }
      completions -= found;
    }
  }

 private:
  ibv_sge piece(long at, long bytes) const {
    return {reinterpret_cast<uint64_t>(memory_) + static_cast<uint64_t>(at), static_cast<uint32_t>(bytes), mr_->lkey};
  }
  void change(ibv_qp_attr& to, int mask) {
    if (ibv_modify_qp(qp_, &to, mask) != 0) fail("ibv_modify_qp, state %d", static_cast<int>(to.qp_state));
  }

  ibv_qp_type type_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  void* memory_ = nullptr;
  Address peer_;
};
