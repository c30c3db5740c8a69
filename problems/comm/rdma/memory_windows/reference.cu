#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <vector>

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank&, const Shared& shared) : shared_(shared) {
    for (Window& window : windows_)
      window.handle = fabricbench::check_verbs(ibv_alloc_mw(shared.domain, IBV_MW_TYPE_2), "ibv_alloc_mw");
  }
  ~Solution() {
    for (const Window& window : windows_) ibv_dealloc_mw(window.handle);
  }

  uint32_t grant(uint64_t address, uint64_t bytes) {
    size_t k = 0;
    while (windows_[k].open) ++k;
    Window& window = windows_[k];
    ibv_mw_bind_info info = {};
    info.mr = shared_.region;
    info.addr = address;
    info.length = bytes;
    info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
    // A new key each time, by its low byte: with the old one, who had the window before could come in again.
    const uint32_t key = ibv_inc_rkey(window.handle->rkey);
    ibv_qp_ex* const pair = begin();
    ibv_wr_bind_mw(pair, window.handle, key, &info);
    // Bound when it is complete. The key goes to the peer by another queue pair, which does not wait for this one.
    finish(pair);
    window.handle->rkey = key;
    window.open = true;
    return key;
  }

  void revoke(uint32_t key) {
    ibv_qp_ex* const pair = begin();
    ibv_wr_local_inv(pair, key);
    // Until this is complete, a write that comes may still go through.
    finish(pair);
    for (Window& window : windows_) {
      if (window.handle->rkey == key) window.open = false;
    }
  }

 private:
  static constexpr size_t kWindows = 2;  // that are open at the same time, at most
  struct Window {
    ibv_mw* handle = nullptr;
    bool open = false;
  };

  ibv_qp_ex* begin() const {
    ibv_qp_ex* const pair = ibv_qp_to_qp_ex(shared_.pair);
    ibv_wr_start(pair);
    pair->wr_flags = IBV_SEND_SIGNALED;
    return pair;
  }
  void finish(ibv_qp_ex* pair) const {
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
    fabricbench::wait_for_completion(shared_.queue);
  }

  Shared shared_;
  Window windows_[kWindows];
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Shared& shared) {
//|     // TODO: make windows
//|   }
//|   uint32_t grant(uint64_t address, uint64_t bytes) {
//|     // TODO: open a window, and return its key
//|     return 0;
//|   }
//|   void revoke(uint32_t key) {
//|     // TODO: close the window
//|   }
//| };
// [/solution]
