// [solution]
// One queue for all routes: it is in order by itself, and only its times are asked for. Each completion is polled for
// itself. Integers throughout.
class Solution {
 public:
  Solution(const fabricbench::Rank&, const Shared& shared) {
    ibv_device_attr_ex device = {};
    fabricbench::check_verbs(ibv_query_device_ex(shared.card, nullptr, &device), "ibv_query_device_ex");
    kilohertz_ = device.hca_core_clock;
    ibv_cq_init_attr_ex wanted = {};
    wanted.cqe = static_cast<uint32_t>(shared.entries);
    wanted.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    wanted.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
    wanted.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
    queue_ = fabricbench::check_verbs(ibv_create_cq_ex(shared.card, &wanted), "ibv_create_cq_ex");
  }
  ~Solution() { ibv_destroy_cq(ibv_cq_ex_to_cq(queue_)); }

  ibv_cq* queue(int) { return ibv_cq_ex_to_cq(queue_); }

  int64_t collect(Stamp* stamps, int64_t most) {
    int64_t count = 0;
    ibv_poll_cq_attr attr = {};
    while (count < most && ibv_start_poll(queue_, &attr) == 0) {
      if (queue_->status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(queue_->status));
      stamps[count++] = {queue_->wr_id, nanoseconds(ibv_wc_read_completion_ts(queue_))};
      ibv_end_poll(queue_);
    }
    return count;
  }

 private:
  // Whole milliseconds first: the product would not fit otherwise.
  uint64_t nanoseconds(uint64_t ticks) const {
    return ticks / kilohertz_ * 1000000 + ticks % kilohertz_ * 1000000 / kilohertz_;
  }

  uint64_t kilohertz_ = 1;
  ibv_cq_ex* queue_ = nullptr;
};
// [/solution]
