// [solution]
#include <arpa/inet.h>

// The ready message is an ordinary send, the data go out by the extended interface, and each direction has a queue of
// completions of its own, with a channel: the host sleeps until something has come.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(static_cast<uint32_t>(rank.rank())),
        card_(rank),
        channel_(fabricbench::check_verbs(ibv_create_comp_channel(card_.context()), "ibv_create_comp_channel")),
        data_(make_queue()),
        other_(make_queue()),
        source_(card_.reg(args.in, 4 * args.n)),
        target_(card_.reg(args.out, 4 * args.n)),
        from_before_(make_pair(data_.get(), other_.get())),
        to_next_(make_pair(other_.get(), other_.get())) {
    struct Door {
      fabricbench::Endpoint from_before, to_next;
      uint64_t address;
      uint32_t key;
    };
    const auto all = rank.all_gather(Door{card_.endpoint_of(*from_before_, 1), card_.endpoint_of(*to_next_, 1),
                                          reinterpret_cast<uint64_t>(args.out), target_->rkey});
    const size_t world = all.size();
    const Door &next = all[(rank_ + 1) % world], &before = all[(rank_ + world - 1) % world];
    address_ = next.address;
    key_ = next.key;
    fabricbench::connect_rc(*from_before_, 1, before.to_next);
    fabricbench::connect_rc(*to_next_, 1, next.from_before);
    receive(*from_before_);
    receive(*to_next_);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    ibv_send_wr ready = {}, *bad = nullptr;
    ready.opcode = IBV_WR_SEND;
    ready.send_flags = IBV_SEND_SIGNALED;
    fabricbench::check_verbs(ibv_post_send(from_before_.get(), &ready, &bad), "ibv_post_send");
    // Our message has gone, and that of the next rank is here.
    for (bool sent = false, allowed = false; !sent || !allowed;) {
      const ibv_wc done = sleep_until(other_.get());
      (done.opcode == IBV_WC_SEND ? sent : allowed) = true;
    }
    receive(*to_next_);

    ibv_qp_ex* const pair = ibv_qp_to_qp_ex(to_next_.get());
    ibv_wr_start(pair);
    pair->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write_imm(pair, key_, address_, htonl(rank_ << 16 | (call_++ & 0xffff)));
    ibv_wr_set_sge(pair, source_->lkey, reinterpret_cast<uint64_t>(args.in), static_cast<uint32_t>(4 * args.n));
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");

    const ibv_wc arrived = sleep_until(data_.get());
    receive(*from_before_);
    sleep_until(other_.get());
    const uint32_t report[2] = {ntohl(arrived.imm_data), arrived.byte_len};
    fabricbench::check_cuda(cudaMemcpy(args.immediate, report, sizeof report, cudaMemcpyHostToDevice), "cudaMemcpy");
  }

 private:
  fabricbench::CompletionQueue make_queue() {
    return fabricbench::CompletionQueue(
        fabricbench::check_verbs(ibv_create_cq(card_.context(), 16, nullptr, channel_.get(), 0), "ibv_create_cq"));
  }
  fabricbench::QueuePair make_pair(ibv_cq* received, ibv_cq* sent) {
    ibv_qp_init_attr_ex wanted = {};
    wanted.qp_type = IBV_QPT_RC;
    wanted.recv_cq = received;
    wanted.send_cq = sent;
    wanted.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = card_.domain();
    wanted.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND;
    fabricbench::QueuePair pair(
        fabricbench::check_verbs(ibv_create_qp_ex(card_.context(), &wanted), "ibv_create_qp_ex"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "ibv_modify_qp");
    return pair;
  }
  static void receive(ibv_qp& pair) {
    ibv_recv_wr work = {}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }

  // Armed first, then looked at: what comes in between makes an event. Events of the other queue only wake us up early.
  ibv_wc sleep_until(ibv_cq* queue) {
    for (;;) {
      fabricbench::check_verbs(ibv_req_notify_cq(queue, 0), "ibv_req_notify_cq");
      ibv_wc done = {};
      if (ibv_poll_cq(queue, 1, &done) == 1) {
        if (done.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(done.status));
        return done;
      }
      ibv_cq* woken = nullptr;
      void* context = nullptr;
      fabricbench::check_verbs(ibv_get_cq_event(channel_.get(), &woken, &context), "ibv_get_cq_event");
      ibv_ack_cq_events(woken, 1);
    }
  }

  uint32_t rank_;
  fabricbench::Card card_;
  fabricbench::CompletionChannel channel_;
  fabricbench::CompletionQueue data_, other_;
  fabricbench::MemoryRegion source_, target_;
  fabricbench::QueuePair from_before_, to_next_;
  uint64_t address_ = 0;
  uint32_t key_ = 0;
  uint32_t call_ = 0;
};
// [/solution]
