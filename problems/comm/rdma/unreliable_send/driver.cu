#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <arpa/inet.h>

#include <algorithm>
#include <stdexcept>

#include "args.h"

// [interface]
// All that a peer has to know of an unreliable connected queue pair. The path has an MTU of 4096 bytes.
struct End {
  uint32_t number;
  uint32_t psn;  // of the first packet that it sends
  uint16_t lid;
};
// [/interface]

namespace proof {

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

// The sender of a rank, and the network that loses what it sends.
class Sender {
 public:
  Sender(const fabricbench::Rank& rank, const Args& args)
      : messages_(static_cast<int>((args.n + args.chunk - 1) / args.chunk)),
        psn_(77 * static_cast<uint32_t>(rank.rank())),
        card_(rank),
        sent_(make_queue(64)),
        came_(make_queue(4)),
        source_(card_.reg(args.in, 4 * args.n)),
        answer_region_(card_.reg(&answer_, sizeof answer_)) {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = sent_.get();
    wanted.recv_cq = came_.get();
    wanted.qp_type = IBV_QPT_UC;
    wanted.cap = {
        .max_send_wr = 64, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = sizeof kLate};
    pair_.reset(fabricbench::check_verbs(ibv_create_qp(card_.domain(), &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    modify(a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  }

  End end() const { return {pair_->qp_num, psn_, card_.lid()}; }

  void connect(const End& peer) {
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_4096;
    a.dest_qp_num = peer.number;
    a.rq_psn = peer.psn;
    a.ah_attr.dlid = peer.lid;
    a.ah_attr.port_num = fabricbench::Card::kPort;
    modify(a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
    a = {};
    a.qp_state = IBV_QPS_RTS;
    a.sq_psn = psn_;
    modify(a, IBV_QP_STATE | IBV_QP_SQ_PSN);
  }

  // `lost` and `answers` are those of the call.
  void begin(const Args& args, const uint32_t* lost, uint32_t* answers) {
    lost_ = lost;
    answers_ = answers;
    std::fill(answers_, answers_ + kRounds, 0);
    missing_ = all();
    round_ = 0;
    send_round(args);
  }

  // True when the next rank has everything.
  bool step(const Args& args) {
    ibv_wc done = {};
    if (ibv_poll_cq(came_.get(), 1, &done) == 0) return false;
    if (done.status != IBV_WC_SUCCESS || done.byte_len != sizeof answer_ || ntohl(done.imm_data) != mark())
      throw std::runtime_error("the answer to a round is not four bytes with the immediate value of its end");
    if ((answer_ & ~missing_) != 0) throw std::runtime_error("an answer names messages that were not missing before");
    missing_ = answer_;
    if (round_ < kRounds) answers_[round_] = missing_;
    ++round_;
    if (missing_ != 0) send_round(args);
    if (missing_ == 0) ++call_;
    return missing_ == 0;
  }

 private:
  static constexpr uint32_t kRounds = 4, kEnd = 0x8000, kLate = 0xBAD0BAD0;

  uint32_t all() const { return static_cast<uint32_t>((uint64_t{1} << messages_) - 1); }
  uint32_t mark() const { return call_ << 16 | kEnd | round_; }

  void send_round(const Args& args) {
    ibv_sge room = {reinterpret_cast<uint64_t>(&answer_), sizeof answer_, answer_region_->lkey};
    ibv_recv_wr receive = {.wr_id = 0, .next = nullptr, .sg_list = &room, .num_sge = 1}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(pair_.get(), &receive, &bad), "ibv_post_recv");

    int64_t left = args.slots - 1;
    int posted = 0;
    if (args.slots >= 4 && call_ > 0) {  // one of the call before, late
      uint32_t late = kLate;
      post({reinterpret_cast<uint64_t>(&late), sizeof late, 0}, (call_ - 1) << 16, IBV_SEND_INLINE);
      --left, ++posted;
    }
    const uint32_t there = all() & ~missing_;
    if (args.slots >= 4 && there != 0) {  // one that has come, a second time
      post(piece_of(args, there & -there), call_ << 16 | index_of(there & -there), 0);
      --left, ++posted;
    }
    for (uint32_t rest = missing_; rest != 0 && left > 0; --left) {
      const uint32_t message = rest & -rest;
      rest ^= message;
      if (round_ < kRounds && (lost_[round_] & message) != 0) continue;
      post(piece_of(args, message), call_ << 16 | index_of(message), 0);
      ++posted;
    }
    post({}, mark(), 0);
    // Of an unreliable connection this says only that the messages are gone.
    for (++posted; posted > 0; --posted) fabricbench::wait_for_completion(sent_.get());
  }

  static uint32_t index_of(uint32_t message) { return static_cast<uint32_t>(__builtin_ctz(message)); }
  ibv_sge piece_of(const Args& args, uint32_t message) const {
    const int64_t begin = index_of(message) * args.chunk;
    return {reinterpret_cast<uint64_t>(args.in + begin),
            static_cast<uint32_t>(4 * std::min(args.chunk, args.n - begin)), source_->lkey};
  }
  void post(ibv_sge piece, uint32_t immediate, unsigned flags) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_SEND_WITH_IMM;
    work.imm_data = htonl(immediate);
    work.send_flags = IBV_SEND_SIGNALED | flags;
    work.sg_list = &piece;
    work.num_sge = piece.length != 0 ? 1 : 0;
    fabricbench::check_verbs(ibv_post_send(pair_.get(), &work, &bad), "ibv_post_send");
  }
  void modify(ibv_qp_attr& attributes, int mask) {
    fabricbench::check_verbs(ibv_modify_qp(pair_.get(), &attributes, mask), "ibv_modify_qp");
  }
  fabricbench::CompletionQueue make_queue(int entries) const {
    return fabricbench::CompletionQueue(
        fabricbench::check_verbs(ibv_create_cq(card_.context(), entries, nullptr, nullptr, 0), "ibv_create_cq"));
  }

  int messages_;
  uint32_t psn_;
  fabricbench::Card card_;
  fabricbench::CompletionQueue sent_, came_;
  uint32_t answer_ = 0;
  fabricbench::MemoryRegion source_, answer_region_;
  fabricbench::QueuePair pair_;
  const uint32_t* lost_ = nullptr;
  uint32_t* answers_ = nullptr;
  uint32_t call_ = 0, round_ = 0, missing_ = 0;
};

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : sender_(rank, args),
        slots_(4 * args.chunk * args.slots),
        solution_(rank, slots_.get(), static_cast<int>(args.slots), static_cast<int>(4 * args.chunk)) {
    struct Ends {
      End sender, receiver;
    };
    Ends mine = {sender_.end(), {}};
    solution_.describe(mine.receiver);
    const auto all = rank.all_gather(mine);
    const int world = rank.world();
    sender_.connect(all[static_cast<size_t>((rank.rank() + 1) % world)].receiver);
    solution_.connect(all[static_cast<size_t>((rank.rank() + world - 1) % world)].sender);
    rank.barrier();  // nothing is repeated: what comes before a receiver is connected is lost
    fabricbench::check_cuda(cudaMallocHost(&words_, 8 * sizeof(uint32_t)), "cudaMallocHost");
  }
  ~Driver() { cudaFreeHost(words_); }

  void run(const Args& args, cudaStream_t stream) {
    using fabricbench::check_cuda;
    check_cuda(cudaMemcpyAsync(words_, args.lost, 16, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    solution_.begin(args.out, static_cast<int>((args.n + args.chunk - 1) / args.chunk));
    sender_.begin(args, words_, words_ + 4);
    bool received = false, sent = false;
    constexpr int kPatience = 100000;
    for (int steps = 0; !received || !sent; ++steps) {
      if (steps > kPatience) throw std::runtime_error("there is no end after 100000 steps");
      received = received || solution_.step(stream);
      sent = sent || sender_.step(args);
    }
    check_cuda(cudaMemcpyAsync(args.answers, words_ + 4, 16, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  proof::Sender sender_;
  proof::Memory slots_;
  Solution solution_;
  uint32_t* words_ = nullptr;  // what is lost, and the answers
};
