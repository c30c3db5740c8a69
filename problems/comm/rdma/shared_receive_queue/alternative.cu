// [solution]
#include <arpa/inet.h>

#include <deque>
#include <vector>

// Everything comes through one extended completion queue. Slots that were released are posted together, as one list,
// when the caller asks for the next message. Sends are built by ibv_wr_send_imm; a limit event is not needed.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const void* source, int64_t source_bytes, void* memory, int slots,
           int slot_bytes, int most_sends)
      : card_(rank),
        source_(reinterpret_cast<uint64_t>(source)),
        memory_(reinterpret_cast<uint64_t>(memory)),
        slot_bytes_(static_cast<uint32_t>(slot_bytes)),
        source_region_(card_.reg(source, static_cast<size_t>(source_bytes), 0)),
        slots_region_(card_.reg(memory, static_cast<size_t>(slots) * slot_bytes_, IBV_ACCESS_LOCAL_WRITE)) {
    ibv_cq_init_attr_ex events = {};
    events.cqe = static_cast<uint32_t>(slots + most_sends);
    events.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM;
    extended_ = fabricbench::check_verbs(ibv_create_cq_ex(card_.context(), &events), "ibv_create_cq_ex");
    queue_.reset(ibv_cq_ex_to_cq(extended_));
    ibv_srq_init_attr_ex shared = {};
    shared.attr.max_wr = static_cast<uint32_t>(slots);
    shared.attr.max_sge = 1;
    shared.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
    shared.srq_type = IBV_SRQT_BASIC;
    shared.pd = card_.domain();
    shared_.reset(fabricbench::check_verbs(ibv_create_srq_ex(card_.context(), &shared), "ibv_create_srq_ex"));
    for (int slot = 0; slot < slots; ++slot) released_.push_back(static_cast<uint64_t>(slot));
    post_released();

    const auto me = static_cast<uint32_t>(rank.rank()), world = static_cast<uint32_t>(rank.world());
    std::vector<fabricbench::Endpoint> mine(world), all(world * world);
    for (uint32_t r = 0; r < world; ++r) {
      // Also one to itself, which is never used: the number of a pair is then found by its rank.
      pairs_.push_back(make_pair(static_cast<uint32_t>(most_sends)));
      mine[r] = card_.endpoint_of(*pairs_[r], 1000 * me + r);
    }
    rank.all_gather(mine.data(), world * sizeof mine[0], all.data());
    for (uint32_t r = 0; r < world; ++r) fabricbench::connect_rc(*pairs_[r], mine[r].psn, all[r * world + me]);
  }

  void send(int to, int64_t offset, int bytes, uint32_t tag) {
    ibv_qp_ex* const pair = ibv_qp_to_qp_ex(pairs_[static_cast<size_t>(to)].get());
    ibv_wr_start(pair);
    pair->wr_id = kSent;
    pair->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send_imm(pair, htonl(tag));
    ibv_wr_set_sge(pair, source_region_->lkey, source_ + static_cast<uint64_t>(offset), static_cast<uint32_t>(bytes));
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
    ++in_flight_;
  }

  const void* receive(int& from, int& bytes, uint32_t& tag) {
    post_released();
    poll();
    if (arrived_.empty()) return nullptr;
    const Arrival first = arrived_.front();
    arrived_.pop_front();
    from = 0;
    while (pairs_[static_cast<size_t>(from)]->qp_num != first.pair) ++from;
    bytes = static_cast<int>(first.bytes);
    tag = first.tag;
    return reinterpret_cast<const void*>(memory_ + first.slot * slot_bytes_);
  }

  void release(const void* message) {
    released_.push_back((reinterpret_cast<uint64_t>(message) - memory_) / slot_bytes_);
  }

  void drain() {
    while (in_flight_ > 0) poll();
  }

 private:
  static constexpr uint64_t kSent = ~uint64_t{0};
  struct Arrival {
    uint64_t slot;
    uint32_t pair, bytes, tag;
  };

  fabricbench::QueuePair make_pair(uint32_t most_sends) const {
    ibv_qp_init_attr_ex wanted = {};
    wanted.send_cq = wanted.recv_cq = queue_.get();
    wanted.srq = shared_.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap.max_send_wr = most_sends;
    wanted.cap.max_send_sge = 1;
    wanted.pd = card_.domain();
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM;
    fabricbench::QueuePair pair(
        fabricbench::check_verbs(ibv_create_qp_ex(card_.context(), &wanted), "ibv_create_qp_ex"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "ibv_modify_qp");
    return pair;
  }

  void post_released() {
    if (released_.empty()) return;
    std::vector<ibv_sge> pieces(released_.size());
    std::vector<ibv_recv_wr> work(released_.size());
    for (size_t k = 0; k < work.size(); ++k) {
      pieces[k] = {memory_ + released_[k] * slot_bytes_, slot_bytes_, slots_region_->lkey};
      work[k] = {released_[k], k + 1 < work.size() ? &work[k + 1] : nullptr, &pieces[k], 1};
    }
    ibv_recv_wr* bad = nullptr;
    fabricbench::check_verbs(ibv_post_srq_recv(shared_.get(), work.data(), &bad), "ibv_post_srq_recv");
    released_.clear();
  }

  void poll() {
    ibv_poll_cq_attr attributes = {};
    const int empty = ibv_start_poll(extended_, &attributes);
    if (empty == ENOENT) return;
    fabricbench::check_verbs(empty, "ibv_start_poll");
    fabricbench::check_verbs(extended_->status == IBV_WC_SUCCESS ? 0 : EIO, ibv_wc_status_str(extended_->status));
    if (extended_->wr_id == kSent) {
      --in_flight_;
    } else {
      arrived_.push_back({extended_->wr_id, ibv_wc_read_qp_num(extended_), ibv_wc_read_byte_len(extended_),
                          ntohl(ibv_wc_read_imm_data(extended_))});
    }
    ibv_end_poll(extended_);
  }

  fabricbench::Card card_;
  uint64_t source_, memory_;
  uint32_t slot_bytes_;
  fabricbench::MemoryRegion source_region_, slots_region_;
  ibv_cq_ex* extended_ = nullptr;
  fabricbench::CompletionQueue queue_;
  fabricbench::SharedReceiveQueue shared_;
  std::vector<fabricbench::QueuePair> pairs_;
  std::deque<Arrival> arrived_;
  std::vector<uint64_t> released_;
  int in_flight_ = 0;
};
// [/solution]
