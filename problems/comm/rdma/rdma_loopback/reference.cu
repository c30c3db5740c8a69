#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include "args.h"

// [solution]
// A card with one queue pair. Even on the same card each end has all of its own: protection domains keep them apart.
struct End {
  fabricbench::CardContext context;
  fabricbench::ProtectionDomain domain;
  fabricbench::CompletionQueue queue;
  fabricbench::QueuePair pair;
  uint16_t lid = 0;

  explicit End(int card) {
    using fabricbench::check_verbs;
    int count = 0;
    ibv_device** const list = check_verbs(ibv_get_device_list(&count), "ibv_get_device_list");
    if (card < count) context.reset(ibv_open_device(list[card]));
    ibv_free_device_list(list);
    check_verbs(context.get(), "ibv_open_device");
    domain.reset(check_verbs(ibv_alloc_pd(context.get()), "ibv_alloc_pd"));
    queue.reset(check_verbs(ibv_create_cq(context.get(), 4, nullptr, nullptr, 0), "ibv_create_cq"));
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = wanted.recv_cq = queue.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1};
    pair.reset(check_verbs(ibv_create_qp(domain.get(), &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    check_verbs(ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
                "ibv_modify_qp to INIT");
    ibv_port_attr port = {};
    check_verbs(ibv_query_port(context.get(), kPort, &port), "ibv_query_port");
    lid = port.lid;
  }

  fabricbench::MemoryRegion reg(const void* memory, size_t bytes, int access) const {
    return fabricbench::MemoryRegion(
        fabricbench::check_verbs(ibv_reg_mr(domain.get(), const_cast<void*>(memory), bytes, access), "ibv_reg_mr"));
  }
  fabricbench::Endpoint endpoint() const { return {pair->qp_num, kPsn, lid}; }

  static constexpr uint8_t kPort = 1;
  static constexpr uint32_t kPsn = 1;
};

class Solution {
 public:
  Solution(const fabricbench::Rank&, const Args& args)
      : bytes_(static_cast<uint32_t>(4 * args.n)),
        first_(0),
        second_(static_cast<int>(args.card)),
        in_(first_.reg(args.in, 3 * uint64_t{bytes_}, IBV_ACCESS_REMOTE_READ)),
        sent_(second_.reg(args.sent, bytes_, IBV_ACCESS_LOCAL_WRITE)),
        written_(second_.reg(args.written, bytes_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)),
        fetched_(second_.reg(args.fetched, bytes_, IBV_ACCESS_LOCAL_WRITE)) {
    fabricbench::connect_rc(*first_.pair, End::kPsn, second_.endpoint());
    fabricbench::connect_rc(*second_.pair, End::kPsn, first_.endpoint());
  }

  void run(const Args& args, cudaStream_t stream) {
    // Cards do not wait for streams: only now is `in` there, and the outputs are free.
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const auto address = [](const void* memory) { return reinterpret_cast<uint64_t>(memory); };
    const uint64_t in = address(args.in);

    // The receive before its send, which would have to be repeated otherwise.
    ibv_sge room = {address(args.sent), bytes_, sent_->lkey};
    ibv_recv_wr receive = {}, *bad = nullptr;
    receive.sg_list = &room;
    receive.num_sge = 1;
    fabricbench::check_verbs(ibv_post_recv(second_.pair.get(), &receive, &bad), "ibv_post_recv");
    // A send completes when the other side has it, and requests of one queue pair complete in order: the signal of the
    // write, which is behind it, is enough for both.
    post(first_, IBV_WR_SEND, {in, bytes_, in_->lkey}, 0, 0, 0);
    post(first_, IBV_WR_RDMA_WRITE, {in + bytes_, bytes_, in_->lkey}, address(args.written), written_->rkey,
         IBV_SEND_SIGNALED);
    // The other way: the second end asks, and the first one's card answers from `in`.
    post(second_, IBV_WR_RDMA_READ, {address(args.fetched), bytes_, fetched_->lkey}, in + 2 * uint64_t{bytes_},
         in_->rkey, IBV_SEND_SIGNALED);

    fabricbench::wait_for_completion(first_.queue.get());
    // The read and the receive: its completion is what says that `sent` is filled.
    fabricbench::wait_for_completion(second_.queue.get());
    fabricbench::wait_for_completion(second_.queue.get());
  }

 private:
  static void post(End& end, ibv_wr_opcode opcode, ibv_sge piece, uint64_t address, uint32_t key, unsigned flags) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = opcode;
    work.send_flags = flags;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.wr.rdma.remote_addr = address;
    work.wr.rdma.rkey = key;
    fabricbench::check_verbs(ibv_post_send(end.pair.get(), &work, &bad), "ibv_post_send");
  }

  uint32_t bytes_;  // of a row
  End first_, second_;
  fabricbench::MemoryRegion in_, sent_, written_, fetched_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: open cards, register memory, make two queue pairs and connect them
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: copy the three rows
//|   }
//| };
// [/solution]
