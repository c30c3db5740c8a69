#pragma once

// What nearly every program of verbs begins with: the network card of this rank, and RC queue pairs between ranks. For
// solutions that may use the library; everything here is plain <infiniband/verbs.h>, and can be done by hand as well.
//
//   fabricbench::Card card(rank);
//   fabricbench::CompletionQueue queue(fabricbench::check_verbs(
//       ibv_create_cq(card.context(), 64, nullptr, nullptr, 0), "ibv_create_cq"));
//   fabricbench::QueuePair pair = card.make_rc(queue.get());
//   auto all = rank.all_gather(card.endpoint_of(*pair, psn));      // collective
//   fabricbench::connect_rc(*pair, psn, all[peer]);

#include <fabricbench/rank.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

namespace fabricbench {

// Of functions that return a number of errno, as most of verbs do. Throws unless it is 0.
inline void check_verbs(int error, const char* what) {
  if (error != 0) throw std::system_error(error < 0 ? -error : error, std::generic_category(), what);
}
// Of functions that return a pointer and set errno. Throws if it is null.
template <class T>
T* check_verbs(T* pointer, const char* what) {
  if (pointer == nullptr) throw std::system_error(errno, std::generic_category(), what);
  return pointer;
}

// Objects of verbs that end with their owner. Declare them in the order in which they are made: an object that another
// one uses can't be destroyed (EBUSY).
template <auto kEnd>
struct EndVerbs {
  template <class T>
  void operator()(T* object) const {
    kEnd(object);
  }
};
using CardContext = std::unique_ptr<ibv_context, EndVerbs<ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, EndVerbs<ibv_dealloc_pd>>;
using MemoryRegion = std::unique_ptr<ibv_mr, EndVerbs<ibv_dereg_mr>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, EndVerbs<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, EndVerbs<ibv_destroy_cq>>;
using SharedReceiveQueue = std::unique_ptr<ibv_srq, EndVerbs<ibv_destroy_srq>>;
using AddressHandle = std::unique_ptr<ibv_ah, EndVerbs<ibv_destroy_ah>>;
using QueuePair = std::unique_ptr<ibv_qp, EndVerbs<ibv_destroy_qp>>;

// All that a peer has to know of a queue pair.
struct Endpoint {
  uint32_t number = 0;
  uint32_t psn = 0;  // of the first packet that it sends
  uint16_t lid = 0;
};

// What a queue pair holds. The defaults are enough for a few messages under way.
struct QueueSizes {
  uint32_t sends = 64, receives = 64, pieces = 4, inline_bytes = 64;
};

// The network card of this rank: that with the number of its GPU among the cards of its node, with a protection domain.
class Card {
 public:
  explicit Card(const Rank& rank) {
    int count = 0;
    ibv_device** const list = check_verbs(ibv_get_device_list(&count), "ibv_get_device_list");
    if (count > 0) context_.reset(ibv_open_device(list[rank.device() % count]));
    ibv_free_device_list(list);
    if (count == 0) throw std::runtime_error("there is no network card");
    check_verbs(context_.get(), "ibv_open_device");
    domain_.reset(check_verbs(ibv_alloc_pd(context()), "ibv_alloc_pd"));
    ibv_port_attr port = {};
    check_verbs(ibv_query_port(context(), kPort, &port), "ibv_query_port");
    lid_ = port.lid;
  }

  static constexpr uint8_t kPort = 1;
  ibv_context* context() const { return context_.get(); }
  ibv_pd* domain() const { return domain_.get(); }
  uint16_t lid() const { return lid_; }

  // Memory of the host or of a GPU.
  MemoryRegion reg(const void* memory, size_t bytes,
                   int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ) const {
    return MemoryRegion(check_verbs(ibv_reg_mr(domain(), const_cast<void*>(memory), bytes, access), "ibv_reg_mr"));
  }
  // A queue pair in state INIT: it takes receives. Of its sends only those with IBV_SEND_SIGNALED complete, and those
  // that fail. `access`: what the peer may do with memory here.
  QueuePair make_rc(ibv_cq* queue, const QueueSizes& sizes = {}, ibv_srq* shared = nullptr,
                    int access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC) const {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = wanted.recv_cq = queue;
    wanted.srq = shared;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = sizes.sends,
                  .max_recv_wr = sizes.receives,
                  .max_send_sge = sizes.pieces,
                  .max_recv_sge = sizes.pieces,
                  .max_inline_data = sizes.inline_bytes};
    QueuePair pair(check_verbs(ibv_create_qp(domain(), &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = kPort;
    a.qp_access_flags = static_cast<unsigned>(access);
    check_verbs(ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
                "ibv_modify_qp to INIT");
    return pair;
  }
  Endpoint endpoint_of(const ibv_qp& pair, uint32_t psn) const { return {pair.qp_num, psn, lid_}; }

 private:
  CardContext context_;
  ProtectionDomain domain_;
  uint16_t lid_ = 0;
};

// INIT → RTR → RTS. `psn`: that of the own endpoint. From RTR on it receives; what the peer sends before that is
// repeated, so that no barrier is needed behind this.
inline void connect_rc(ibv_qp& pair, uint32_t psn, const Endpoint& peer) {
  constexpr uint8_t kTimeout = 14, kRetries = 7, kRnrForEver = 7, kRnrTimer = 1;  // 67 ms; 10 us
  constexpr uint8_t kReads = 16;
  ibv_qp_attr a = {};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_4096;
  a.dest_qp_num = peer.number;
  a.rq_psn = peer.psn;
  a.max_dest_rd_atomic = kReads;
  a.min_rnr_timer = kRnrTimer;
  a.ah_attr.dlid = peer.lid;
  a.ah_attr.port_num = Card::kPort;
  check_verbs(ibv_modify_qp(&pair, &a,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
              "ibv_modify_qp to RTR");
  a = {};
  a.qp_state = IBV_QPS_RTS;
  a.timeout = kTimeout;
  a.retry_cnt = kRetries;
  a.rnr_retry = kRnrForEver;
  a.sq_psn = psn;
  a.max_rd_atomic = kReads;
  check_verbs(ibv_modify_qp(&pair, &a,
                            IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                IBV_QP_MAX_QP_RD_ATOMIC),
              "ibv_modify_qp to RTS");
}

// Polls until there is a completion. Throws if it is one of an error.
inline ibv_wc wait_for_completion(ibv_cq* queue) {
  ibv_wc done = {};
  for (;;) {
    const int found = ibv_poll_cq(queue, 1, &done);
    if (found < 0) throw std::runtime_error("ibv_poll_cq failed");
    if (found == 0) continue;
    if (done.status != IBV_WC_SUCCESS)
      throw std::runtime_error(std::string("a work request failed: ") + ibv_wc_status_str(done.status));
    return done;
  }
}

}  // namespace fabricbench
