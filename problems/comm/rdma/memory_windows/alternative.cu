// [solution]
#include <unordered_map>

// Through ibv_post_send. Many windows, used one after the other, so that an old key stays worthless for long; a bind is
// not signalled, but followed by a write without bytes, which completes behind it.
class Solution {
 public:
  Solution(const fabricbench::Rank&, const Shared& shared) : shared_(shared) {
    for (int k = 0; k < 16; ++k)
      windows_.push_back(fabricbench::check_verbs(ibv_alloc_mw(shared.domain, IBV_MW_TYPE_2), "ibv_alloc_mw"));
  }
  ~Solution() {
    for (ibv_mw* window : windows_) ibv_dealloc_mw(window);
    for (const auto& [key, window] : open_) ibv_dealloc_mw(window);
  }

  uint32_t grant(uint64_t address, uint64_t bytes) {
    ibv_mw* const window = windows_.front();
    windows_.erase(windows_.begin());
    ibv_send_wr nothing = {};
    nothing.opcode = IBV_WR_RDMA_WRITE;
    nothing.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr bind = {};
    bind.opcode = IBV_WR_BIND_MW;
    bind.bind_mw.mw = window;
    bind.bind_mw.rkey = window->rkey = ibv_inc_rkey(window->rkey);
    bind.bind_mw.bind_info = {
        .mr = shared_.region, .addr = address, .length = bytes, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    bind.next = &nothing;
    post(bind);
    open_[window->rkey] = window;
    return window->rkey;
  }

  void revoke(uint32_t key) {
    ibv_send_wr work = {};
    work.opcode = IBV_WR_LOCAL_INV;
    work.invalidate_rkey = key;
    work.send_flags = IBV_SEND_SIGNALED;
    post(work);
    windows_.push_back(open_.at(key));
    open_.erase(key);
  }

 private:
  void post(ibv_send_wr& first) const {
    ibv_send_wr* bad = nullptr;
    fabricbench::check_verbs(ibv_post_send(shared_.pair, &first, &bad), "ibv_post_send");
    fabricbench::wait_for_completion(shared_.queue);
  }

  Shared shared_;
  std::vector<ibv_mw*> windows_;                // those that are not open
  std::unordered_map<uint32_t, ibv_mw*> open_;  // by key
};
// [/solution]
