// [solution]
// One append at a time, through ibv_wr_*, and the host sleeps on a completion channel instead of polling. Writes are
// not signalled: RC completes the requests of a queue pair in order, so that flush() needs one completion for each
// owner that has been written to.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Shared& shared)
      : shared_(shared),
        channel_(fabricbench::check_verbs(ibv_create_comp_channel(shared.card), "ibv_create_comp_channel")),
        queue_(fabricbench::check_verbs(ibv_create_cq(shared.card, 64, nullptr, channel_.get(), 0), "ibv_create_cq")),
        ticket_region_(fabricbench::check_verbs(
            ibv_reg_mr(shared.domain, &ticket_, sizeof ticket_, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr")),
        written_(static_cast<size_t>(rank.world())) {
    ibv_port_attr port = {};
    fabricbench::check_verbs(ibv_query_port(shared.card, fabricbench::Card::kPort, &port), "ibv_query_port");
    for (int p = 0; p < rank.world(); ++p) {
      pairs_.push_back(make_pair());
      // Every rank needs the number that this peer has for it: peers gather theirs one after the other.
      const fabricbench::Endpoint mine = {pairs_.back()->qp_num, 0, port.lid};
      for (const auto& end : rank.all_gather(mine)) ends_.push_back(end);
    }
    const auto world = static_cast<size_t>(rank.world()), me = static_cast<size_t>(rank.rank());
    for (size_t p = 0; p < world; ++p) fabricbench::connect_rc(*pairs_[p], 0, ends_[me * world + p]);
  }

  void append(int owner, int64_t first, int64_t count) {
    const Log& log = shared_.logs[static_cast<size_t>(owner)];
    ibv_qp_ex* const pair = extended(owner);
    ibv_wr_start(pair);
    pair->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_atomic_fetch_add(pair, log.counter_key, log.counter, static_cast<uint64_t>(count));
    ibv_wr_set_sge(pair, ticket_region_->lkey, reinterpret_cast<uint64_t>(&ticket_), sizeof ticket_);
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
    // This completion also tells that all writes before it, in the same queue, are over: their places are free again.
    await_completion();

    ibv_wr_start(pair);
    for (int64_t done = 0; done < count;) {
      const uint64_t place = (ticket_ + static_cast<uint64_t>(done)) % shared_.capacity;
      const auto part = std::min(count - done, static_cast<int64_t>(shared_.capacity - place));
      const auto bytes = static_cast<uint64_t>(shared_.item_bytes);
      pair->wr_flags = 0;
      ibv_wr_rdma_write(pair, log.places_key, log.places + place * bytes);
      ibv_wr_set_sge(pair, shared_.items_key, shared_.items + static_cast<uint64_t>(first + done) * bytes,
                     static_cast<uint32_t>(static_cast<uint64_t>(part) * bytes));
      done += part;
    }
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
    written_[static_cast<size_t>(owner)] = true;
  }

  void flush() {
    for (size_t owner = 0; owner < written_.size(); ++owner) {
      if (!written_[owner]) continue;
      ibv_qp_ex* const pair = extended(static_cast<int>(owner));
      ibv_wr_start(pair);
      pair->wr_flags = IBV_SEND_SIGNALED;
      ibv_wr_rdma_write(pair, 0, 0);  // no bytes: needs no key
      ibv_wr_set_sge_list(pair, 0, nullptr);
      fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
      await_completion();
      written_[owner] = false;
    }
  }

 private:
  ibv_qp_ex* extended(int owner) const { return ibv_qp_to_qp_ex(pairs_[static_cast<size_t>(owner)].get()); }

  fabricbench::QueuePair make_pair() const {
    ibv_qp_init_attr_ex wanted = {};
    wanted.send_cq = wanted.recv_cq = queue_.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = 16, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = shared_.domain;
    wanted.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_RDMA_WRITE;
    fabricbench::QueuePair pair(fabricbench::check_verbs(ibv_create_qp_ex(shared_.card, &wanted), "ibv_create_qp_ex"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "ibv_modify_qp");
    return pair;
  }

  // Armed before it looks: a completion between the two gives an event, which is taken at the latest next time.
  void await_completion() {
    for (;;) {
      fabricbench::check_verbs(ibv_req_notify_cq(queue_.get(), 0), "ibv_req_notify_cq");
      ibv_wc done = {};
      if (ibv_poll_cq(queue_.get(), 1, &done) == 1) {
        if (done.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(done.status));
        return;
      }
      ibv_cq* told = nullptr;
      void* unused = nullptr;
      fabricbench::check_verbs(ibv_get_cq_event(channel_.get(), &told, &unused), "ibv_get_cq_event");
      ibv_ack_cq_events(told, 1);
    }
  }

  Shared shared_;
  fabricbench::CompletionChannel channel_;
  fabricbench::CompletionQueue queue_;
  uint64_t ticket_ = 0;
  fabricbench::MemoryRegion ticket_region_;
  std::vector<fabricbench::QueuePair> pairs_;  // by owner
  std::vector<fabricbench::Endpoint> ends_;    // row p: what all ranks have for rank p
  std::vector<bool> written_;
};
// [/solution]
