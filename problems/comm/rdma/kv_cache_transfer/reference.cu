#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <algorithm>
#include <vector>

// [solution]
#include <arpa/inet.h>

// One queue pair starts a message every 100 ns at best, which small pages do not fill a card with.
constexpr int kPairs = 4;

// What a rank must know of its neighbours: where the rank before may write, and all queue pairs.
struct Door {
  uint64_t address;
  uint32_t key;
  fabricbench::Endpoint from_before[kPairs], to_next[kPairs];
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Caches& caches)
      : caches_(caches),
        arrived_(static_cast<size_t>(caches.layers)),
        asked_(static_cast<size_t>(caches.most_pages)),
        wanted_(static_cast<size_t>(caches.most_pages)),
        card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 4096, nullptr, nullptr, 0), "ibv_create_cq")),
        source_(card_.reg(caches.from, cache_bytes())),
        target_(card_.reg(caches.to, cache_bytes())),
        asked_region_(card_.reg(asked_.data(), table_bytes(caches.most_pages))),
        wanted_region_(card_.reg(wanted_.data(), table_bytes(caches.most_pages))) {
    const auto psn = static_cast<uint32_t>(rank.rank());
    const int world = rank.world(), step = (world + 1) / 2;
    // A pair's share of a layer, and the notification; two layers may be under way.
    const auto sends = static_cast<uint32_t>(2 * (most_writes() + 1));
    const auto receives = static_cast<uint32_t>(caches.layers);
    Door mine = {reinterpret_cast<uint64_t>(caches.to), target_->rkey, {}, {}};
    for (int p = 0; p < kPairs; ++p) {
      from_before_[p] = card_.make_rc(queue_.get(), {.sends = 4, .receives = receives});
      to_next_[p] = card_.make_rc(queue_.get(), {.sends = sends, .receives = 4});
      mine.from_before[p] = card_.endpoint_of(*from_before_[p], psn);
      mine.to_next[p] = card_.endpoint_of(*to_next_[p], psn);
    }
    const auto all = rank.all_gather(mine);
    const Door& before = all[static_cast<size_t>((rank.rank() + world - step) % world)];
    next_ = all[static_cast<size_t>((rank.rank() + step) % world)];
    // Receives before the connection: a notification of each layer on each pair, and the next rank's table.
    for (int p = 0; p < kPairs; ++p) {
      for (int i = 0; i < caches.layers; ++i) post_receive(*from_before_[p], kLayer, {});
      if (p == 0) post_receive(*to_next_[0], kTable, asked_piece());
      fabricbench::connect_rc(*from_before_[p], psn, before.to_next[p]);
      fabricbench::connect_rc(*to_next_[p], psn, next_.from_before[p]);
    }
  }

  // Tells the rank before where its pages go. That says as well that they may be written now.
  void begin(const int32_t* from_pages, int from_count, const int32_t* to_pages, int to_count) {
    from_.assign(from_pages, from_pages + from_count);
    std::copy_n(to_pages, to_count, wanted_.data());
    ibv_sge piece = {reinterpret_cast<uint64_t>(wanted_.data()), static_cast<uint32_t>(table_bytes(to_count)),
                     wanted_region_->lkey};
    ibv_send_wr work = {}, *bad = nullptr;
    work.wr_id = kTableSent;
    work.opcode = IBV_WR_SEND;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.send_flags = IBV_SEND_SIGNALED;
    fabricbench::check_verbs(ibv_post_send(from_before_[0].get(), &work, &bad), "ibv_post_send");
    while (done_[kTable] == 0) poll();  // the next rank's pages are known
    done_[kTable] = 0;
    to_ = asked_;
    // The next rank sends another table only when it has had all layers of this one.
    post_receive(*to_next_[0], kTable, asked_piece());
    sent_layers_ = 0;
    for (int p = 0; p < kPairs; ++p) done_[kPart + p] = 0;
  }

  // Keys and values of page i go by pair i % kPairs: one list for each pair, and one doorbell. Each pair ends its part
  // with a notification, because nothing orders one pair behind another. Only that is signalled.
  void send(int layer) {
    for (int p = 0; p < kPairs; ++p) {
      while (done_[kPart + p] < sent_layers_ - 1) poll();  // else the send queue may be full
      std::vector<ibv_sge> pieces;
      std::vector<ibv_send_wr> work;
      pieces.reserve(most_writes());
      work.reserve(most_writes() + 1);
      for (size_t i = static_cast<size_t>(p); i < from_.size(); i += kPairs) {
        for (int part = 0; part < 2; ++part) {
          pieces.push_back({reinterpret_cast<uint64_t>(caches_.from) + offset(layer, part, from_[i]),
                            static_cast<uint32_t>(caches_.page_bytes), source_->lkey});
          ibv_send_wr& write = work.emplace_back();
          write.opcode = IBV_WR_RDMA_WRITE;
          write.sg_list = &pieces.back();
          write.num_sge = 1;
          write.wr.rdma = {next_.address + offset(layer, part, to_[i]), next_.key};
        }
      }
      // No bytes, so that pairs without a page have one, too.
      ibv_send_wr& notification = work.emplace_back();
      notification.wr_id = static_cast<uint64_t>(kPart + p);
      notification.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
      notification.imm_data = htonl(static_cast<uint32_t>(layer));
      notification.send_flags = IBV_SEND_SIGNALED;
      for (size_t i = 0; i + 1 < work.size(); ++i) work[i].next = &work[i + 1];
      ibv_send_wr* bad = nullptr;
      fabricbench::check_verbs(ibv_post_send(to_next_[p].get(), work.data(), &bad), "ibv_post_send");
    }
    ++sent_layers_;
  }

  // A layer is there when the notifications of all pairs are. Each pair brings them in the order of sending, so that
  // the layers are complete in this order, too.
  int receive() {
    while (complete_.empty()) poll();
    const int layer = complete_.front();
    complete_.erase(complete_.begin());
    return layer;
  }

  // The card has read all pages, and the table of this rank.
  void end() {
    for (int p = 0; p < kPairs; ++p) {
      while (done_[kPart + p] < sent_layers_) poll();
    }
    while (done_[kTableSent] == 0) poll();
    done_[kTableSent] = 0;
  }

 private:
  // Names of work requests. kPart + p: a layer's notification on pair p, and so all that was sent before.
  enum Work { kTable, kTableSent, kLayer, kPart, kKinds = kPart + kPairs };

  static size_t table_bytes(int pages) { return sizeof(int32_t) * static_cast<size_t>(pages); }
  size_t cache_bytes() const { return static_cast<size_t>(2 * caches_.page_bytes * caches_.layers * caches_.pool); }
  size_t most_writes() const { return 2 * ((static_cast<size_t>(caches_.most_pages) + kPairs - 1) / kPairs); }
  uint64_t offset(int layer, int part, int32_t page) const {
    return static_cast<uint64_t>(((2 * int64_t{layer} + part) * caches_.pool + page) * caches_.page_bytes);
  }
  ibv_sge asked_piece() const {
    return {reinterpret_cast<uint64_t>(asked_.data()), static_cast<uint32_t>(table_bytes(caches_.most_pages)),
            asked_region_->lkey};
  }

  static void post_receive(ibv_qp& pair, Work name, ibv_sge piece) {
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = name;
    work.sg_list = &piece;
    work.num_sge = piece.length == 0 ? 0 : 1;
    fabricbench::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }

  // One completion. A notification's receive is posted again at once, for the next call.
  void poll() {
    const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
    if (done.wr_id != kLayer) {
      ++done_[done.wr_id];
      return;
    }
    for (const auto& pair : from_before_) {
      if (pair->qp_num == done.qp_num) post_receive(*pair, kLayer, {});
    }
    const auto layer = static_cast<int>(ntohl(done.imm_data));
    int& parts = arrived_[static_cast<size_t>(layer)];
    if (++parts < kPairs) return;
    parts = 0;
    complete_.push_back(layer);
  }

  Caches caches_;
  std::vector<int> arrived_, complete_;  // by layer: how many pairs have notified; layers that are there
  std::vector<int32_t> asked_, wanted_;  // tables that came from the next rank, and go to the rank before
  std::vector<int32_t> from_, to_;       // of this call: page from_[i] here becomes page to_[i] there
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion source_, target_, asked_region_, wanted_region_;
  fabricbench::QueuePair from_before_[kPairs], to_next_[kPairs];
  Door next_ = {};
  int done_[kKinds] = {};
  int sent_layers_ = 0;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Caches& caches) {
//|     // TODO: open a card, register memory, connect queue pairs
//|   }
//|   void begin(const int32_t* from_pages, int from_count, const int32_t* to_pages, int to_count) {
//|     // TODO: a request's pages, here and there
//|   }
//|   void send(int layer) {
//|     // TODO: write the pages of a layer, and notify
//|   }
//|   int receive() {
//|     // TODO: wait for the next layer
//|     return -1;
//|   }
//|   void end() {
//|     // TODO: wait until nothing is under way
//|   }
//| };
// [/solution]
