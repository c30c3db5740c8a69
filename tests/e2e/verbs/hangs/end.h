// One end of a connection between the two ranks of a run, each with everything that a program of verbs makes.
#pragma once

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      std::printf("%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
      std::exit(3);                                                   \
    }                                                                 \
  } while (0)

inline int rank() { return std::atoi(std::getenv("RANK")); }

// Bytes from one rank to the other, by named pipes that the ranks of one launcher share. A rank that waits there does
// not spin.
inline int pipe_of(int reader) {
  const char* folder = std::getenv("TMPDIR");
  const std::string path =
      std::string(folder ? folder : "/tmp") + "/verbs_end." + std::to_string(getppid()) + "." + std::to_string(reader);
  mkfifo(path.c_str(), 0600);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);  // for both: it is never closed at the other end
  EXPECT(descriptor >= 0);
  return descriptor;
}
template <class T>
T exchange(const T& mine) {
  static const int from = pipe_of(rank()), to = pipe_of(1 - rank());
  T theirs;
  EXPECT(write(to, &mine, sizeof mine) == sizeof mine);
  EXPECT(read(from, &theirs, sizeof theirs) == sizeof theirs);
  return theirs;
}
inline void barrier() { exchange(0); }

struct Options {
  ibv_qp_type type = IBV_QPT_RC;
  uint32_t sends = 4, receives = 8;
  bool shared = false;   // receives are shared
  bool channel = false;  // the queue of receives has one
  int timeout = 14, rnr_retry = 7, reads_in = 1, reads_out = 1;
  uint32_t wrong_number = 0;  // added to the peer's
  uint16_t wrong_lid = 0;
  uint32_t receive_psn = 0;
  uint32_t qkey = 17;
  ibv_qp_state last = IBV_QPS_RTS;
  bool waits = true;  // both are ready before any of them goes on
};

struct Name {
  uint32_t number = 0, key = 0;
  uint16_t lid = 0;
  uint64_t address = 0;
};

struct End {
  static constexpr size_t kBytes = 8192;
  Options options;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq *send_cq = nullptr, *receive_cq = nullptr;
  ibv_srq* srq = nullptr;
  ibv_qp* qp = nullptr;
  ibv_mr* mr = nullptr;
  char* memory = nullptr;
  Name mine, peer;

  explicit End(const Options& o = {}) : options(o) {
    ibv_device** list = ibv_get_device_list(nullptr);
    context = ibv_open_device(list[0]);
    EXPECT(context);
    pd = ibv_alloc_pd(context);
    if (o.channel) channel = ibv_create_comp_channel(context);
    send_cq = ibv_create_cq(context, 64, nullptr, nullptr, 0);
    receive_cq = ibv_create_cq(context, 64, nullptr, channel, 0);
    memory = static_cast<char*>(std::aligned_alloc(4096, kBytes));
    std::memset(memory, 0, kBytes);
    mr = ibv_reg_mr(pd, memory, kBytes,
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
    EXPECT(mr);
    if (o.shared) {
      ibv_srq_init_attr init{};
      init.attr = {8, 1, 0};
      srq = ibv_create_srq(pd, &init);
    }
    qp = make_pair();
    ibv_port_attr port{};
    ibv_query_port(context, 1, &port);
    mine = {qp->qp_num, mr->rkey, port.lid, reinterpret_cast<uint64_t>(memory)};
    peer = exchange(mine);
  }

  ibv_qp* make_pair() const {
    ibv_qp_init_attr init{};
    init.send_cq = send_cq;
    init.recv_cq = receive_cq;
    init.srq = srq;
    init.cap = {options.sends, srq ? 0 : options.receives, 1, 1, 64};
    init.qp_type = options.type;
    ibv_qp* made = ibv_create_qp(pd, &init);
    EXPECT(made);
    return made;
  }

  void connect() { connect(qp, peer.number); }
  void connect(ibv_qp* which, uint32_t to) const {
    const bool ud = options.type == IBV_QPT_UD, rc = options.type == IBV_QPT_RC;
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qkey = options.qkey;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    EXPECT(ibv_modify_qp(which, &a,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)) ==
           0);
    if (options.last != IBV_QPS_INIT) {
      a.qp_state = IBV_QPS_RTR;
      a.path_mtu = IBV_MTU_1024;
      a.dest_qp_num = to + options.wrong_number;
      a.ah_attr.dlid = static_cast<uint16_t>(peer.lid + options.wrong_lid);
      a.ah_attr.port_num = 1;
      a.min_rnr_timer = 1;
      a.rq_psn = options.receive_psn;
      a.max_dest_rd_atomic = static_cast<uint8_t>(options.reads_in);
      const int connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
      EXPECT(ibv_modify_qp(which, &a,
                           IBV_QP_STATE | (ud ? 0 : connected) |
                               (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)) == 0);
    }
    if (options.last == IBV_QPS_RTS) {
      a.qp_state = IBV_QPS_RTS;
      a.timeout = static_cast<uint8_t>(options.timeout);
      a.retry_cnt = 3;
      a.rnr_retry = static_cast<uint8_t>(options.rnr_retry);
      a.max_rd_atomic = static_cast<uint8_t>(options.reads_out);
      const int reliable = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
      EXPECT(ibv_modify_qp(which, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | (rc ? reliable : 0)) == 0);
    }
    if (options.waits) barrier();
  }

  int receive(uint32_t bytes = 64, uint64_t id = 1) const {
    ibv_sge piece{reinterpret_cast<uint64_t>(memory), bytes, mr->lkey};
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = id;
    wr.sg_list = &piece;
    wr.num_sge = 1;
    return srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad);
  }

  ibv_send_wr request(ibv_sge& piece, ibv_wr_opcode opcode = IBV_WR_SEND, unsigned flags = IBV_SEND_SIGNALED,
                      uint32_t bytes = 64) const {
    piece = {reinterpret_cast<uint64_t>(memory) + 4096, bytes, mr->lkey};
    ibv_send_wr wr{};
    wr.wr_id = 4711;
    wr.sg_list = &piece;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = flags;
    wr.wr.rdma.remote_addr = peer.address;
    wr.wr.rdma.rkey = peer.key;
    return wr;
  }
  int send(ibv_wr_opcode opcode = IBV_WR_SEND, unsigned flags = IBV_SEND_SIGNALED, uint32_t bytes = 64) const {
    ibv_sge piece;
    ibv_send_wr wr = request(piece, opcode, flags, bytes), *bad = nullptr;
    return ibv_post_send(qp, &wr, &bad);
  }
  int send_datagram(uint32_t number, uint32_t qkey, uint32_t bytes = 64) const {
    ibv_ah_attr a{};
    a.dlid = peer.lid;
    a.port_num = 1;
    ibv_sge piece;
    ibv_send_wr wr = request(piece, IBV_WR_SEND, IBV_SEND_SIGNALED, bytes), *bad = nullptr;
    wr.wr.ud.ah = ibv_create_ah(pd, &a);
    wr.wr.ud.remote_qpn = number;
    wr.wr.ud.remote_qkey = qkey;
    return ibv_post_send(qp, &wr, &bad);
  }
};

// The next completion of a queue.
inline ibv_wc take(ibv_cq* cq) {
  ibv_wc wc{};
  while (ibv_poll_cq(cq, 1, &wc) == 0) continue;
  return wc;
}
