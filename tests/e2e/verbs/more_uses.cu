// Uses and misuses of XRC, DMA-BUF, regions that are registered anew, parent domains, and programs that are started
// while the cycle counter is virtual. One process, two cards.

#include <cuda.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int checks = 0, failed = 0;
#define CHECK(condition)                                                        \
  do {                                                                          \
    ++checks;                                                                   \
    if (!(condition)) {                                                         \
      ++failed;                                                                 \
      std::printf("line %d: not %s (errno %d)\n", __LINE__, #condition, errno); \
    }                                                                           \
  } while (0)

constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

struct Card {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_port_attr port{};
  char* memory = nullptr;
  ibv_mr* mr = nullptr;

  explicit Card(ibv_device* device) {
    context = ibv_open_device(device);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 64, nullptr, nullptr, 0);
    ibv_query_port(context, 1, &port);
    memory = static_cast<char*>(std::aligned_alloc(4096, 8192));
    std::memset(memory, 0, 8192);
    mr = ibv_reg_mr(pd, memory, 8192, kAll);
  }
  ibv_wc next() const {
    ibv_wc wc{};
    while (ibv_poll_cq(cq, 1, &wc) == 0) continue;
    return wc;
  }
  ibv_qp* plain_pair(ibv_pd* of = nullptr) const {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {16, 16, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    return ibv_create_qp(of ? of : pd, &init);
  }
};

// The sending half needs no attributes of a responder, the receiving half none of a requester.
void join(ibv_qp* qp, uint32_t number, uint16_t lid) {
  const bool sends = qp->qp_type != IBV_QPT_XRC_RECV, receives = qp->qp_type != IBV_QPT_XRC_SEND;
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  CHECK(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_1024;
  a.dest_qp_num = number;
  a.ah_attr.dlid = lid;
  a.ah_attr.port_num = 1;
  a.max_dest_rd_atomic = a.max_rd_atomic = 1;
  a.min_rnr_timer = 1;
  const int peer = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  const int responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  CHECK(ibv_modify_qp(qp, &a, peer | (receives ? 0 : responder)) == EINVAL);
  CHECK(ibv_modify_qp(qp, &a, peer | (receives ? responder : 0)) == 0);
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 10;
  a.retry_cnt = a.rnr_retry = 3;
  const int requester = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  CHECK(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN | (sends ? 0 : requester)) == EINVAL);
  CHECK(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN | (sends ? requester : 0)) == 0);
}

void check_xrc(ibv_device** list) {
  Card a(list[0]), b(list[1]);
  ibv_device_attr facts{};
  ibv_query_device(b.context, &facts);
  CHECK((facts.device_cap_flags & IBV_DEVICE_XRC) != 0);
  const int file = memfd_create("xrc", 0);
  ibv_xrcd_init_attr wanted{};
  wanted.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  wanted.fd = file;
  CHECK(!ibv_open_xrcd(b.context, &wanted) && errno == EAGAIN);
  wanted.oflags = O_CREAT | O_EXCL;
  ibv_xrcd* xrcd = ibv_open_xrcd(b.context, &wanted);
  CHECK(xrcd);
  CHECK(!ibv_open_xrcd(b.context, &wanted) && errno == EINVAL);
  wanted.oflags = 0;
  ibv_xrcd* again = ibv_open_xrcd(b.context, &wanted);
  CHECK(again);
  wanted.fd = 12345;
  CHECK(!ibv_open_xrcd(b.context, &wanted) && errno == EBADF);
  wanted.fd = -1;
  CHECK(!ibv_open_xrcd(b.context, &wanted) && errno == EINVAL);
  wanted.oflags = O_CREAT;
  ibv_xrcd* own = ibv_open_xrcd(b.context, &wanted);
  CHECK(own);

  ibv_srq_init_attr_ex queue{};
  queue.attr = {8, 1, 0};
  queue.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  queue.srq_type = IBV_SRQT_XRC;
  queue.pd = b.pd;
  queue.xrcd = xrcd;
  queue.cq = b.cq;
  CHECK(!ibv_create_srq_ex(b.context, &queue) && errno == EINVAL);
  queue.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  ibv_srq* srq = ibv_create_srq_ex(b.context, &queue);
  CHECK(srq);
  uint32_t number = 0;
  CHECK(ibv_get_srq_num(srq, &number) == 0 && number != 0);

  ibv_qp_init_attr_ex receiving{};
  receiving.qp_type = IBV_QPT_XRC_RECV;
  CHECK(!ibv_create_qp_ex(b.context, &receiving) && errno == EINVAL);
  receiving.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  receiving.xrcd = xrcd;
  ibv_qp* target = ibv_create_qp_ex(b.context, &receiving);
  CHECK(target && target->qp_num != 0 && !target->send_cq && !target->pd);
  ibv_qp_open_attr opening{};
  opening.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  opening.qp_num = target->qp_num;
  opening.qp_type = IBV_QPT_XRC_RECV;
  opening.xrcd = own;
  CHECK(!ibv_open_qp(b.context, &opening) && errno == EINVAL);
  opening.xrcd = again;
  ibv_qp* second = ibv_open_qp(b.context, &opening);
  CHECK(second && second->qp_num == target->qp_num);
  opening.qp_type = IBV_QPT_RC;
  CHECK(!ibv_open_qp(b.context, &opening) && errno == EINVAL);

  ibv_qp_init_attr_ex sending{};
  sending.qp_type = IBV_QPT_XRC_SEND;
  sending.comp_mask = IBV_QP_INIT_ATTR_PD;
  sending.pd = a.pd;
  sending.send_cq = a.cq;
  sending.cap = {8, 0, 1, 0, 0};
  ibv_qp* sender = ibv_create_qp_ex(a.context, &sending);
  CHECK(sender);
  join(sender, target->qp_num, b.port.lid);
  join(second, sender->qp_num, a.port.lid);

  std::strcpy(a.memory, "by its number");
  ibv_sge from{reinterpret_cast<uint64_t>(a.memory), 14, a.mr->lkey},
      to{reinterpret_cast<uint64_t>(b.memory), 64, b.mr->lkey};
  ibv_recv_wr receive{}, *bad_receive = nullptr;
  receive.wr_id = 5;
  receive.sg_list = &to;
  receive.num_sge = 1;
  CHECK(ibv_post_srq_recv(srq, &receive, &bad_receive) == 0);
  CHECK(ibv_post_recv(target, &receive, &bad_receive) != 0);
  ibv_send_wr send{}, *bad = nullptr;
  send.wr_id = 6;
  send.sg_list = &from;
  send.num_sge = 1;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED;
  send.qp_type.xrc.remote_srqn = number;
  CHECK(ibv_post_send(target, &send, &bad) == EINVAL);
  CHECK(ibv_post_send(sender, &send, &bad) == 0);
  const ibv_wc sent = a.next(), got = b.next();
  CHECK(sent.status == IBV_WC_SUCCESS && sent.wr_id == 6);
  CHECK(got.status == IBV_WC_SUCCESS && got.wr_id == 5 && got.byte_len == 14 && got.qp_num == target->qp_num);
  CHECK(std::strcmp(b.memory, "by its number") == 0);
  // A queue that is not there.
  send.qp_type.xrc.remote_srqn = number + 1000;
  CHECK(ibv_post_send(sender, &send, &bad) == 0 && a.next().status == IBV_WC_REM_INV_REQ_ERR);

  CHECK(ibv_close_xrcd(xrcd) == EBUSY);
  CHECK(ibv_destroy_qp(second) == 0 && ibv_destroy_qp(target) == 0 && ibv_destroy_qp(sender) == 0);
  CHECK(ibv_destroy_cq(b.cq) == EBUSY);
  CHECK(ibv_destroy_srq(srq) == 0 && ibv_destroy_cq(b.cq) == 0);
  CHECK(ibv_close_xrcd(xrcd) == 0 && ibv_close_xrcd(again) == 0 && ibv_close_xrcd(own) == 0);
  close(file);
}

int write_once(const Card& from, ibv_qp* qp, uint64_t to, uint32_t key, uint32_t bytes) {
  ibv_sge piece{reinterpret_cast<uint64_t>(from.memory), bytes, from.mr->lkey};
  ibv_send_wr send{}, *bad = nullptr;
  send.sg_list = &piece;
  send.num_sge = 1;
  send.opcode = IBV_WR_RDMA_WRITE;
  send.send_flags = IBV_SEND_SIGNALED;
  send.wr.rdma.remote_addr = to;
  send.wr.rdma.rkey = key;
  if (ibv_post_send(qp, &send, &bad) != 0) return -1;
  return from.next().status;
}

void check_dma_buffers(ibv_device** list) {
  Card a(list[0]), b(list[1]);
  ibv_qp *from = a.plain_pair(), *to = b.plain_pair();
  join(from, to->qp_num, b.port.lid);
  join(to, from->qp_num, a.port.lid);
  constexpr size_t kBytes = 3 * 4096;
  char* device = nullptr;
  CHECK(cudaMalloc(&device, kBytes) == cudaSuccess && cudaMemset(device, 0, kBytes) == cudaSuccess);
  int supported = 0;
  CHECK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0) == CUDA_SUCCESS && supported == 1);
  const auto address = reinterpret_cast<CUdeviceptr>(device);
  int fd = -1;
  const auto type = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
  CHECK(cuMemGetHandleForAddressRange(&fd, address, kBytes, type, 0) == CUDA_SUCCESS && fd >= 0);
  CHECK(lseek(fd, 0, SEEK_END) == kBytes);
  int none = -1;
  CHECK(cuMemGetHandleForAddressRange(&none, address + 8, 4096, type, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemGetHandleForAddressRange(&none, address, 100, type, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemGetHandleForAddressRange(&none, address, kBytes + 4096, type, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemGetHandleForAddressRange(&none, reinterpret_cast<CUdeviceptr>(a.memory), 4096, type, 0) != CUDA_SUCCESS);
  CHECK(cuMemGetHandleForAddressRange(nullptr, address, kBytes, type, 0) == CUDA_ERROR_INVALID_VALUE);

  // The second page, under an address of its own choice.
  constexpr uint64_t kName = 0x700000;
  ibv_mr* mr = ibv_reg_dmabuf_mr(b.pd, 4096, 8192, kName, fd, kAll);
  CHECK(mr && mr->length == 8192);
  CHECK(!ibv_reg_dmabuf_mr(b.pd, 4096, kBytes, kName, fd, kAll) && errno == EINVAL);
  CHECK(!ibv_reg_dmabuf_mr(b.pd, 0, 4096, kName + 1, fd, kAll) && errno == EINVAL);
  CHECK(!ibv_reg_dmabuf_mr(b.pd, 0, 0, kName, fd, kAll) && errno == EINVAL);
  CHECK(!ibv_reg_dmabuf_mr(b.pd, 0, 4096, kName, STDIN_FILENO, kAll) && errno == EINVAL);
  CHECK(!ibv_reg_dmabuf_mr(b.pd, 0, 4096, kName, 4321, kAll) && errno == EBADF);
  CHECK(!ibv_reg_dmabuf_mr(b.pd, 0, 4096, kName, fd, IBV_ACCESS_REMOTE_WRITE) && errno == EINVAL);
  const int copy = dup(fd);
  ibv_mr* by_copy = ibv_reg_dmabuf_mr(b.pd, 0, kBytes, 0, copy, kAll);
  CHECK(by_copy);
  CHECK(close(fd) == 0 && close(copy) == 0);  // regions do not need them any more

  std::strcpy(a.memory, "through a descriptor");
  CHECK(write_once(a, from, kName + 16, mr->rkey, 21) == IBV_WC_SUCCESS);
  char seen[32] = {};
  CHECK(cudaMemcpy(seen, device + 4096 + 16, 21, cudaMemcpyDefault) == cudaSuccess);
  CHECK(std::strcmp(seen, "through a descriptor") == 0);
  CHECK(write_once(a, from, 8, by_copy->rkey, 21) == IBV_WC_SUCCESS);
  CHECK(cudaMemcpy(seen, device + 8, 21, cudaMemcpyDefault) == cudaSuccess);
  CHECK(std::strcmp(seen, "through a descriptor") == 0);
  CHECK(write_once(a, from, kName + 8192 - 4, mr->rkey, 8) == IBV_WC_REM_ACCESS_ERR);
  CHECK(ibv_dereg_mr(mr) == 0 && ibv_dereg_mr(by_copy) == 0);
  cudaFree(device);
}

void check_registering_anew(ibv_device** list) {
  Card a(list[0]), b(list[1]);
  ibv_qp *from = a.plain_pair(), *to = b.plain_pair();
  join(from, to->qp_num, b.port.lid);
  join(to, from->qp_num, a.port.lid);
  char* other = static_cast<char*>(std::aligned_alloc(4096, 4096));
  CHECK(ibv_rereg_mr(b.mr, 0, nullptr, nullptr, 0, 0) == IBV_REREG_MR_ERR_INPUT);
  CHECK(ibv_rereg_mr(b.mr, 1 << 10, nullptr, nullptr, 0, 0) == IBV_REREG_MR_ERR_INPUT);
  CHECK(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nullptr, 4096, 0) == IBV_REREG_MR_ERR_INPUT);
  CHECK(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0) == IBV_REREG_MR_ERR_INPUT);
  CHECK(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE) ==
        IBV_REREG_MR_ERR_CMD);
  std::strcpy(a.memory, "moved");
  CHECK(write_once(a, from, reinterpret_cast<uint64_t>(b.memory), b.mr->rkey, 6) == IBV_WC_SUCCESS);
  CHECK(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other, 4096, 0) == 0);
  CHECK(b.mr->addr == other && b.mr->length == 4096);
  CHECK(write_once(a, from, reinterpret_cast<uint64_t>(other), b.mr->rkey, 6) == IBV_WC_SUCCESS);
  CHECK(std::strcmp(other, "moved") == 0);
  CHECK(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE) == 0);
  CHECK(write_once(a, from, reinterpret_cast<uint64_t>(other), b.mr->rkey, 6) == IBV_WC_REM_ACCESS_ERR);
  CHECK(ibv_dereg_mr(b.mr) == 0);
}

void check_parent_domains(ibv_device** list) {
  Card a(list[0]), b(list[1]);
  ibv_td_init_attr thread{};
  ibv_td* td = ibv_alloc_td(a.context, &thread);
  CHECK(td);
  ibv_parent_domain_init_attr wanted{};
  CHECK(!ibv_alloc_parent_domain(a.context, &wanted) && errno == EINVAL);
  wanted.pd = a.pd;
  wanted.td = td;
  ibv_pd* parent = ibv_alloc_parent_domain(a.context, &wanted);
  CHECK(parent);
  // What is made with it works with what was made with the plain one.
  ibv_qp *from = a.plain_pair(parent), *to = b.plain_pair();
  CHECK(from && from->pd == parent);
  join(from, to->qp_num, b.port.lid);
  join(to, from->qp_num, a.port.lid);
  CHECK(write_once(a, from, reinterpret_cast<uint64_t>(b.memory), b.mr->rkey, 6) == IBV_WC_SUCCESS);
  CHECK(ibv_dealloc_td(td) == EBUSY);
  CHECK(ibv_dealloc_pd(a.pd) == EBUSY);
  CHECK(ibv_destroy_qp(from) == 0 && ibv_dealloc_pd(parent) == 0 && ibv_dealloc_td(td) == 0);
  CHECK(ibv_dereg_mr(a.mr) == 0 && ibv_dealloc_pd(a.pd) == 0);
}

// Under --virtual-clock the cycle counter is virtual by now; children must not find it forbidden.
void check_children(char* own) {
  int status = 0;
  CHECK(std::system("true") == 0);
  FILE* pipe = popen("echo here", "r");
  char line[16] = {};
  CHECK(pipe && std::fgets(line, sizeof line, pipe) && std::strcmp(line, "here\n") == 0 && pclose(pipe) == 0);
  char word[] = "read-counter";
  char* words[] = {own, word, nullptr};
  pid_t child = 0;
  CHECK(posix_spawn(&child, own, nullptr, nullptr, words, environ) == 0);
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  child = vfork();
  if (child == 0) {
    execv(own, words);
    _exit(9);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "read-counter") == 0) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc() == 0 ? 1 : 0;
#else
    return 0;
#endif
  }
  ibv_device** list = ibv_get_device_list(nullptr);
  check_xrc(list);
  check_dma_buffers(list);
  check_registering_anew(list);
  check_parent_domains(list);
  check_children(words[0]);
  ibv_free_device_list(list);
  std::printf("%d checks, %d failed\n", checks, failed);
  return failed == 0 ? 0 : 1;
}
