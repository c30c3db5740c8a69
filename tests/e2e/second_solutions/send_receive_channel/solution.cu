#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

// [solution]
#include <atomic>

// Messages are written into the slots, in turn, and announced by their immediate value. Credits are fetched: the
// receiver counts what it has released in memory of its own, and a sender without credit reads that number.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const void* source, int64_t source_bytes, void* memory, int slots,
           int most_bytes)
      : card_(rank),
        sent_queue_(make_queue(2 * slots + 2)),
        came_queue_(make_queue(slots)),
        source_(reinterpret_cast<uint64_t>(source)),
        memory_(static_cast<char*>(memory)),
        slots_(static_cast<uint64_t>(slots)),
        most_(static_cast<uint64_t>(most_bytes)) {
    source_region_ = card_.reg(source, static_cast<size_t>(source_bytes));
    memory_region_ = card_.reg(memory_, slots_ * most_);
    counts_region_ = card_.reg(&counts_, sizeof counts_);
    before_ = make(came_queue_.get());
    next_ = make(sent_queue_.get());
    for (int slot = 0; slot < slots; ++slot) post_receive();
    const auto psn = 100 + static_cast<uint32_t>(rank.rank());
    const Door mine = {reinterpret_cast<uint64_t>(memory_),
                       reinterpret_cast<uint64_t>(&counts_.released),
                       memory_region_->rkey,
                       counts_region_->rkey,
                       card_.endpoint_of(*before_, psn),
                       card_.endpoint_of(*next_, psn)};
    const auto all = rank.all_gather(mine);
    const auto me = static_cast<size_t>(rank.rank()), world = static_cast<size_t>(rank.world());
    there_ = all[(me + 1) % world];
    fabricbench::connect_rc(*before_, psn, all[(me + world - 1) % world].next);
    fabricbench::connect_rc(*next_, psn, there_.before);
    rank.barrier();
  }

  bool send(int64_t offset, int bytes) {
    poll_sent();
    if (sent_ == allowed_ + slots_) {
      if (!asking_) ask();
      return false;
    }
    ibv_qp_ex* const pair = ibv_qp_to_qp_ex(next_.get());
    ibv_wr_start(pair);
    pair->wr_id = kMessage;
    pair->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write_imm(pair, there_.memory_key, there_.memory + sent_ % slots_ * most_, 0);
    ibv_wr_set_sge(pair, source_region_->lkey, source_ + static_cast<uint64_t>(offset), static_cast<uint32_t>(bytes));
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
    ++sent_;
    ++in_flight_;
    return true;
  }

  const void* receive(int& bytes) {
    ibv_wc done = {};
    if (ibv_poll_cq(came_queue_.get(), 1, &done) == 0) return nullptr;
    fabricbench::check_verbs(done.status == IBV_WC_SUCCESS ? 0 : EIO, ibv_wc_status_str(done.status));
    bytes = static_cast<int>(done.byte_len);
    return memory_ + received_++ % slots_ * most_;
  }

  void release() {
    post_receive();  // before the number that allows the message which takes it
    counts_.released.fetch_add(1, std::memory_order_release);
  }

  void drain() {
    while (in_flight_ > 0 || asking_) poll_sent();
  }

 private:
  enum Work : uint64_t { kMessage, kAnswer };
  struct Door {
    uint64_t memory, released;
    uint32_t memory_key, released_key;
    fabricbench::Endpoint before, next;
  };

  fabricbench::CompletionQueue make_queue(int entries) const {
    return fabricbench::CompletionQueue(
        fabricbench::check_verbs(ibv_create_cq(card_.context(), entries, nullptr, nullptr, 0), "ibv_create_cq"));
  }
  fabricbench::QueuePair make(ibv_cq* queue) const {
    ibv_qp_init_attr_ex wanted = {};
    wanted.send_cq = wanted.recv_cq = queue;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = static_cast<uint32_t>(slots_) + 1,
                  .max_recv_wr = static_cast<uint32_t>(slots_),
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = 0};
    wanted.pd = card_.domain();
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ;
    fabricbench::QueuePair pair(
        fabricbench::check_verbs(ibv_create_qp_ex(card_.context(), &wanted), "ibv_create_qp_ex"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "ibv_modify_qp");
    return pair;
  }
  void post_receive() {
    ibv_recv_wr work = {}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(before_.get(), &work, &bad), "ibv_post_recv");
  }
  void ask() {
    ibv_qp_ex* const pair = ibv_qp_to_qp_ex(next_.get());
    ibv_wr_start(pair);
    pair->wr_id = kAnswer;
    pair->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_read(pair, there_.released_key, there_.released);
    ibv_wr_set_sge(pair, counts_region_->lkey, reinterpret_cast<uint64_t>(&counts_.answer), sizeof counts_.answer);
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
    asking_ = true;
  }
  void poll_sent() {
    ibv_wc done = {};
    if ((in_flight_ == 0 && !asking_) || ibv_poll_cq(sent_queue_.get(), 1, &done) == 0) return;
    fabricbench::check_verbs(done.status == IBV_WC_SUCCESS ? 0 : EIO, ibv_wc_status_str(done.status));
    if (done.wr_id == kAnswer) {
      asking_ = false;
      allowed_ = counts_.answer;
    } else {
      --in_flight_;
    }
  }

  fabricbench::Card card_;
  fabricbench::CompletionQueue sent_queue_, came_queue_;
  uint64_t source_;
  char* memory_;
  uint64_t slots_, most_;
  // `released` is what the rank before reads, `answer` what was read from the next rank.
  struct {
    std::atomic<uint64_t> released{0};
    uint64_t answer = 0;
  } counts_;
  fabricbench::MemoryRegion source_region_, memory_region_, counts_region_;
  fabricbench::QueuePair before_, next_;
  Door there_ = {};
  uint64_t sent_ = 0, allowed_ = 0, received_ = 0, in_flight_ = 0;
  bool asking_ = false;
};
// [/solution]
