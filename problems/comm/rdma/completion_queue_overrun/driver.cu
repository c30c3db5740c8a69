#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <vector>

#include "args.h"

// [interface]
// A write: from the memory of this rank to that of the next one.
struct Block {
  uint64_t from, to;  // addresses
  uint32_t from_key, to_key;
  uint32_t bytes;
};

struct Shared {
  ibv_context* card;
  ibv_pd* domain;  // all keys are of this domain
  int entries;     // of the completion queue of pair()
  uint32_t sends;  // work requests that the send queue of pair() must hold
};
// [/interface]

// Uses of the queue pair that overrun its completion queue, and one of the driver's own.
namespace proof {

using fabricbench::check_cuda;
using fabricbench::check_verbs;

// A queue pair that is connected with itself, and its completion queue.
struct Loop {
  fabricbench::CompletionQueue queue;
  fabricbench::QueuePair pair;

  explicit Loop(const fabricbench::Card& card)
      : queue(check_verbs(ibv_create_cq(card.context(), 3, nullptr, nullptr, 0), "ibv_create_cq")),
        pair(card.make_rc(queue.get())) {
    fabricbench::connect_rc(*pair, 0, card.endpoint_of(*pair, 0));
  }
};

inline void post(ibv_qp* pair, const Block& block, uint64_t name) {
  ibv_sge piece = {block.from, block.bytes, block.from_key};
  ibv_send_wr work = {}, *bad = nullptr;
  work.wr_id = name;
  work.opcode = IBV_WR_RDMA_WRITE;
  work.send_flags = IBV_SEND_SIGNALED;
  work.sg_list = &piece;
  work.num_sge = 1;
  work.wr.rdma.remote_addr = block.to;
  work.wr.rdma.rkey = block.to_key;
  check_verbs(ibv_post_send(pair, &work, &bad), "ibv_post_send");
}

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        card_(rank),
        queue_(proof::check_verbs(ibv_create_cq(card_.context(), 256, nullptr, nullptr, 0), "ibv_create_cq")),
        in_region_(card_.reg(args.in, bytes(args))),
        out_region_(card_.reg(args.out, bytes(args))),
        clock_(card_),
        careless_(std::make_unique<proof::Loop>(card_)) {
    for (int p = 0; p < world_; ++p) pairs_.push_back(card_.make_rc(queue_.get()));
    std::vector<fabricbench::Endpoint> mine, all(static_cast<size_t>(world_ * world_));
    for (const auto& pair : pairs_) mine.push_back(card_.endpoint_of(*pair, 0));
    rank.all_gather(mine.data(), mine.size() * sizeof mine[0], all.data());
    for (int p = 0; p < world_; ++p) {
      for (int k = 0; k < 4; ++k) post_receive(p);
      fabricbench::connect_rc(*pairs_[static_cast<size_t>(p)], 0, all[static_cast<size_t>(p * world_ + rank_)]);
    }
    seen_.resize(static_cast<size_t>(world_));

    struct Target {
      uint64_t address;
      uint32_t key;
    };
    const auto targets = rank.all_gather(Target{reinterpret_cast<uint64_t>(args.out), out_region_->rkey});
    const Target& next = targets[static_cast<size_t>((rank_ + 1) % world_)];
    const auto block_bytes = static_cast<uint32_t>(4 * args.words);
    for (int64_t b = 0; b < args.blocks; ++b) {
      const auto offset = static_cast<uint64_t>(b) * block_bytes;
      blocks_.push_back({reinterpret_cast<uint64_t>(args.in) + offset, next.address + offset, in_region_->lkey,
                         next.key, block_bytes});
    }
    const auto entries = static_cast<int>(args.entries);
    shared_ = {card_.context(), card_.domain(), entries, static_cast<uint32_t>(2 * entries + 2 + args.blocks)};
    solution_ = std::make_unique<Solution>(rank, shared_);
  }

  void run(const Args& args, cudaStream_t stream) {
    uint32_t fate = 0;
    proof::check_cuda(cudaMemcpyAsync(&fate, args.in, sizeof fate, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    proof::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    barrier();  // all outputs may be written
    ibv_qp* const pair = solution_->pair();
    const int room = pair->send_cq->cqe;
    if (room > 2 * shared_.entries + 1) throw std::runtime_error("the completion queue is larger than asked for");
    const bool is_overrun = fate % 2 != 0, other_is_overrun = fate / 2 % 2 != 0;
    if (other_is_overrun) {
      for (int k = 0; k <= careless_->queue->cqe; ++k) proof::post(careless_->pair.get(), {}, 0);
      await_error(careless_->pair.get());
    }
    if (is_overrun) {
      // Writes without data; when the queue is broken, the blocks, which are lost.
      for (int k = 0; k <= room; ++k) proof::post(pair, {}, ++serial_);
      await_error(pair);
      for (const Block& block : blocks_) proof::post(pair, block, ++serial_);
    } else {
      for (const Block& block : blocks_) {
        proof::post(pair, block, ++serial_);
        const ibv_wc done = fabricbench::wait_for_completion(pair->send_cq);
        if (done.wr_id != serial_) throw std::runtime_error("the completion queue was not empty");
      }
    }
    errors_ = solution_->deliver(blocks_.data(), args.blocks);
    if (other_is_overrun) {
      careless_.reset();  // does not end before its event was acknowledged
      careless_ = std::make_unique<proof::Loop>(card_);
    }
    barrier();  // all blocks have been delivered
    proof::check_cuda(cudaMemcpyAsync(args.errors, &errors_, sizeof errors_, cudaMemcpyHostToDevice, stream),
                      "cudaMemcpyAsync");
    proof::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  enum : uint64_t { kSent = 1 << 8 };  // names of work: this, or the rank from which a message came

  static size_t bytes(const Args& args) { return static_cast<size_t>(args.blocks * args.words) * sizeof(uint32_t); }

  // Messages to this rank itself, until the queue pair is broken.
  void await_error(ibv_qp* pair) {
    for (;;) {
      ibv_qp_attr a = {};
      ibv_qp_init_attr made = {};
      proof::check_verbs(ibv_query_qp(pair, &a, IBV_QP_STATE, &made), "ibv_query_qp");
      if (a.qp_state == IBV_QPS_ERR) return;
      proof::post(clock_.pair.get(), {}, 0);
      fabricbench::wait_for_completion(clock_.queue.get());
    }
  }

  void post_receive(int peer) {
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = static_cast<uint64_t>(peer);
    proof::check_verbs(ibv_post_recv(pairs_[static_cast<size_t>(peer)].get(), &work, &bad), "ibv_post_recv");
  }
  void take_completion() {
    const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
    if (done.wr_id == kSent) {
      --sending_;
    } else {
      ++seen_[done.wr_id];
      post_receive(static_cast<int>(done.wr_id));
    }
  }
  // All ranks, through the cards.
  void barrier() {
    ++barriers_;
    for (int p = 0; p < world_; ++p) {
      if (p == rank_) continue;
      ibv_send_wr word = {}, *bad = nullptr;
      word.wr_id = kSent;
      word.opcode = IBV_WR_SEND;
      word.send_flags = IBV_SEND_SIGNALED;
      proof::check_verbs(ibv_post_send(pairs_[static_cast<size_t>(p)].get(), &word, &bad), "ibv_post_send");
      ++sending_;
    }
    while (sending_ > 0) take_completion();
    for (int p = 0; p < world_; ++p) {
      while (p != rank_ && seen_[static_cast<size_t>(p)] < barriers_) take_completion();
    }
  }

  int rank_, world_;
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion in_region_, out_region_;
  proof::Loop clock_;
  std::unique_ptr<proof::Loop> careless_;
  std::vector<fabricbench::QueuePair> pairs_;
  std::vector<int> seen_;
  int sending_ = 0, barriers_ = 0;
  uint64_t serial_ = 0;
  uint32_t errors_ = 0;
  std::vector<Block> blocks_;
  Shared shared_{};
  std::unique_ptr<Solution> solution_;
};
