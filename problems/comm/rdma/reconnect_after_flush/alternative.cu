// [solution]
// All that is left of the list is posted at once, as one chain with one doorbell. Notes are messages with data, of
// which one says with which number of packets to begin again; they have a completion queue of their own.
struct Note {
  enum Kind : uint32_t { begin, restart, restarted, end } kind;
  uint32_t psn;
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, int most_operations)
      : card_(rank),
        most_(static_cast<uint32_t>(most_operations)),
        old_(most_),
        notes_(kNotes),
        work_queue_(make_queue(most_ + 1)),
        note_queue_(make_queue(64)),
        old_region_(card_.reg(old_.data(), sizeof(uint64_t) * most_)),
        notes_region_(card_.reg(notes_.data(), sizeof(Note) * kNotes)),
        client_(card_.make_rc(work_queue_.get(), {.sends = most_})),
        server_(card_.make_rc(work_queue_.get())),
        talk_(card_.make_rc(note_queue_.get())) {
    const fabricbench::Endpoint mine[3] = {card_.endpoint_of(*client_, 1), card_.endpoint_of(*server_, 1),
                                           card_.endpoint_of(*talk_, 1)};
    std::vector<fabricbench::Endpoint> all(3 * static_cast<size_t>(rank.world()));
    rank.all_gather(mine, sizeof mine, all.data());
    const fabricbench::Endpoint* const theirs =
        &all[3 * static_cast<size_t>((rank.rank() + rank.world() / 2) % rank.world())];
    their_client_ = theirs[0];
    their_server_ = theirs[1];
    for (size_t i = 0; i < kNotes; ++i) listen(i);
    fabricbench::connect_rc(*client_, 1, their_server_);
    fabricbench::connect_rc(*server_, 1, their_client_);
    fabricbench::connect_rc(*talk_, 1, theirs[2]);
  }

  ibv_pd* domain() { return card_.domain(); }

  void perform(const Operation* operations, int count, Result* results) {
    tell({Note::begin, 0});
    int first = 0;      // of the operations whose result is not known
    bool waits = true;  // for a note that says that the list may go on
    bool ended = false;
    while (!ended || !their_end_) {
      if (hear()) waits = false;
      if (waits || ended) continue;
      if (first < count) {
        post(operations, first, count);
        first = await(results, first, count);
      }
      if (broken_) {
        waits = true;
      } else {
        tell({Note::end, 0});
        ended = true;
      }
    }
    their_end_ = false;
  }

 private:
  static constexpr size_t kNotes = 8;

  fabricbench::CompletionQueue make_queue(uint32_t entries) const {
    return fabricbench::CompletionQueue(fabricbench::check_verbs(
        ibv_create_cq(card_.context(), static_cast<int>(entries), nullptr, nullptr, 0), "ibv_create_cq"));
  }

  void post(const Operation* operations, int first, int count) {
    const auto left = static_cast<size_t>(count - first);
    std::vector<ibv_sge> pieces(left);
    std::vector<ibv_send_wr> work(left);
    for (size_t k = 0; k < left; ++k) {
      const size_t i = static_cast<size_t>(first) + k;
      pieces[k] = {reinterpret_cast<uint64_t>(&old_[i]), sizeof(uint64_t), old_region_->lkey};
      work[k].wr_id = i;
      work[k].next = k + 1 < left ? &work[k + 1] : nullptr;
      work[k].sg_list = &pieces[k];
      work[k].num_sge = 1;
      work[k].opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
      work[k].send_flags = IBV_SEND_SIGNALED;
      work[k].wr.atomic.remote_addr = operations[i].address;
      work[k].wr.atomic.compare_add = operations[i].add;
      work[k].wr.atomic.rkey = operations[i].key;
    }
    ibv_send_wr* bad = nullptr;
    fabricbench::check_verbs(ibv_post_send(client_.get(), work.data(), &bad), "ibv_post_send");
  }

  // The first operation whose result is not known then. Notes are heard meanwhile: the partner may need a restart.
  int await(Result* results, int first, int count) {
    ibv_wc done = {};
    for (; first < count; ++first) {
      while (ibv_poll_cq(work_queue_.get(), 1, &done) == 0) hear();
      if (done.status != IBV_WC_SUCCESS) break;
      results[first] = {old_[static_cast<size_t>(first)], false};
    }
    if (first == count) return count;
    if (done.status != IBV_WC_REM_ACCESS_ERR) throw std::runtime_error(ibv_wc_status_str(done.status));
    results[first++].refused = true;
    for (int flushed = first; flushed < count;) flushed += ibv_poll_cq(work_queue_.get(), 1, &done);
    broken_ = true;
    psn_ = (psn_ * 5 + 12345) & 0xffffff;
    reset(*client_);
    tell({Note::restart, psn_});
    return first;
  }

  // A note, if there is one; whether it is one that this rank's operations have waited for.
  bool hear() {
    ibv_wc done = {};
    if (ibv_poll_cq(note_queue_.get(), 1, &done) == 0) return false;
    if (done.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(done.status));
    if (done.opcode != IBV_WC_RECV) return false;
    const Note note = notes_[done.wr_id];
    listen(done.wr_id);
    if (note.kind == Note::end) their_end_ = true;
    if (note.kind == Note::restart) {
      reset(*server_);
      their_client_.psn = note.psn;
      fabricbench::connect_rc(*server_, note.psn, their_client_);
      tell({Note::restarted, 0});
    }
    if (note.kind == Note::restarted) {
      their_server_.psn = psn_;
      fabricbench::connect_rc(*client_, psn_, their_server_);
      broken_ = false;
    }
    return note.kind == Note::begin || note.kind == Note::restarted;
  }

  static void reset(ibv_qp& pair) {
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_RESET;
    fabricbench::check_verbs(ibv_modify_qp(&pair, &a, IBV_QP_STATE), "RESET");
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_ATOMIC;
    fabricbench::check_verbs(
        ibv_modify_qp(&pair, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
  }

  void tell(Note note) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(&note), sizeof note, 0};
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_SEND;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
    fabricbench::check_verbs(ibv_post_send(talk_.get(), &work, &bad), "ibv_post_send");
  }
  void listen(size_t place) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(&notes_[place]), sizeof(Note), notes_region_->lkey};
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = place;
    work.sg_list = &piece;
    work.num_sge = 1;
    fabricbench::check_verbs(ibv_post_recv(talk_.get(), &work, &bad), "ibv_post_recv");
  }

  fabricbench::Card card_;
  uint32_t most_;
  std::vector<uint64_t> old_;
  std::vector<Note> notes_;
  fabricbench::CompletionQueue work_queue_, note_queue_;
  fabricbench::MemoryRegion old_region_, notes_region_;
  fabricbench::QueuePair client_, server_, talk_;
  fabricbench::Endpoint their_client_ = {}, their_server_ = {};
  uint32_t psn_ = 1;
  bool broken_ = false, their_end_ = false;
};
// [/solution]
