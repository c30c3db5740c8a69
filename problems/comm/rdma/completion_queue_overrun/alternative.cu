// [solution]
#include <arpa/inet.h>
#include <poll.h>

// The descriptor blocks, and is asked by poll() first. Both ends of a broken connection are made anew, and their
// numbers go as immediate values of writes without data, each way. Blocks are written one after the other.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Shared& shared)
      : shared_(shared),
        notes_(make_queue(16)),
        to_before_(make_pair(notes_, 4)),
        to_next_(make_pair(notes_, 4)),
        inbound_(make_pair(notes_, 1)) {
    make_outbound();
    ibv_port_attr port = {};
    fabricbench::check_verbs(ibv_query_port(shared.card, fabricbench::Card::kPort, &port), "ibv_query_port");
    struct Ends {
      uint32_t to_before, to_next, inbound, outbound;
      uint16_t lid;
    };
    const auto all =
        rank.all_gather(Ends{to_before_->qp_num, to_next_->qp_num, inbound_->qp_num, outbound_->qp_num, port.lid});
    const auto world = static_cast<size_t>(rank.world()), me = static_cast<size_t>(rank.rank());
    const Ends &next = all[(me + 1) % world], &before = all[(me + world - 1) % world];
    next_lid_ = next.lid;
    before_lid_ = before.lid;
    for (int k = 0; k < 2; ++k) {
      post_receive(*to_before_);
      post_receive(*to_next_);
    }
    fabricbench::connect_rc(*to_before_, 0, {before.to_next, 0, before_lid_});
    fabricbench::connect_rc(*to_next_, 0, {next.to_before, 0, next_lid_});
    fabricbench::connect_rc(*inbound_, 0, {before.outbound, 0, before_lid_});
    fabricbench::connect_rc(*outbound_, 0, {next.inbound, 0, next_lid_});
  }

  ibv_qp* pair() { return outbound_.get(); }

  uint32_t deliver(const Block* blocks, int64_t count) {
    uint32_t errors = 0;
    bool is_broken = false;
    for (pollfd ready = {shared_.card->async_fd, POLLIN, 0}; ::poll(&ready, 1, 0) == 1;) {
      ibv_async_event event = {};
      fabricbench::check_verbs(ibv_get_async_event(shared_.card, &event), "ibv_get_async_event");
      const bool is_overrun = event.event_type == IBV_EVENT_CQ_ERR;
      errors += is_overrun ? 1 : 0;
      if (is_overrun && event.element.cq == queue_.get()) is_broken = true;
      ibv_ack_async_event(&event);
    }
    if (is_broken) {
      outbound_.reset();
      queue_.reset();
      make_outbound();
    }
    tell(*to_next_, is_broken ? outbound_->qp_num : 0);
    const uint32_t source = hear(from_before_);
    if (source != 0) {
      inbound_ = make_pair(notes_, 1);
      fabricbench::connect_rc(*inbound_, 0, {source, 0, before_lid_});
    }
    tell(*to_before_, inbound_->qp_num);
    const uint32_t target = hear(from_next_);
    if (!is_broken) return errors;
    fabricbench::connect_rc(*outbound_, 0, {target, 0, next_lid_});
    for (int64_t b = 0; b < count; ++b) {
      ibv_sge piece = {blocks[b].from, blocks[b].bytes, blocks[b].from_key};
      ibv_send_wr work = {};
      work.opcode = IBV_WR_RDMA_WRITE;
      work.sg_list = &piece;
      work.num_sge = 1;
      work.wr.rdma.remote_addr = blocks[b].to;
      work.wr.rdma.rkey = blocks[b].to_key;
      post(*outbound_, work);
      fabricbench::wait_for_completion(queue_.get());
    }
    return errors;
  }

 private:
  fabricbench::CompletionQueue make_queue(int entries) const {
    return fabricbench::CompletionQueue(
        fabricbench::check_verbs(ibv_create_cq(shared_.card, entries, nullptr, nullptr, 0), "ibv_create_cq"));
  }
  fabricbench::QueuePair make_pair(const fabricbench::CompletionQueue& queue, uint32_t sends) const {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = wanted.recv_cq = queue.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = sends, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    fabricbench::QueuePair pair(fabricbench::check_verbs(ibv_create_qp(shared_.domain, &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    fabricbench::check_verbs(ibv_modify_qp(pair.get(), &a, mask), "ibv_modify_qp to INIT");
    return pair;
  }
  void make_outbound() {
    queue_ = make_queue(shared_.entries);
    outbound_ = make_pair(queue_, shared_.sends);
  }

  static void post(ibv_qp& pair, ibv_send_wr& work) {
    ibv_send_wr* bad = nullptr;
    work.send_flags = IBV_SEND_SIGNALED;
    fabricbench::check_verbs(ibv_post_send(&pair, &work, &bad), "ibv_post_send");
  }
  static void post_receive(ibv_qp& pair) {
    ibv_recv_wr work = {}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }
  void tell(ibv_qp& pair, uint32_t number) {
    ibv_send_wr work = {};
    work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    work.imm_data = htonl(number);
    post(pair, work);
    ++sent_;
    while (sent_ > 0) serve_note();
  }
  // A number that has come; ~0: none.
  uint32_t hear(uint32_t& from) {
    while (from == kNone) serve_note();
    return std::exchange(from, kNone);
  }
  // Neighbours wait for each other's notes: there is never more than one of each.
  void serve_note() {
    const ibv_wc done = fabricbench::wait_for_completion(notes_.get());
    if (done.opcode != IBV_WC_RECV_RDMA_WITH_IMM) {
      --sent_;
      return;
    }
    const bool is_next = done.qp_num == to_next_->qp_num;
    (is_next ? from_next_ : from_before_) = ntohl(done.imm_data);
    post_receive(is_next ? *to_next_ : *to_before_);
  }

  static constexpr uint32_t kNone = ~0u;
  Shared shared_;
  fabricbench::CompletionQueue notes_;
  fabricbench::QueuePair to_before_, to_next_, inbound_;
  uint16_t before_lid_ = 0, next_lid_ = 0;
  uint32_t from_before_ = kNone, from_next_ = kNone;
  int sent_ = 0;
  fabricbench::CompletionQueue queue_;
  fabricbench::QueuePair outbound_;
};
// [/solution]
