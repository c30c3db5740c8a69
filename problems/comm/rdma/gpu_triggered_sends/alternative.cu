// [solution]
#include <arpa/inet.h>

#include <vector>

// No FIFO: a channel has one producer, and a word that counts its tiles. No flags in device memory either: tiles are
// written with immediate value, and the proxy of the receiver tells the kernel, in pinned memory, what has come.
class Solution {
  using Word = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

 public:
  struct Port {
    uint64_t *wanted, *came;  // by channel: tiles that the kernel has asked for, and that have come, in all calls
    uint64_t before;          // tiles of a channel in the calls before

    __device__ void send(int channel, int step) {
      Word(wanted[channel]).store(before + static_cast<uint64_t>(step) + 1, cuda::memory_order_release);
    }
    __device__ void wait(int channel, int step) {
      while (Word(came[channel]).load(cuda::memory_order_acquire) <= before + static_cast<uint64_t>(step)) {
      }
    }
  };

  Solution(const fabricbench::Rank& rank, const Boxes& boxes)
      : boxes_(boxes),
        bytes_(static_cast<size_t>(boxes.tile_bytes) * boxes.channels * boxes.steps),
        sent_(static_cast<size_t>(boxes.channels)),
        card_(rank),
        sends_(make_queue()),
        receives_(make_queue()),
        outbox_(card_.reg(boxes.outbox, bytes_)),
        inbox_(card_.reg(boxes.inbox, bytes_)),
        up_(make_pair()),
        down_(make_pair()) {
    const size_t words = sizeof(uint64_t) * sent_.size();
    fabricbench::check_cuda(cudaHostAlloc(&port_.wanted, words, cudaHostAllocMapped), "cudaHostAlloc");
    fabricbench::check_cuda(cudaHostAlloc(&port_.came, words, cudaHostAllocMapped), "cudaHostAlloc");
    for (size_t i = 0; i < sent_.size(); ++i) port_.wanted[i] = port_.came[i] = 0;
    for (int i = 0; i < boxes.channels * boxes.steps; ++i) receive(*up_);
    for (int i = 0; i < 2; ++i) receive(*down_);
    struct Card {
      uint64_t inbox;
      uint32_t key;
      fabricbench::Endpoint up, down;
    };
    const auto all = rank.all_gather(Card{reinterpret_cast<uint64_t>(boxes.inbox), inbox_->rkey,
                                          card_.endpoint_of(*up_, 5), card_.endpoint_of(*down_, 6)});
    const int world = rank.world();
    const Card& next = all[static_cast<size_t>((rank.rank() + 1) % world)];
    fabricbench::connect_rc(*down_, 6, next.up);
    fabricbench::connect_rc(*up_, 5, all[static_cast<size_t>((rank.rank() + world - 1) % world)].down);
    target_ = next.inbox;
    key_ = next.key;
  }
  ~Solution() {
    cudaFreeHost(port_.wanted);
    cudaFreeHost(port_.came);
  }

  Port begin() {
    port_.before = static_cast<uint64_t>(calls_++) * static_cast<uint64_t>(boxes_.steps);
    return port_;
  }

  // Until all tiles are gone, and all have come: the kernel waits for what this thread tells it.
  void serve() {
    post(*up_, IBV_WR_SEND, 0, {});
    ++under_way_;
    const int tiles = boxes_.channels * boxes_.steps;
    for (int gone = 0; gone < tiles || came_ < tiles || under_way_ > 0;) {
      poll();
      for (int channel = 0; channel < boxes_.channels && ready_ == calls_; ++channel) {
        uint64_t& sent = sent_[static_cast<size_t>(channel)];
        // A tile of a channel comes only when the one before it has crossed, so that there is one at most.
        if (Word(port_.wanted[channel]).load(cuda::memory_order_acquire) == sent) continue;
        const auto step = static_cast<int>(sent++ - port_.before);
        const uint64_t offset = static_cast<uint64_t>(boxes_.tile_bytes) * (step * boxes_.channels + channel);
        post(*down_, IBV_WR_RDMA_WRITE_WITH_IMM, offset,
             {reinterpret_cast<uint64_t>(boxes_.outbox) + offset, static_cast<uint32_t>(boxes_.tile_bytes),
              outbox_->lkey},
             static_cast<uint32_t>(channel));
        ++under_way_;
        ++gone;
      }
    }
    came_ = 0;
  }

 private:
  fabricbench::CompletionQueue make_queue() {
    return fabricbench::CompletionQueue(
        fabricbench::check_verbs(ibv_create_cq(card_.context(), 1024, nullptr, nullptr, 0), "ibv_create_cq"));
  }
  fabricbench::QueuePair make_pair() {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = sends_.get();
    wanted.recv_cq = receives_.get();
    wanted.qp_type = IBV_QPT_RC;
    const auto tiles = static_cast<uint32_t>(boxes_.channels * boxes_.steps);
    wanted.cap = {tiles + 2, tiles + 2, 1, 1, 0};
    fabricbench::QueuePair pair(fabricbench::check_verbs(ibv_create_qp(card_.domain(), &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
    return pair;
  }

  static void receive(ibv_qp& pair) {
    ibv_recv_wr work = {}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }

  void post(ibv_qp& pair, ibv_wr_opcode opcode, uint64_t offset, ibv_sge piece, uint32_t immediate = 0) const {
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = opcode;
    work.imm_data = htonl(immediate);
    work.sg_list = &piece;
    work.num_sge = piece.length == 0 ? 0 : 1;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.rdma = {target_ + offset, key_};
    fabricbench::check_verbs(ibv_post_send(&pair, &work, &bad), "ibv_post_send");
  }

  void poll() {
    ibv_wc done[8] = {};
    const int sent = ibv_poll_cq(sends_.get(), 8, done);
    for (int i = 0; i < sent; ++i) check(done[i]);
    under_way_ -= sent;
    const int received = ibv_poll_cq(receives_.get(), 8, done);
    for (int i = 0; i < received; ++i) {
      check(done[i]);
      const bool tile = done[i].opcode == IBV_WC_RECV_RDMA_WITH_IMM;
      receive(tile ? *up_ : *down_);
      if (tile) {
        ++came_;
        const uint32_t channel = ntohl(done[i].imm_data);
        Word(port_.came[channel]).fetch_add(1, cuda::memory_order_release);
      } else {
        ++ready_;
      }
    }
  }
  static void check(const ibv_wc& done) {
    if (done.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(done.status));
  }

  Boxes boxes_;
  size_t bytes_;
  Port port_ = {};
  std::vector<uint64_t> sent_;  // by channel, in all calls
  fabricbench::Card card_;
  fabricbench::CompletionQueue sends_, receives_;
  fabricbench::MemoryRegion outbox_, inbox_;
  fabricbench::QueuePair up_, down_;
  uint64_t target_ = 0;
  uint32_t key_ = 0;
  int64_t calls_ = 0, ready_ = 0;  // calls, and those for which the next rank was ready
  int came_ = 0, under_way_ = 0;
};
// [/solution]
