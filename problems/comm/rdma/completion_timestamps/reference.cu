#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <algorithm>
#include <vector>

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank&, const Shared& shared) {
    ibv_device_attr_ex device = {};
    fabricbench::check_verbs(ibv_query_device_ex(shared.card, nullptr, &device), "ibv_query_device_ex");
    kilohertz_ = static_cast<double>(device.hca_core_clock);
    for (ibv_cq_ex*& queue : queues_) {
      // What is to be read of a completion must be asked for when the queue is made.
      ibv_cq_init_attr_ex wanted = {};
      wanted.cqe = static_cast<uint32_t>(shared.entries);
      wanted.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
      queue = fabricbench::check_verbs(ibv_create_cq_ex(shared.card, &wanted), "ibv_create_cq_ex");
    }
  }
  ~Solution() {
    for (ibv_cq_ex* queue : queues_) ibv_destroy_cq(ibv_cq_ex_to_cq(queue));
  }

  ibv_cq* queue(int route) { return ibv_cq_ex_to_cq(queues_[route]); }

  int64_t collect(Stamp* stamps, int64_t most) {
    int64_t count = 0;
    for (ibv_cq_ex* queue : queues_) {
      // Between start and end the queue shows one completion after the other. If there is none to start with, there is
      // nothing to end.
      ibv_poll_cq_attr attr = {};
      int status = ibv_start_poll(queue, &attr);
      if (status == ENOENT) continue;
      for (; status == 0 && count < most; status = ibv_next_poll(queue)) {
        if (queue->status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(queue->status));
        stamps[count++] = {queue->wr_id, nanoseconds(ibv_wc_read_completion_ts(queue))};
      }
      ibv_end_poll(queue);
    }
    // Queues know nothing of each other: only the time tells what came first.
    std::sort(stamps, stamps + count, [](const Stamp& a, const Stamp& b) { return a.nanoseconds < b.nanoseconds; });
    return count;
  }

 private:
  // The clock counts ticks of its own.
  uint64_t nanoseconds(uint64_t ticks) const {
    return static_cast<uint64_t>(static_cast<double>(ticks) * 1e6 / kilohertz_);
  }

  double kilohertz_ = 1;
  ibv_cq_ex* queues_[kRoutes] = {};
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Shared& shared) {
//|     // TODO: make completion queues with time stamps
//|   }
//|   ibv_cq* queue(int route) {
//|     // TODO: the completion queue of this route
//|     return nullptr;
//|   }
//|   int64_t collect(Stamp* stamps, int64_t most) {
//|     // TODO: all completions, in the order of their times
//|     return 0;
//|   }
//| };
// [/solution]
