#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <algorithm>
#include <vector>

// [solution]
// Several appends are under way at a time: an append needs two messages after each other, but different ones need not
// wait for each other.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Shared& shared)
      : shared_(shared),
        queue_(fabricbench::check_verbs(ibv_create_cq(shared.card, kMostWork * rank.world(), nullptr, nullptr, 0),
                                        "ibv_create_cq")),
        tickets_region_(fabricbench::check_verbs(
            ibv_reg_mr(shared.domain, tickets_, sizeof tickets_, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr")) {
    for (int slot = 0; slot < kSlots; ++slot) free_.push_back(slot);
    ibv_port_attr port = {};
    fabricbench::check_verbs(ibv_query_port(shared.card, fabricbench::Card::kPort, &port), "ibv_query_port");
    std::vector<fabricbench::Endpoint> mine;
    for (int p = 0; p < rank.world(); ++p) {
      pairs_.push_back(make_pair());
      mine.push_back({pairs_.back()->qp_num, 0, port.lid});
    }
    const auto world = static_cast<size_t>(rank.world()), me = static_cast<size_t>(rank.rank());
    std::vector<fabricbench::Endpoint> all(world * world);
    rank.all_gather(mine.data(), world * sizeof mine[0], all.data());
    for (size_t p = 0; p < world; ++p) fabricbench::connect_rc(*pairs_[p], 0, all[p * world + me]);
  }

  void append(int owner, int64_t first, int64_t count) {
    while (free_.empty()) serve_completion();
    const int slot = free_.back();
    free_.pop_back();
    batches_[slot] = {owner, first, count, 0};
    // One operation reserves places for all items: no other append can get one between them.
    const Log& log = shared_.logs[static_cast<size_t>(owner)];
    ibv_send_wr work = {};
    work.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    work.wr.atomic.remote_addr = log.counter;
    work.wr.atomic.rkey = log.counter_key;
    work.wr.atomic.compare_add = static_cast<uint64_t>(count);
    post(slot, work, {reinterpret_cast<uint64_t>(&tickets_[slot]), sizeof tickets_[slot], tickets_region_->lkey});
  }

  // A completed write of RC is in the memory of its target.
  void flush() {
    while (free_.size() < kSlots) serve_completion();
  }

 private:
  static constexpr int kSlots = 32;             // appends under way
  static constexpr int kMostWork = 2 * kSlots;  // requests of these, all to one owner: a write may be in two parts

  struct Batch {
    int owner;
    int64_t first, count;
    int writes;  // that are not complete
  };

  fabricbench::QueuePair make_pair() const {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = wanted.recv_cq = queue_.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {
        .max_send_wr = kMostWork, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
    fabricbench::QueuePair pair(fabricbench::check_verbs(ibv_create_qp(shared_.domain, &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "ibv_modify_qp");
    return pair;
  }

  // All requests are signalled: the ticket is there, and the slot is free again, only when a completion says so.
  void post(int slot, ibv_send_wr& work, ibv_sge piece) {
    ibv_send_wr* bad = nullptr;
    work.wr_id = static_cast<uint64_t>(slot);
    work.send_flags = IBV_SEND_SIGNALED;
    work.sg_list = &piece;
    work.num_sge = 1;
    const auto owner = static_cast<size_t>(batches_[slot].owner);
    fabricbench::check_verbs(ibv_post_send(pairs_[owner].get(), &work, &bad), "ibv_post_send");
  }

  void serve_completion() {
    const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
    const auto slot = static_cast<int>(done.wr_id);
    Batch& batch = batches_[slot];
    if (done.opcode == IBV_WC_FETCH_ADD) {
      // The log is a ring: what does not fit at its end goes to its begin.
      const uint64_t place = tickets_[slot] % shared_.capacity;
      const auto fits = std::min(batch.count, static_cast<int64_t>(shared_.capacity - place));
      write(slot, batch.first, fits, place);
      if (fits < batch.count) write(slot, batch.first + fits, batch.count - fits, 0);
    } else if (--batch.writes == 0) {
      free_.push_back(slot);
    }
  }

  void write(int slot, int64_t first, int64_t count, uint64_t place) {
    Batch& batch = batches_[slot];
    const Log& log = shared_.logs[static_cast<size_t>(batch.owner)];
    ibv_send_wr work = {};
    work.opcode = IBV_WR_RDMA_WRITE;
    work.wr.rdma.remote_addr = log.places + place * static_cast<uint64_t>(shared_.item_bytes);
    work.wr.rdma.rkey = log.places_key;
    post(slot, work,
         {shared_.items + static_cast<uint64_t>(first * shared_.item_bytes),
          static_cast<uint32_t>(count * shared_.item_bytes), shared_.items_key});
    ++batch.writes;
  }

  Shared shared_;
  fabricbench::CompletionQueue queue_;
  uint64_t tickets_[kSlots] = {};
  fabricbench::MemoryRegion tickets_region_;
  std::vector<fabricbench::QueuePair> pairs_;  // by owner; that to this rank itself is not used
  Batch batches_[kSlots] = {};
  std::vector<int> free_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Shared& shared) {
//|     // TODO: make and connect queue pairs in shared.domain
//|   }
//|   void append(int owner, int64_t first, int64_t count) {
//|     // TODO: take places in the owner's log, and fill them
//|   }
//|   void flush() {
//|     // TODO: all items have to be in the logs
//|   }
//| };
// [/solution]
