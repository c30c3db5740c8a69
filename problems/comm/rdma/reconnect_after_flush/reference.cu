#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <algorithm>
#include <vector>

// [solution]
#include <arpa/inet.h>

// What a rank must know of its partner's queue pairs.
struct Ends {
  fabricbench::Endpoint asking, serving, notes;
};

// Three connections with the partner. Operations of the two directions have one each, so that a failure of one does not
// flush requests of the other: only who asks must find out what was done. The third one is for notes, and never fails.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, int most_operations)
      : card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 256, nullptr, nullptr, 0), "ibv_create_cq")),
        fetched_(static_cast<size_t>(most_operations)),
        fetched_region_(card_.reg(fetched_.data(), sizeof(uint64_t) * fetched_.size())),
        asking_(card_.make_rc(queue_.get(), {.sends = kWindow})),
        serving_(card_.make_rc(queue_.get())),
        notes_(card_.make_rc(queue_.get())) {
    const auto all = rank.all_gather(
        Ends{card_.endpoint_of(*asking_, 0), card_.endpoint_of(*serving_, 0), card_.endpoint_of(*notes_, 0)});
    partner_ = all[static_cast<size_t>((rank.rank() + rank.world() / 2) % rank.world())];
    for (int i = 0; i < kNotes; ++i) post_receive();
    fabricbench::connect_rc(*asking_, 0, partner_.serving);
    fabricbench::connect_rc(*serving_, 0, partner_.asking);
    fabricbench::connect_rc(*notes_, 0, partner_.notes);
  }

  ibv_pd* domain() { return card_.domain(); }

  void perform(const Operation* operations, int count, Result* results) {
    posted_ = settled_ = 0;
    tell(kBegun);
    bool finished = false;
    while (!finished || !heard_[kFinished]) {
      // Not before the partner is in this call: its words have not got their contents.
      while (heard_[kBegun] && !broken_ && posted_ < count && posted_ - settled_ < kWindow) {
        post(posted_, operations[posted_]);
        ++posted_;
      }
      if (!finished && !broken_ && settled_ == count) {
        tell(kFinished);
        finished = true;
      }
      // The partner may need us until it has finished, too: its failures break our end of its connection.
      handle(next_completion(), results);
    }
    heard_[kBegun] = heard_[kFinished] = false;
  }

 private:
  enum Note : uint32_t { kBegun, kFinished, kReset, kConnected, kKinds };
  enum Work : uint64_t { kNoteSent, kNoteCame, kOperation };  // names of work requests; kOperation + i: operation i
  static constexpr int kWindow = 32;                          // operations under way
  static constexpr int kNotes = 8;                            // receives; two notes at most are on their way

  // Completions of errors as well: they are what this is about.
  ibv_wc next_completion() {
    ibv_wc done = {};
    while (ibv_poll_cq(queue_.get(), 1, &done) == 0) {
    }
    return done;
  }

  void handle(const ibv_wc& done, Result* results) {
    if (done.wr_id < kOperation) {
      if (done.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(done.status));
      if (done.wr_id == kNoteCame) hear(static_cast<Note>(ntohl(done.imm_data)));
      return;
    }
    const auto i = static_cast<size_t>(done.wr_id - kOperation);
    switch (done.status) {
      case IBV_WC_SUCCESS:
        results[i] = {fetched_[i], false};
        ++settled_;
        break;
      case IBV_WC_REM_ACCESS_ERR:  // those before it are complete, and the partner's card has done none behind it
        results[i] = {0, true};
        ++settled_;
        broken_ = true;
        break;
      case IBV_WC_WR_FLUSH_ERR:  // not done: posted again later
        ++flushed_;
        break;
      default:
        throw std::runtime_error(ibv_wc_status_str(done.status));
    }
    // Reset only when all requests have come back: a reset would drop those that are still to be flushed.
    if (!broken_ || flushed_ < posted_ - settled_) return;
    posted_ = settled_;
    flushed_ = 0;
    reset(*asking_);
    tell(kReset);
  }

  void hear(Note note) {
    post_receive();
    heard_[note] = true;
    if (note == kReset) {  // the partner's requests have failed, and so has our end
      reset(*serving_);
      connect(*serving_, ++served_, partner_.asking);
      tell(kConnected);
    }
    // Only now: what is sent to an end that is not connected would be repeated after a long time-out.
    if (note == kConnected) {
      connect(*asking_, ++asked_, partner_.serving);
      broken_ = false;
    }
  }

  // Any state → RESET → INIT.
  static void reset(ibv_qp& pair) {
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_RESET;
    fabricbench::check_verbs(ibv_modify_qp(&pair, &a, IBV_QP_STATE), "ibv_modify_qp to RESET");
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_ATOMIC;
    fabricbench::check_verbs(
        ibv_modify_qp(&pair, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "ibv_modify_qp to INIT");
  }

  // Both ends count how often they were connected, and so agree on new numbers of packets without telling them: an old
  // packet that comes late does not fit.
  static void connect(ibv_qp& pair, uint32_t connection, fabricbench::Endpoint peer) {
    peer.psn = (connection * 4096) & 0xffffff;
    fabricbench::connect_rc(pair, peer.psn, peer);
  }

  void post(int i, const Operation& operation) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(&fetched_[static_cast<size_t>(i)]), sizeof(uint64_t),
                     fetched_region_->lkey};
    ibv_send_wr work = {}, *bad = nullptr;
    work.wr_id = kOperation + static_cast<uint64_t>(i);
    work.sg_list = &piece;
    work.num_sge = 1;
    work.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.atomic.remote_addr = operation.address;
    work.wr.atomic.compare_add = operation.add;
    work.wr.atomic.rkey = operation.key;
    fabricbench::check_verbs(ibv_post_send(asking_.get(), &work, &bad), "ibv_post_send");
  }

  void tell(Note note) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.wr_id = kNoteSent;
    work.opcode = IBV_WR_SEND_WITH_IMM;
    work.imm_data = htonl(note);
    work.send_flags = IBV_SEND_SIGNALED;
    fabricbench::check_verbs(ibv_post_send(notes_.get(), &work, &bad), "ibv_post_send");
  }

  void post_receive() {
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = kNoteCame;
    fabricbench::check_verbs(ibv_post_recv(notes_.get(), &work, &bad), "ibv_post_recv");
  }

  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  std::vector<uint64_t> fetched_;
  fabricbench::MemoryRegion fetched_region_;
  fabricbench::QueuePair asking_, serving_, notes_;
  Ends partner_ = {};
  uint32_t asked_ = 0, served_ = 0;  // connections so far, without the first ones
  bool heard_[kKinds] = {};
  bool broken_ = false;                         // `asking_` has failed, and is not connected again
  int posted_ = 0, settled_ = 0, flushed_ = 0;  // operations; flushed ones are among those that are not settled
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, int most_operations) {
//|     // TODO: open a card, make and connect queue pairs
//|   }
//|   ibv_pd* domain() {
//|     // TODO: the protection domain of the queue pairs
//|     return nullptr;
//|   }
//|   void perform(const Operation* operations, int count, Result* results) {
//|     // TODO: do them, and survive those that are refused
//|   }
//| };
// [/solution]
