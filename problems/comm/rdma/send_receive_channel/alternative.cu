// [solution]
#include <arpa/inet.h>

// Messages are written into the slots, in turn, and announced by their immediate value. A credit is an empty write
// whose immediate value is the number of all messages that were released so far.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const void* source, int64_t source_bytes, void* memory, int slots,
           int most_bytes)
      : card_(rank),
        next_queue_(make_queue(3 * slots)),
        before_queue_(make_queue(3 * slots)),
        source_(reinterpret_cast<uint64_t>(source)),
        memory_(static_cast<char*>(memory)),
        slots_(static_cast<uint64_t>(slots)),
        most_(static_cast<uint64_t>(most_bytes)) {
    source_region_ = card_.reg(source, static_cast<size_t>(source_bytes));
    memory_region_ = card_.reg(memory_, slots_ * most_);
    before_ = make(before_queue_.get());
    next_ = make(next_queue_.get());
    for (int slot = 0; slot < slots; ++slot) {
      post_receive(*before_);
      post_receive(*next_);
    }
    const auto psn = 100 + static_cast<uint32_t>(rank.rank());
    const Door mine = {reinterpret_cast<uint64_t>(memory_), memory_region_->rkey, card_.endpoint_of(*before_, psn),
                       card_.endpoint_of(*next_, psn)};
    const auto all = rank.all_gather(mine);
    const auto me = static_cast<size_t>(rank.rank()), world = static_cast<size_t>(rank.world());
    there_ = all[(me + 1) % world];
    fabricbench::connect_rc(*before_, psn, all[(me + world - 1) % world].next);
    fabricbench::connect_rc(*next_, psn, there_.before);
    rank.barrier();
  }

  bool send(int64_t offset, int bytes) {
    poll_next();
    if (sent_ == released_there_ + slots_) return false;
    post(next_.get(), 0, there_.memory + sent_++ % slots_ * most_,
         {source_ + static_cast<uint64_t>(offset), static_cast<uint32_t>(bytes), source_region_->lkey});
    ++in_flight_;
    return true;
  }

  const void* receive(int& bytes) {
    ibv_wc done = {};
    if (!take(before_queue_.get(), done) || done.opcode == IBV_WC_RDMA_WRITE) return nullptr;
    bytes = static_cast<int>(done.byte_len);
    return memory_ + received_++ % slots_ * most_;
  }

  void release() {
    post_receive(*before_);  // before the number that allows the message which takes it
    post(before_.get(), ++released_, 0, {});
  }

  void drain() {
    while (in_flight_ > 0) poll_next();
  }

 private:
  struct Door {
    uint64_t memory;
    uint32_t key;
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
    wanted.cap = {.max_send_wr = 2 * static_cast<uint32_t>(slots_),
                  .max_recv_wr = static_cast<uint32_t>(slots_),
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = 0};
    wanted.pd = card_.domain();
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    fabricbench::QueuePair pair(
        fabricbench::check_verbs(ibv_create_qp_ex(card_.context(), &wanted), "ibv_create_qp_ex"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "ibv_modify_qp");
    return pair;
  }
  static void post_receive(ibv_qp& pair) {
    ibv_recv_wr work = {}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }
  // Writes nothing if there is nothing: then the address and the key are not looked at.
  void post(ibv_qp* to, uint32_t number, uint64_t address, ibv_sge piece) {
    ibv_qp_ex* const pair = ibv_qp_to_qp_ex(to);
    ibv_wr_start(pair);
    pair->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write_imm(pair, there_.key, address, htonl(number));
    ibv_wr_set_sge_list(pair, piece.length != 0 ? 1 : 0, &piece);
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
  }
  static bool take(ibv_cq* queue, ibv_wc& done) {
    if (ibv_poll_cq(queue, 1, &done) == 0) return false;
    fabricbench::check_verbs(done.status == IBV_WC_SUCCESS ? 0 : EIO, ibv_wc_status_str(done.status));
    return true;
  }
  // Ends of own messages, and credits.
  void poll_next() {
    ibv_wc done = {};
    if (!take(next_queue_.get(), done)) return;
    if (done.opcode == IBV_WC_RDMA_WRITE) {
      --in_flight_;
    } else {
      post_receive(*next_);
      released_there_ += ntohl(done.imm_data) - static_cast<uint32_t>(released_there_);
    }
  }

  fabricbench::Card card_;
  fabricbench::CompletionQueue next_queue_, before_queue_;
  uint64_t source_;
  char* memory_;
  uint64_t slots_, most_;
  fabricbench::MemoryRegion source_region_, memory_region_;
  fabricbench::QueuePair before_, next_;
  Door there_ = {};
  uint64_t sent_ = 0, released_there_ = 0, received_ = 0;
  uint32_t released_ = 0;
  int in_flight_ = 0;
};
// [/solution]
