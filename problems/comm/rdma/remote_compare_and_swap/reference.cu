#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <vector>

// [solution]
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Shared& shared)
      : shared_(shared),
        holder_(1 + static_cast<uint64_t>(rank.rank())),
        queue_(fabricbench::check_verbs(ibv_create_cq(shared.card, 16, nullptr, nullptr, 0), "ibv_create_cq")),
        record_(static_cast<size_t>(shared.words)),
        record_region_(fabricbench::check_verbs(
            ibv_reg_mr(shared.domain, record_.data(), record_.size() * sizeof record_[0], IBV_ACCESS_LOCAL_WRITE),
            "ibv_reg_mr")),
        found_region_(fabricbench::check_verbs(
            ibv_reg_mr(shared.domain, &found_, sizeof found_, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr")) {
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
    // The own table, too, is reached through the card: only its own atomic operations are atomic to each other. That
    // queue pair is connected with itself.
    for (size_t p = 0; p < world; ++p) fabricbench::connect_rc(*pairs_[p], 0, all[p * world + me]);
  }

  void update(int owner, int64_t slot, uint32_t value) {
    ibv_qp& pair = *pairs_[static_cast<size_t>(owner)];
    const Table& table = shared_.tables[static_cast<size_t>(owner)];
    const uint64_t lock_at = table.slots + static_cast<uint64_t>(slot * shared_.slot_bytes);
    const uint64_t record_at = lock_at + sizeof(uint64_t);
    ibv_sge record = {reinterpret_cast<uint64_t>(record_.data()),
                      static_cast<uint32_t>(record_.size() * sizeof record_[0]), record_region_->lkey};
    ibv_sge found = {reinterpret_cast<uint64_t>(&found_), sizeof found_, found_region_->lkey};

    // Only the holder may look at the record: the read waits until the swap says that we are.
    ibv_send_wr swap = request(IBV_WR_ATOMIC_CMP_AND_SWP, found);
    swap.wr.atomic.remote_addr = lock_at;
    swap.wr.atomic.rkey = table.key;
    do {
      swap.wr.atomic.compare_add = 0;
      swap.wr.atomic.swap = holder_;
      post(pair, swap);
    } while (found_ != 0);

    ibv_send_wr read = request(IBV_WR_RDMA_READ, record);
    read.wr.rdma.remote_addr = record_at;
    read.wr.rdma.rkey = table.key;
    post(pair, read);
    for (size_t k = 0; k < record_.size(); ++k) record_[k] *= 2 * (value + static_cast<uint32_t>(k)) + 1;

    // Write and release go together: a target executes what comes by one queue pair in order, so that who finds the
    // lock free finds the record written. The release is a swap, too: what a plain write does among the atomic
    // operations of others is not defined. The write needs no completion of its own.
    swap.wr.atomic.compare_add = holder_;
    swap.wr.atomic.swap = 0;
    ibv_send_wr write = request(IBV_WR_RDMA_WRITE, record);
    write.wr.rdma = read.wr.rdma;
    write.send_flags = 0;
    write.next = &swap;
    post(pair, write);
  }

 private:
  fabricbench::QueuePair make_pair() const {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = wanted.recv_cq = queue_.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = 4, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
    fabricbench::QueuePair pair(fabricbench::check_verbs(ibv_create_qp(shared_.domain, &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "ibv_modify_qp");
    return pair;
  }

  static ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge& piece) {
    ibv_send_wr work = {};
    work.opcode = opcode;
    work.send_flags = IBV_SEND_SIGNALED;
    work.sg_list = &piece;
    work.num_sge = 1;
    return work;
  }

  // Posts a list, of which one request is signalled, and waits for that one.
  void post(ibv_qp& pair, ibv_send_wr& first) {
    ibv_send_wr* bad = nullptr;
    fabricbench::check_verbs(ibv_post_send(&pair, &first, &bad), "ibv_post_send");
    fabricbench::wait_for_completion(queue_.get());
  }

  Shared shared_;
  uint64_t holder_;
  fabricbench::CompletionQueue queue_;
  std::vector<uint32_t> record_;
  fabricbench::MemoryRegion record_region_;
  uint64_t found_ = 0;  // what was in the lock before
  fabricbench::MemoryRegion found_region_;
  std::vector<fabricbench::QueuePair> pairs_;  // by owner
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Shared& shared) {
//|     // TODO: make and connect queue pairs in shared.domain
//|   }
//|   void update(int owner, int64_t slot, uint32_t value) {
//|     // TODO: lock, read, change, write, unlock
//|   }
//| };
// [/solution]
