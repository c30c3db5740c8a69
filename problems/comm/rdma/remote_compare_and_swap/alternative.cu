// [solution]
// Step by step through ibv_wr_*: the lock, the record, the record again, and the lock, each awaited before the next.
// The lock is freed by a swap as well, which sees that it was still ours; the record is kept in pinned memory.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Shared& shared)
      : shared_(shared),
        holder_(1 + static_cast<uint64_t>(rank.rank())),
        bytes_(static_cast<size_t>(shared.words) * sizeof(uint32_t)),
        queue_(fabricbench::check_verbs(ibv_create_cq(shared.card, 4, nullptr, nullptr, 0), "ibv_create_cq")) {
    // The found lock first, then the record.
    if (cudaMallocHost(&desk_, sizeof(uint64_t) + bytes_) != cudaSuccess) throw std::runtime_error("cudaMallocHost");
    region_.reset(fabricbench::check_verbs(
        ibv_reg_mr(shared.domain, desk_, sizeof(uint64_t) + bytes_, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr"));
    ibv_port_attr port = {};
    fabricbench::check_verbs(ibv_query_port(shared.card, fabricbench::Card::kPort, &port), "ibv_query_port");
    // Round d connects every rank with those d before and behind it, round 0 with itself.
    pairs_.resize(static_cast<size_t>(rank.world()));
    other_ends_.resize(pairs_.size());
    for (int d = 0; d < rank.world(); ++d) {
      const auto to = static_cast<size_t>((rank.rank() + d) % rank.world());
      const auto from = static_cast<size_t>((rank.rank() + rank.world() - d) % rank.world());
      pairs_[to] = make_pair();
      if (from != to) other_ends_[from] = make_pair();
      ibv_qp& target = from != to ? *other_ends_[from] : *pairs_[to];
      const auto starts = rank.all_gather(fabricbench::Endpoint{pairs_[to]->qp_num, 0, port.lid});
      const auto targets = rank.all_gather(fabricbench::Endpoint{target.qp_num, 0, port.lid});
      // Two ranks, or half way around: both begin and end at the same peer, by the pairs that begin.
      fabricbench::connect_rc(*pairs_[to], 0, from != to ? targets[to] : starts[to]);
      if (from != to) fabricbench::connect_rc(target, 0, starts[from]);
    }
  }
  ~Solution() {
    region_.reset();
    cudaFreeHost(desk_);
  }

  void update(int owner, int64_t slot, uint32_t value) {
    ibv_qp_ex* const pair = ibv_qp_to_qp_ex(pairs_[static_cast<size_t>(owner)].get());
    const Table& table = shared_.tables[static_cast<size_t>(owner)];
    const uint64_t at = table.slots + static_cast<uint64_t>(slot * shared_.slot_bytes);
    while (swap(pair, table.key, at, 0, holder_) != 0) {
    }
    start(pair);
    ibv_wr_rdma_read(pair, table.key, at + sizeof(uint64_t));
    finish(pair, &desk_[1], bytes_);
    auto* const record = reinterpret_cast<uint32_t*>(&desk_[1]);
    for (int64_t k = 0; k < shared_.words; ++k) record[k] *= 2 * (value + static_cast<uint32_t>(k)) + 1;
    start(pair);
    ibv_wr_rdma_write(pair, table.key, at + sizeof(uint64_t));
    finish(pair, &desk_[1], bytes_);
    if (swap(pair, table.key, at, holder_, 0) != holder_) throw std::runtime_error("the lock was lost");
  }

 private:
  // What was there before.
  uint64_t swap(ibv_qp_ex* pair, uint32_t key, uint64_t at, uint64_t expected, uint64_t wanted) {
    start(pair);
    ibv_wr_atomic_cmp_swp(pair, key, at, expected, wanted);
    finish(pair, desk_, sizeof(uint64_t));
    return *desk_;
  }
  static void start(ibv_qp_ex* pair) {
    ibv_wr_start(pair);
    pair->wr_flags = IBV_SEND_SIGNALED;
  }
  void finish(ibv_qp_ex* pair, uint64_t* memory, size_t bytes) {
    ibv_wr_set_sge(pair, region_->lkey, reinterpret_cast<uint64_t>(memory), static_cast<uint32_t>(bytes));
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
    fabricbench::wait_for_completion(queue_.get());
  }

  fabricbench::QueuePair make_pair() const {
    ibv_qp_init_attr_ex wanted = {};
    wanted.send_cq = wanted.recv_cq = queue_.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = 2, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = shared_.domain;
    wanted.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE;
    fabricbench::QueuePair pair(fabricbench::check_verbs(ibv_create_qp_ex(shared_.card, &wanted), "ibv_create_qp_ex"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "ibv_modify_qp");
    return pair;
  }

  Shared shared_;
  uint64_t holder_;
  size_t bytes_;
  uint64_t* desk_ = nullptr;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion region_;
  std::vector<fabricbench::QueuePair> pairs_;       // by owner, for requests of this rank
  std::vector<fabricbench::QueuePair> other_ends_;  // by rank, for requests of that one
};
// [/solution]
