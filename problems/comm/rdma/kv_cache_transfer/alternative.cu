// [solution]
// One queue pair in each direction, driven by ibv_wr_*. Tables are read from the next rank's memory once a message says
// that they are there; layers are announced by inline sends behind their pages. Every 16th request and each
// announcement is signalled.
struct Page {
  uint64_t cache, table;
  uint32_t cache_key, table_key;
  fabricbench::Endpoint up, down;  // towards the rank before, and the next rank
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Caches& caches)
      : caches_(caches),
        mine_(static_cast<size_t>(caches.most_pages)),
        theirs_(static_cast<size_t>(caches.most_pages)),
        layers_(static_cast<size_t>(caches.layers)),
        card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 1024, nullptr, nullptr, 0), "ibv_create_cq")),
        source_(card_.reg(caches.from, bytes())),
        target_(card_.reg(caches.to, bytes())),
        mine_region_(card_.reg(mine_.data(), sizeof(int32_t) * mine_.size())),
        theirs_region_(card_.reg(theirs_.data(), sizeof(int32_t) * theirs_.size())),
        layers_region_(card_.reg(layers_.data(), sizeof(int32_t) * layers_.size())),
        up_(make()),
        down_(make()) {
    constexpr uint32_t kPsn = 1000;
    const int world = rank.world(), step = (world + 1) / 2;
    const auto all = rank.all_gather(Page{reinterpret_cast<uint64_t>(caches.to),
                                          reinterpret_cast<uint64_t>(mine_.data()), target_->rkey, mine_region_->rkey,
                                          card_.endpoint_of(*up_, kPsn), card_.endpoint_of(*down_, kPsn)});
    next_ = all[static_cast<size_t>((rank.rank() + step) % world)];
    receive_table();
    for (size_t i = 0; i < layers_.size(); ++i) receive_layer(i);
    fabricbench::connect_rc(*up_, kPsn, all[static_cast<size_t>((rank.rank() + world - step) % world)].down);
    fabricbench::connect_rc(*down_, kPsn, next_.up);
  }

  void begin(const int32_t* from_pages, int from_count, const int32_t* to_pages, int to_count) {
    from_.assign(from_pages, from_pages + from_count);
    std::copy_n(to_pages, to_count, mine_.data());
    post(*up_, [](ibv_qp_ex* pair) {
      ibv_wr_send(pair);
      ibv_wr_set_sge_list(pair, 0, nullptr);
    });
    await(tables_);
    receive_table();
    post(*down_, [&](ibv_qp_ex* pair) {
      ibv_wr_rdma_read(pair, next_.table_key, next_.table);
      ibv_wr_set_sge(pair, theirs_region_->lkey, reinterpret_cast<uint64_t>(theirs_.data()),
                     static_cast<uint32_t>(sizeof(int32_t) * from_.size()));
    });
    while (under_way_ > 0) poll();
  }

  void send(int layer) {
    int behind = 0;
    for (size_t i = 0; i < from_.size(); ++i) {
      for (int part = 0; part < 2; ++part) {
        post(
            *down_,
            [&](ibv_qp_ex* pair) {
              ibv_wr_rdma_write(pair, next_.cache_key, next_.cache + offset(layer, part, theirs_[i]));
              ibv_wr_set_sge(pair, source_->lkey,
                             reinterpret_cast<uint64_t>(caches_.from) + offset(layer, part, from_[i]),
                             static_cast<uint32_t>(caches_.page_bytes));
            },
            ++behind % 16 == 0);
      }
    }
    post(*down_, [&](ibv_qp_ex* pair) {
      ibv_wr_send(pair);
      ibv_wr_set_inline_data(pair, &layer, sizeof layer);
    });
  }

  int receive() {
    while (came_.empty()) poll();
    const int layer = came_.front();
    came_.erase(came_.begin());
    return layer;
  }

  void end() {
    while (under_way_ > 0) poll();
  }

 private:
  static constexpr int kSends = 128;
  static constexpr uint64_t kSent = ~0ull, kTable = ~1ull;  // other names are those of a place in `layers_`

  size_t bytes() const { return static_cast<size_t>(2 * caches_.page_bytes * caches_.layers * caches_.pool); }
  uint64_t offset(int layer, int part, int32_t page) const {
    return static_cast<uint64_t>(((2 * int64_t{layer} + part) * caches_.pool + page) * caches_.page_bytes);
  }

  fabricbench::QueuePair make() {
    ibv_qp_init_attr_ex wanted = {};
    wanted.send_cq = wanted.recv_cq = queue_.get();
    wanted.cap = {kSends, static_cast<uint32_t>(caches_.layers + 1), 1, 1, 16};
    wanted.qp_type = IBV_QPT_RC;
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = card_.domain();
    wanted.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND;
    fabricbench::QueuePair pair(
        fabricbench::check_verbs(ibv_create_qp_ex(card_.context(), &wanted), "ibv_create_qp_ex"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
    return pair;
  }

  void receive_table() {
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = kTable;
    fabricbench::check_verbs(ibv_post_recv(down_.get(), &work, &bad), "ibv_post_recv");
  }
  void receive_layer(size_t place) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(&layers_[place]), sizeof(int32_t), layers_region_->lkey};
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = place;
    work.sg_list = &piece;
    work.num_sge = 1;
    fabricbench::check_verbs(ibv_post_recv(up_.get(), &work, &bad), "ibv_post_recv");
  }

  // Up to 7 signalled requests are under way, with up to 15 others before each and behind the last: they have room.
  template <class Build>
  void post(ibv_qp& pair, Build build, bool signalled = true) {
    while (under_way_ * 16 > kSends - 32) poll();
    ibv_qp_ex* const extended = ibv_qp_to_qp_ex(&pair);
    ibv_wr_start(extended);
    extended->wr_id = kSent;
    extended->wr_flags = signalled ? IBV_SEND_SIGNALED : 0;
    build(extended);
    fabricbench::check_verbs(ibv_wr_complete(extended), "ibv_wr_complete");
    under_way_ += signalled ? 1 : 0;
  }

  void await(int& counter) {
    while (counter == 0) poll();
    --counter;
  }

  void poll() {
    const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
    if (done.wr_id == kSent) {
      --under_way_;
    } else if (done.wr_id == kTable) {
      ++tables_;
    } else {
      came_.push_back(layers_[done.wr_id]);
      receive_layer(done.wr_id);
    }
  }

  Caches caches_;
  std::vector<int32_t> mine_, theirs_, layers_, from_;
  std::vector<int> came_;
  int tables_ = 0, under_way_ = 0;  // signalled requests that are not complete
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion source_, target_, mine_region_, theirs_region_, layers_region_;
  fabricbench::QueuePair up_, down_;
  Page next_ = {};
};
// [/solution]
