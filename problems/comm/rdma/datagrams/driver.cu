#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <arpa/inet.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "args.h"

// [interface]
// All that a sender has to know of a queue pair for datagrams.
struct Address {
  uint32_t number;
  uint32_t qkey;
  uint16_t lid;
};
// [/interface]

namespace proof {

using fabricbench::check_verbs;

// Memory of the GPU, cleared.
class Memory {
 public:
  explicit Memory(int64_t bytes) {
    fabricbench::check_cuda(cudaMalloc(&memory_, bytes), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(memory_, 0, bytes), "cudaMemset");
    fabricbench::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~Memory() { cudaFree(memory_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

// Sends fragments to all other ranks, as long as they have given credit, and takes part in barriers of the senders.
class Sender {
 public:
  Sender(const fabricbench::Rank& rank, const Args& args)
      : me_(static_cast<size_t>(rank.rank())),
        peers_(static_cast<size_t>(rank.world())),
        fragments_(static_cast<uint32_t>((args.n + args.fragment - 1) / args.fragment)),
        window_(static_cast<uint32_t>(args.window)),
        card_(rank),
        sent_(make_queue(rank.world() * (static_cast<int>(args.window) + 2))),
        came_(make_queue(rank.world() * (static_cast<int>(args.window) + 2))),
        source_(card_.reg(args.in, 4 * args.n * rank.world())),
        headers_(peers_.size() * (window_ + 2)),
        headers_region_(card_.reg(headers_.data(), headers_.size() * sizeof headers_[0])),
        order_(fragments_),
        random_(peers_.size() + me_) {
    std::iota(order_.begin(), order_.end(), 0);
    const auto requests = static_cast<uint32_t>(headers_.size());
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = sent_.get();
    wanted.recv_cq = came_.get();
    wanted.qp_type = IBV_QPT_UD;
    wanted.cap = {
        .max_send_wr = requests, .max_recv_wr = requests, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    pair_.reset(check_verbs(ibv_create_qp(card_.domain(), &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qkey = qkey();
    check_verbs(ibv_modify_qp(pair_.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
                "ibv_modify_qp");
    // Each other rank has at most `window` credits and two barriers under way.
    for (uint32_t k = 0; k < (window_ + 2) * (peers_.size() - 1); ++k) post_receive(k);
    a.qp_state = IBV_QPS_RTR;
    check_verbs(ibv_modify_qp(pair_.get(), &a, IBV_QP_STATE), "ibv_modify_qp");
    a.qp_state = IBV_QPS_RTS;
    check_verbs(ibv_modify_qp(pair_.get(), &a, IBV_QP_STATE | IBV_QP_SQ_PSN), "ibv_modify_qp");
  }

  Address address() const { return {pair_->qp_num, qkey(), card_.lid()}; }

  void connect(size_t rank, const Address& sender, const Address& receiver) {
    Peer& peer = peers_[rank];
    peer.sender = sender;
    peer.receiver = receiver;
    ibv_ah_attr a = {};
    a.dlid = receiver.lid;
    a.port_num = fabricbench::Card::kPort;
    peer.card.reset(check_verbs(ibv_create_ah(card_.domain(), &a), "ibv_create_ah"));
  }

  // Fragments are sent in any order.
  void begin() {
    ++call_;
    for (size_t k = order_.size() - 1; k > 0; --k) {
      random_ = random_ * 6364136223846793005 + 1442695040888963407;
      std::swap(order_[k], order_[(random_ >> 33) % (k + 1)]);
    }
  }

  // True when the other ranks have given credit for everything.
  bool step(const Args& args) {
    const uint32_t end = call_ * fragments_;
    bool done = true;
    for (size_t rank = 0; rank < peers_.size(); ++rank) {
      Peer& peer = peers_[rank];
      if (rank == me_) continue;
      for (; peer.sent != end && peer.sent - peer.credited < window_; ++peer.sent) {
        const uint32_t number = order_[peer.sent - (end - fragments_)];
        const int64_t begin = number * args.fragment;
        post(peer, peer.receiver,
             {reinterpret_cast<uint64_t>(args.in + static_cast<int64_t>(rank) * args.n + begin),
              static_cast<uint32_t>(4 * std::min(args.fragment, args.n - begin)), source_->lkey},
             number);
      }
      done = done && peer.credited == end;
    }
    wait_for_sends();
    if (!done) take();
    return done;
  }

  // All ranks have received everything. A fast one may be a barrier ahead of others.
  void barrier() {
    for (size_t rank = 0; rank < peers_.size(); ++rank) {
      if (rank != me_) post(peers_[rank], peers_[rank].sender, {}, 0);
    }
    wait_for_sends();
    for (size_t rank = 0; rank < peers_.size(); ++rank) {
      while (rank != me_ && peers_[rank].barriers < call_) take();
    }
  }

 private:
  struct Peer {
    Address sender, receiver;
    fabricbench::AddressHandle card;
    uint32_t sent = 0, credited = 0, barriers = 0;  // in all calls
  };

  uint32_t qkey() const { return 0x1000 + static_cast<uint32_t>(me_); }

  // They have left the memory, and the queue.
  void wait_for_sends() {
    for (; posted_ > 0; --posted_) fabricbench::wait_for_completion(sent_.get());
  }

  // A credit comes from a receiver, and says for how many fragments of all calls it has posted receives again.
  void take() {
    ibv_wc done = {};
    if (ibv_poll_cq(came_.get(), 1, &done) == 0) return;
    if (done.status != IBV_WC_SUCCESS) throw std::runtime_error("the driver's receive failed");
    post_receive(done.wr_id);
    const uint32_t value = ntohl(done.imm_data);
    for (Peer& peer : peers_) {
      if (&peer == &peers_[me_]) continue;
      if (done.slid == peer.sender.lid && done.src_qp == peer.sender.number) {
        ++peer.barriers;
        return;
      }
      if (done.slid != peer.receiver.lid || done.src_qp != peer.receiver.number) continue;
      if (value - peer.credited > peer.sent - peer.credited)
        throw std::runtime_error("a credit is for fragments that were not sent, or for fewer than before");
      peer.credited = value;
    }
  }

  void post_receive(uint64_t header) {
    ibv_sge room = {reinterpret_cast<uint64_t>(&headers_[header]), sizeof headers_[0], headers_region_->lkey};
    ibv_recv_wr work = {.wr_id = header, .next = nullptr, .sg_list = &room, .num_sge = 1}, *bad = nullptr;
    check_verbs(ibv_post_recv(pair_.get(), &work, &bad), "ibv_post_recv");
  }
  void post(const Peer& peer, const Address& to, ibv_sge piece, uint32_t immediate) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_SEND_WITH_IMM;
    work.imm_data = htonl(immediate);
    work.send_flags = IBV_SEND_SIGNALED;
    work.sg_list = &piece;
    work.num_sge = piece.length != 0 ? 1 : 0;
    work.wr.ud.ah = peer.card.get();
    work.wr.ud.remote_qpn = to.number;
    work.wr.ud.remote_qkey = to.qkey;
    check_verbs(ibv_post_send(pair_.get(), &work, &bad), "ibv_post_send");
    ++posted_;
  }
  fabricbench::CompletionQueue make_queue(int entries) const {
    return fabricbench::CompletionQueue(
        check_verbs(ibv_create_cq(card_.context(), entries, nullptr, nullptr, 0), "ibv_create_cq"));
  }

  size_t me_;
  std::vector<Peer> peers_;
  uint32_t fragments_, window_, call_ = 0;
  int posted_ = 0;
  fabricbench::Card card_;
  fabricbench::CompletionQueue sent_, came_;
  fabricbench::MemoryRegion source_;
  std::vector<ibv_grh> headers_;  // of everything that comes: nothing has data
  fabricbench::MemoryRegion headers_region_;
  fabricbench::QueuePair pair_;
  std::vector<uint32_t> order_;  // of the fragments of a message
  uint64_t random_;
};

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        sender_(rank, args),
        slots_(slots(rank, args) * slot_bytes(args)),
        solution_(rank, slots_.get(), static_cast<int>(slots(rank, args)), static_cast<int>(slot_bytes(args))) {
    struct Both {
      Address sender, receiver;
    };
    Both mine = {sender_.address(), {}};
    solution_.describe(mine.receiver);
    const auto all = rank.all_gather(mine);
    std::vector<Address> senders;
    for (size_t r = 0; r < all.size(); ++r) {
      senders.push_back(all[r].sender);
      if (static_cast<int>(r) != rank_) sender_.connect(r, all[r].sender, all[r].receiver);
    }
    solution_.connect(senders.data(), rank.world(), static_cast<int>(args.window));
    rank.barrier();  // what comes before a receiver is connected is lost
  }

  void run(const Args& args, cudaStream_t stream) {
    using fabricbench::check_cuda;
    check_cuda(cudaMemcpyAsync(args.out + rank_ * args.n, args.in + rank_ * args.n, 4 * args.n,
                               cudaMemcpyDeviceToDevice, stream),
               "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    solution_.begin(args.out, 4 * args.n);
    sender_.begin();
    bool received = false, sent = false;
    constexpr int kPatience = 100000;
    for (int steps = 0; !received || !sent; ++steps) {
      if (steps > kPatience) throw std::runtime_error("there is no end after 100000 steps");
      sent = sent || sender_.step(args);
      received = received || solution_.step(stream);
    }
    sender_.barrier();
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  static int64_t slots(const fabricbench::Rank& rank, const Args& args) { return (rank.world() - 1) * args.window; }
  static int64_t slot_bytes(const Args& args) { return 40 + 4 * args.fragment; }

  int rank_;
  proof::Sender sender_;
  proof::Memory slots_;
  Solution solution_;
};
