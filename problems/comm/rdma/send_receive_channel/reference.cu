#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

// [solution]
#include <deque>

// Two queue pairs: to the next rank (messages out, credits in) and to the rank before (messages in, credits out).
// A credit is an empty message: its receive needs no memory.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const void* source, int64_t source_bytes, void* memory, int slots,
           int most_bytes)
      : card_(rank),
        // Of each pair, 2 * slots sends and `slots` receives may be complete and not polled. A credit is acknowledged
        // on the connection on which the message that it allows comes, so that there are never more sends.
        queue_(
            fabricbench::check_verbs(ibv_create_cq(card_.context(), 6 * slots, nullptr, nullptr, 0), "ibv_create_cq")),
        source_(static_cast<const char*>(source)),
        slots_(static_cast<char*>(memory)),
        most_(most_bytes),
        credits_(slots) {
    source_region_ = card_.reg(source, size_t(source_bytes));
    slots_region_ = card_.reg(slots_, size_t(slots) * most_);
    const fabricbench::QueueSizes sizes = {.sends = 2 * uint32_t(slots), .receives = uint32_t(slots), .pieces = 1};
    before_ = card_.make_rc(queue_.get(), sizes);
    next_ = card_.make_rc(queue_.get(), sizes);
    // Receives before the connection: a message may come as soon as there is one. Of credits there are at most `slots`
    // under way, one for each slot.
    for (int slot = 0; slot < slots; ++slot) {
      post_slot(slot);
      post_credit();
    }
    struct Pairs {
      fabricbench::Endpoint before, next;
    };
    const auto psn = static_cast<uint32_t>(rank.rank());
    const auto all = rank.all_gather(Pairs{card_.endpoint_of(*before_, psn), card_.endpoint_of(*next_, psn)});
    const auto world = static_cast<size_t>(rank.world());
    fabricbench::connect_rc(*next_, psn, all[(psn + 1) % world].before);
    fabricbench::connect_rc(*before_, psn, all[(psn + world - 1) % world].next);
  }

  bool send(int64_t offset, int bytes) {
    poll();
    if (credits_ == 0) return false;
    --credits_;
    ++in_flight_;
    ibv_sge piece = {reinterpret_cast<uint64_t>(source_ + offset), static_cast<uint32_t>(bytes), source_region_->lkey};
    post_send(*next_, kMessage, &piece);
    return true;
  }

  const void* receive(int& bytes) {
    poll();
    if (arrived_.empty()) return nullptr;
    const Arrival arrival = arrived_.front();
    arrived_.pop_front();
    held_.push_back(arrival.slot);
    bytes = arrival.bytes;
    return slot_at(arrival.slot);
  }

  void release() {
    // First the receive, then the credit: the message that the credit allows must find it.
    post_slot(held_.front());
    held_.pop_front();
    post_send(*before_, kCreditSent, nullptr);
  }

  // A send has left the memory when it is complete.
  void drain() {
    while (in_flight_ > 0) poll();
  }

 private:
  // Names of work requests; a receive of a message has the number of its slot.
  enum Work : uint64_t { kMessage = 1u << 31, kCreditSent, kCredit };
  struct Arrival {
    int slot, bytes;
  };

  char* slot_at(int slot) const { return slots_ + size_t(slot) * most_; }

  void post_slot(int slot) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(slot_at(slot)), most_, slots_region_->lkey};
    ibv_recv_wr work = {.wr_id = static_cast<uint64_t>(slot), .next = nullptr, .sg_list = &piece, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(before_.get(), &work, &bad), "ibv_post_recv");
  }
  void post_credit() {
    ibv_recv_wr work = {.wr_id = kCredit, .next = nullptr, .sg_list = nullptr, .num_sge = 0}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(next_.get(), &work, &bad), "ibv_post_recv");
  }
  // Everything is signalled: the queue gets its places back only by completions that are polled.
  static void post_send(ibv_qp& pair, Work name, ibv_sge* piece) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.wr_id = name;
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_SIGNALED;
    work.sg_list = piece;
    work.num_sge = piece != nullptr ? 1 : 0;
    fabricbench::check_verbs(ibv_post_send(&pair, &work, &bad), "ibv_post_send");
  }

  void poll() {
    ibv_wc done = {};
    if (ibv_poll_cq(queue_.get(), 1, &done) == 0) return;
    fabricbench::check_verbs(done.status == IBV_WC_SUCCESS ? 0 : EIO, ibv_wc_status_str(done.status));
    if (done.wr_id == kMessage) {
      --in_flight_;
    } else if (done.wr_id == kCredit) {
      post_credit();  // before the credit is used, so that there is one for every slot
      ++credits_;
    } else if (done.wr_id != kCreditSent) {
      arrived_.push_back({static_cast<int>(done.wr_id), static_cast<int>(done.byte_len)});
    }
  }

  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  const char* source_;
  char* slots_;
  uint32_t most_;
  fabricbench::MemoryRegion source_region_, slots_region_;
  fabricbench::QueuePair before_, next_;
  int credits_, in_flight_ = 0;
  std::deque<Arrival> arrived_;  // not received yet
  std::deque<int> held_;         // slots that the caller has
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const void* source, int64_t source_bytes, void* memory, int slots,
//|            int most_bytes) {
//|     // TODO: connect to the next rank and to the rank before; the slots are at `memory`
//|   }
//|   bool send(int64_t offset, int bytes) {
//|     // TODO: send to the next rank, if it has a free slot
//|     return false;
//|   }
//|   const void* receive(int& bytes) {
//|     // TODO: the next message of the rank before, or null
//|     return nullptr;
//|   }
//|   void release() {
//|     // TODO: the oldest message that was received and not released: its slot is free
//|   }
//|   void drain() {
//|     // TODO: wait until the memory of all messages that were sent may be written again
//|   }
//| };
// [/solution]
