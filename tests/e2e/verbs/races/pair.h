// Two ranks on two nodes, each with a card, queue pairs to the other, and registered memory of its GPU and its host.
// Requests are posted by macros, so that their lines are those of the cases.
#pragma once

#include <cuda_runtime.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

inline void require(bool done, int line) {
  if (done) return;
  std::printf("line %d failed\n", line);
  std::exit(3);
}
#define REQUIRE(condition) require((condition), __LINE__)

constexpr size_t kBytes = 1 << 16, kHalf = kBytes / 2;
constexpr int kPairs = 4, kSync = 3;  // the last one is for `barrier`

// What a rank tells the other, through a file.
struct Facts {
  uint32_t numbers[kPairs];
  uint32_t lid;
  uint64_t gpu, host;
  uint32_t gpu_key, host_key;
};

struct Side {
  int rank = std::atoi(std::getenv("RANK"));
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq *cq = nullptr, *cq_of_sync = nullptr;
  ibv_qp* qp[kPairs] = {};
  char *gpu = nullptr, *host = nullptr;
  ibv_mr *gpu_mr = nullptr, *host_mr = nullptr;
  Facts peer{};
  cudaStream_t stream = nullptr;

  // `type`: of the first queue pair. `access`: to the GPU's memory, besides all that is needed.
  explicit Side(ibv_qp_type type = IBV_QPT_RC, unsigned access = 0) {
    constexpr unsigned kAll =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMalloc(&gpu, kBytes);
    cudaMemset(gpu, 0, kBytes);
    cudaDeviceSynchronize();
    host = static_cast<char*>(std::aligned_alloc(4096, kBytes));
    std::memset(host, 0, kBytes);
    context = ibv_open_device(ibv_get_device_list(nullptr)[0]);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 64, nullptr, nullptr, 0);
    cq_of_sync = ibv_create_cq(context, 64, nullptr, nullptr, 0);
    gpu_mr = ibv_reg_mr(pd, gpu, kBytes, kAll | access);
    host_mr = ibv_reg_mr(pd, host, kBytes, kAll);
    REQUIRE(gpu_mr && host_mr);
    Facts own{};
    for (int k = 0; k < kPairs; ++k) {
      ibv_qp_init_attr_ex init{};
      init.send_cq = init.recv_cq = k == kSync ? cq_of_sync : cq;
      init.cap = {32, 32, 2, 2, 64};
      init.qp_type = k == 0 ? type : IBV_QPT_RC;
      init.pd = pd;
      init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
      qp[k] = ibv_create_qp_ex(context, &init);
      REQUIRE(qp[k]);
      own.numbers[k] = qp[k]->qp_num;
    }
    ibv_port_attr port{};
    ibv_query_port(context, 1, &port);
    own.lid = port.lid;
    own.gpu = reinterpret_cast<uint64_t>(gpu);
    own.host = reinterpret_cast<uint64_t>(host);
    own.gpu_key = gpu_mr->rkey;
    own.host_key = host_mr->rkey;
    exchange(own);
    for (int k = 0; k < kPairs; ++k) connect(k, kAll);
    for (int k = 0; k < 4; ++k) receive_of_sync();
    barrier();
    unlink(name(rank).c_str());  // both have read: another run may have the same name
  }

  static std::string name(int of) {
    const char* folder = std::getenv("TMPDIR");
    return std::string(folder ? folder : "/tmp") + "/facts." + std::to_string(getppid()) + "." + std::to_string(of);
  }
  void exchange(const Facts& own) {
    FILE* file = std::fopen((name(rank) + ".new").c_str(), "wb");
    std::fwrite(&own, sizeof own, 1, file);
    std::fclose(file);
    std::rename((name(rank) + ".new").c_str(), name(rank).c_str());
    while (!(file = std::fopen(name(1 - rank).c_str(), "rb"))) usleep(500);
    REQUIRE(std::fread(&peer, sizeof peer, 1, file) == 1);
    std::fclose(file);
  }

  void connect(int k, unsigned access) {
    const bool reliable = qp[k]->qp_type == IBV_QPT_RC;
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qp_access_flags = access;
    REQUIRE(ibv_modify_qp(qp[k], &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    a = {};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_4096;
    a.dest_qp_num = peer.numbers[k];
    a.ah_attr.dlid = static_cast<uint16_t>(peer.lid);
    a.ah_attr.port_num = 1;
    a.max_dest_rd_atomic = 4;
    a.min_rnr_timer = 1;
    REQUIRE(ibv_modify_qp(qp[k], &a,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)) == 0);
    a = {};
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = a.rnr_retry = 7;
    a.max_rd_atomic = 4;
    REQUIRE(ibv_modify_qp(qp[k], &a,
                          IBV_QP_STATE | IBV_QP_SQ_PSN |
                              (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                                        : 0)) == 0);
  }

  // A barrier of both.
  void barrier() {
    tell();
    hear();
  }
  // One message for the other; it has arrived when this returns.
  void tell() {
    ibv_send_wr wr{}, *bad = nullptr;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    REQUIRE(ibv_post_send(qp[kSync], &wr, &bad) == 0);
    for (++told; told > arrived;) take_of_sync();
  }
  // One message of the other.
  void hear() {
    for (++wanted; wanted > heard;) take_of_sync();
    receive_of_sync();
  }
  int told = 0, arrived = 0, wanted = 0, heard = 0;
  void take_of_sync() {
    ibv_wc wc{};
    while (ibv_poll_cq(cq_of_sync, 1, &wc) == 0) continue;
    REQUIRE(wc.status == IBV_WC_SUCCESS);
    ++(wc.opcode == IBV_WC_RECV ? heard : arrived);
  }
  void receive_of_sync() {
    ibv_recv_wr wr{}, *bad = nullptr;
    REQUIRE(ibv_post_recv(qp[kSync], &wr, &bad) == 0);
  }
  // The next completions of the other queue pairs.
  void complete(int count = 1) {
    for (; count > 0; --count) {
      ibv_wc wc{};
      while (ibv_poll_cq(cq, 1, &wc) == 0) continue;
      REQUIRE(wc.status == IBV_WC_SUCCESS);
    }
  }
  void synchronise() { REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess); }
};

// A request with one piece. `local` and `remote` are offsets in the GPU's memory, or in the host's (host_…).
struct Request {
  ibv_sge piece{};
  ibv_send_wr wr{};
};
inline Request make_request(const Side& s, ibv_wr_opcode opcode, bool host, size_t local, size_t bytes, size_t remote,
                            unsigned flags) {
  Request r;
  r.piece.addr = reinterpret_cast<uint64_t>(host ? s.host : s.gpu) + local;
  r.piece.length = static_cast<uint32_t>(bytes);
  r.piece.lkey = host ? s.host_mr->lkey : s.gpu_mr->lkey;
  r.wr.num_sge = 1;
  r.wr.opcode = opcode;
  r.wr.send_flags = flags;
  const uint64_t address = (host ? s.peer.host : s.peer.gpu) + remote;
  const uint32_t key = host ? s.peer.host_key : s.peer.gpu_key;
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
    r.wr.wr.atomic.remote_addr = address;
    r.wr.wr.atomic.rkey = key;
    r.wr.wr.atomic.compare_add = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 1 : 0;
    r.wr.wr.atomic.swap = 1;
  } else {
    r.wr.wr.rdma.remote_addr = address;
    r.wr.wr.rdma.rkey = key;
  }
  return r;
}
#define POST_TO(side, pair, opcode, host, local, bytes, remote, flags)                \
  do {                                                                                \
    Request request_ = make_request(side, opcode, host, local, bytes, remote, flags); \
    ibv_send_wr* bad_ = nullptr;                                                      \
    request_.wr.sg_list = &request_.piece;                                            \
    REQUIRE(ibv_post_send((side).qp[pair], &request_.wr, &bad_) == 0);                \
  } while (0)
// In the GPU's memory, and in the host's.
#define POST(side, pair, opcode, local, bytes, remote, flags) \
  POST_TO(side, pair, opcode, false, local, bytes, remote, flags)
#define POST_HOST(side, pair, opcode, local, bytes, remote, flags) \
  POST_TO(side, pair, opcode, true, local, bytes, remote, flags)

#define RECEIVE_INTO(side, pair, memory, region, offset, bytes)                                        \
  do {                                                                                                 \
    ibv_sge piece_{reinterpret_cast<uint64_t>((side).memory) + (offset), static_cast<uint32_t>(bytes), \
                   (side).region->lkey};                                                               \
    ibv_recv_wr wr_{}, *bad_ = nullptr;                                                                \
    wr_.sg_list = &piece_;                                                                             \
    wr_.num_sge = (bytes) == 0 ? 0 : 1;                                                                \
    REQUIRE(ibv_post_recv((side).qp[pair], &wr_, &bad_) == 0);                                         \
  } while (0)
#define RECEIVE(side, pair, offset, bytes) RECEIVE_INTO(side, pair, gpu, gpu_mr, offset, bytes)
#define RECEIVE_HOST(side, pair, offset, bytes) RECEIVE_INTO(side, pair, host, host_mr, offset, bytes)

constexpr unsigned kSignaled = IBV_SEND_SIGNALED;
