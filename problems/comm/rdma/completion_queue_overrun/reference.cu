#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

// [solution]
#include <arpa/inet.h>
#include <fcntl.h>

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Shared& shared)
      : shared_(shared),
        notes_queue_(make_queue(16)),
        to_before_(make_pair(notes_queue_.get(), 4)),
        to_next_(make_pair(notes_queue_.get(), 4)),
        inbound_(make_pair(notes_queue_.get(), 1)) {
    make_outbound();
    // Events are looked for now and then: without this, a look would wait for one.
    const int flags = fcntl(shared.card->async_fd, F_GETFL);
    if (fcntl(shared.card->async_fd, F_SETFL, flags | O_NONBLOCK) != 0) throw std::runtime_error("fcntl failed");

    ibv_port_attr port = {};
    fabricbench::check_verbs(ibv_query_port(shared.card, fabricbench::Card::kPort, &port), "ibv_query_port");
    struct Ends {
      fabricbench::Endpoint to_before, to_next, inbound, outbound;
    };
    const auto end_of = [&](const fabricbench::QueuePair& pair) {
      return fabricbench::Endpoint{pair->qp_num, 0, port.lid};
    };
    const auto all = rank.all_gather(Ends{end_of(to_before_), end_of(to_next_), end_of(inbound_), end_of(outbound_)});
    const auto world = static_cast<size_t>(rank.world()), me = static_cast<size_t>(rank.rank());
    const Ends &next = all[(me + 1) % world], &before = all[(me + world - 1) % world];
    post_receive(*to_before_, kFromBefore);
    post_receive(*to_next_, kFromNext);
    fabricbench::connect_rc(*to_before_, 0, before.to_next);
    fabricbench::connect_rc(*to_next_, 0, next.to_before);
    source_ = before.outbound;
    target_ = next.inbound;
    fabricbench::connect_rc(*inbound_, 0, source_);
    fabricbench::connect_rc(*outbound_, 0, target_);
  }

  ibv_qp* pair() { return outbound_.get(); }

  uint32_t deliver(const Block* blocks, int64_t count) {
    // All events that are there, of every kind: each must be acknowledged, or its object can't be destroyed.
    uint32_t errors = 0;
    bool is_broken = false;
    for (ibv_async_event event = {}; ibv_get_async_event(shared_.card, &event) == 0;) {
      if (event.event_type == IBV_EVENT_CQ_ERR) {
        ++errors;
        is_broken = is_broken || event.element.cq == queue_.get();
      }
      ibv_ack_async_event(&event);
    }
    if (errno != EAGAIN) throw std::runtime_error("ibv_get_async_event failed");
    // An overrun queue is of no use any more, and a queue pair can't change its queue: both are made anew.
    if (is_broken) {
      outbound_.reset();
      queue_.reset();
      make_outbound();
    }

    // The next rank can't know, so it is told in every call: the number of the new pair, or 0. Its end expects packets
    // of the old pair: it begins again, and says so, before the new pair sends.
    tell(*to_next_, is_broken ? outbound_->qp_num : 0);
    if (const uint32_t number = hear(kFromBefore); number != 0) {
      source_.number = number;
      restart(*inbound_, source_);
    }
    tell(*to_before_, 0);
    hear(kFromNext);
    if (!is_broken) return errors;  // all writes have completed

    // What was posted to the broken pair is lost.
    fabricbench::connect_rc(*outbound_, 0, target_);
    int under_way = 0;
    for (int64_t b = 0; b < count; ++b) {
      // Never more than the queue has room for.
      if (under_way == shared_.entries) {
        fabricbench::wait_for_completion(queue_.get());
        --under_way;
      }
      write(blocks[b]);
      ++under_way;
    }
    for (; under_way > 0; --under_way) fabricbench::wait_for_completion(queue_.get());
    return errors;
  }

 private:
  enum Work : uint64_t { kFromBefore, kFromNext, kSent, kKinds };

  fabricbench::CompletionQueue make_queue(int entries) const {
    return fabricbench::CompletionQueue(
        fabricbench::check_verbs(ibv_create_cq(shared_.card, entries, nullptr, nullptr, 0), "ibv_create_cq"));
  }
  fabricbench::QueuePair make_pair(ibv_cq* queue, uint32_t sends) const {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = wanted.recv_cq = queue;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = sends, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    fabricbench::QueuePair pair(fabricbench::check_verbs(ibv_create_qp(shared_.domain, &wanted), "ibv_create_qp"));
    to_init(*pair);
    return pair;
  }
  void make_outbound() {
    queue_ = make_queue(shared_.entries);
    outbound_ = make_pair(queue_.get(), shared_.sends);
  }
  static void to_init(ibv_qp& pair) {
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    fabricbench::check_verbs(ibv_modify_qp(&pair, &a, mask), "ibv_modify_qp to INIT");
  }
  static void restart(ibv_qp& pair, const fabricbench::Endpoint& peer) {
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_RESET;
    fabricbench::check_verbs(ibv_modify_qp(&pair, &a, IBV_QP_STATE), "ibv_modify_qp to RESET");
    to_init(pair);
    fabricbench::connect_rc(pair, 0, peer);
  }

  void write(const Block& block) {
    ibv_sge piece = {block.from, block.bytes, block.from_key};
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_RDMA_WRITE;
    work.send_flags = IBV_SEND_SIGNALED;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.wr.rdma.remote_addr = block.to;
    work.wr.rdma.rkey = block.to_key;
    fabricbench::check_verbs(ibv_post_send(outbound_.get(), &work, &bad), "ibv_post_send");
  }
  void tell(ibv_qp& pair, uint32_t number) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.wr_id = kSent;
    work.opcode = IBV_WR_SEND_WITH_IMM;
    work.imm_data = htonl(number);
    work.send_flags = IBV_SEND_SIGNALED;
    fabricbench::check_verbs(ibv_post_send(&pair, &work, &bad), "ibv_post_send");
    await(kSent);
  }
  uint32_t hear(Work from) {
    await(from);
    return told_[from];
  }
  void post_receive(ibv_qp& pair, Work name) {
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = name;
    fabricbench::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }
  // Each neighbour sends one note at a time: it waits for the answer. A receive is posted again at once.
  void await(Work name) {
    for (; kept_[name] == 0;) {
      const ibv_wc done = fabricbench::wait_for_completion(notes_queue_.get());
      ++kept_[done.wr_id];
      told_[done.wr_id] = ntohl(done.imm_data);
      if (done.wr_id != kSent) post_receive(done.wr_id == kFromNext ? *to_next_ : *to_before_, Work{done.wr_id});
    }
    --kept_[name];
  }

  Shared shared_;
  fabricbench::CompletionQueue notes_queue_;
  fabricbench::QueuePair to_before_, to_next_, inbound_;
  int kept_[kKinds] = {};
  uint32_t told_[kKinds] = {};
  fabricbench::CompletionQueue queue_;
  fabricbench::QueuePair outbound_;
  fabricbench::Endpoint source_, target_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Shared& shared) {
//|     // TODO: make and connect queue pairs
//|   }
//|   ibv_qp* pair() {
//|     // TODO: the queue pair to the next rank
//|     return nullptr;
//|   }
//|   uint32_t deliver(const Block* blocks, int64_t count) {
//|     // TODO: look for events, make what is broken anew, repeat what was lost
//|     return 0;
//|   }
//| };
// [/solution]
