#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

// [solution]
#include <arpa/inet.h>

#include <map>
#include <vector>

// A queue pair for each other rank, and one queue of receives for all of them. A message that finds no receive is
// repeated by the sender's card (receiver not ready) until release() posts one: there are no credits.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const void* source, int64_t source_bytes, void* memory, int slots,
           int slot_bytes, int most_sends)
      : card_(rank),
        came_(make_queue(slots)),
        sent_(make_queue(most_sends)),
        source_(reinterpret_cast<uint64_t>(source)),
        slot_bytes_(static_cast<uint32_t>(slot_bytes)),
        source_region_(card_.reg(source, static_cast<size_t>(source_bytes))),
        slots_region_(card_.reg(memory, static_cast<size_t>(slots) * slot_bytes_)),
        pairs_(static_cast<size_t>(rank.world())) {
    ibv_srq_init_attr wanted = {};
    wanted.attr = {.max_wr = static_cast<uint32_t>(slots), .max_sge = 1, .srq_limit = 0};
    shared_.reset(fabricbench::check_verbs(ibv_create_srq(card_.domain(), &wanted), "ibv_create_srq"));
    for (int slot = 0; slot < slots; ++slot) release(static_cast<char*>(memory) + size_t(slot) * slot_bytes_);

    // mine[r] is the end for rank r, all[r * world + me] that of rank r for this one.
    const auto me = static_cast<size_t>(rank.rank()), world = pairs_.size();
    std::vector<fabricbench::Endpoint> mine(world), all(world * world);
    for (size_t r = 0; r < world; ++r) {
      if (r == me) continue;
      pairs_[r] = make_pair(static_cast<uint32_t>(most_sends));
      rank_of_[pairs_[r]->qp_num] = static_cast<int>(r);
      mine[r] = card_.endpoint_of(*pairs_[r], static_cast<uint32_t>(me));
    }
    rank.all_gather(mine.data(), world * sizeof mine[0], all.data());
    for (size_t r = 0; r < world; ++r) {
      if (r != me) fabricbench::connect_rc(*pairs_[r], static_cast<uint32_t>(me), all[r * world + me]);
    }
  }

  void send(int to, int64_t offset, int bytes, uint32_t tag) {
    ibv_sge piece = {source_ + static_cast<uint64_t>(offset), static_cast<uint32_t>(bytes), source_region_->lkey};
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_SEND_WITH_IMM;
    work.imm_data = htonl(tag);
    work.send_flags = IBV_SEND_SIGNALED;  // drain() counts them, and the queue gets its places back
    work.sg_list = &piece;
    work.num_sge = 1;
    fabricbench::check_verbs(ibv_post_send(pairs_[static_cast<size_t>(to)].get(), &work, &bad), "ibv_post_send");
    ++in_flight_;
  }

  const void* receive(int& from, int& bytes, uint32_t& tag) {
    ibv_wc done = {};
    if (ibv_poll_cq(came_.get(), 1, &done) == 0) return nullptr;
    fabricbench::check_verbs(done.status == IBV_WC_SUCCESS ? 0 : EIO, ibv_wc_status_str(done.status));
    from = rank_of_.at(done.qp_num);  // the pair that it came through; the receive does not know
    bytes = static_cast<int>(done.byte_len);
    tag = ntohl(done.imm_data);
    return reinterpret_cast<const void*>(done.wr_id);
  }

  // The name of a receive is the address of its slot.
  void release(const void* message) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(message), slot_bytes_, slots_region_->lkey};
    ibv_recv_wr work = {.wr_id = piece.addr, .next = nullptr, .sg_list = &piece, .num_sge = 1}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_srq_recv(shared_.get(), &work, &bad), "ibv_post_srq_recv");
  }

  void drain() {
    for (; in_flight_ > 0; --in_flight_) fabricbench::wait_for_completion(sent_.get());
  }

 private:
  fabricbench::CompletionQueue make_queue(int entries) const {
    return fabricbench::CompletionQueue(
        fabricbench::check_verbs(ibv_create_cq(card_.context(), entries, nullptr, nullptr, 0), "ibv_create_cq"));
  }

  // In state INIT. Arrivals have a completion queue of their own: as many entries as there are slots.
  fabricbench::QueuePair make_pair(uint32_t most_sends) const {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = sent_.get();
    wanted.recv_cq = came_.get();
    wanted.srq = shared_.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap.max_send_wr = most_sends;  // all may go to one rank
    wanted.cap.max_send_sge = 1;
    fabricbench::QueuePair pair(fabricbench::check_verbs(ibv_create_qp(card_.domain(), &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
        "ibv_modify_qp");
    return pair;
  }

  fabricbench::Card card_;
  fabricbench::CompletionQueue came_, sent_;
  uint64_t source_;
  uint32_t slot_bytes_;
  fabricbench::MemoryRegion source_region_, slots_region_;
  fabricbench::SharedReceiveQueue shared_;
  std::vector<fabricbench::QueuePair> pairs_;  // by rank; none for this one
  std::map<uint32_t, int> rank_of_;            // by the number of the queue pair here
  int in_flight_ = 0;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const void* source, int64_t source_bytes, void* memory, int slots,
//|            int slot_bytes, int most_sends) {
//|     // TODO: a shared receive queue with all slots, and a connection to each other rank
//|   }
//|   void send(int to, int64_t offset, int bytes, uint32_t tag) {
//|     // TODO: send with the tag as immediate value
//|   }
//|   const void* receive(int& from, int& bytes, uint32_t& tag) {
//|     // TODO: a message that has come, or null
//|     return nullptr;
//|   }
//|   void release(const void* message) {
//|     // TODO: the slot of this message is free
//|   }
//|   void drain() {
//|     // TODO: wait until all that was sent has arrived
//|   }
//| };
// [/solution]
