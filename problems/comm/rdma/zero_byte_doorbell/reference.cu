#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include "args.h"

// [solution]
#include <arpa/inet.h>

#include <vector>

// What other ranks must know of a rank: its output, and its queue pair for each row.
struct Door {
  uint64_t out;
  uint32_t key;
  fabricbench::Endpoint rows[3];
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : batches_(static_cast<size_t>(args.batches)),
        row_bytes_(4 * static_cast<uint64_t>(args.n)),
        card_(rank),
        peers_(static_cast<size_t>(rank.world()) - 1) {
    // For each peer: all its doorbells of a call, one of the next call, and our last one.
    const auto completions = static_cast<int>(peers_.size() * (batches_ + 3));
    queue_.reset(
        fabricbench::check_verbs(ibv_create_cq(card_.context(), completions, nullptr, nullptr, 0), "ibv_create_cq"));
    in_ = card_.reg(args.in, peers_.size() * row_bytes_, 0);
    out_ = card_.reg(args.out, peers_.size() * row_bytes_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    const size_t table = sizeof(uint32_t) * peers_.size() * batches_;
    fabricbench::check_cuda(cudaMallocHost(&ends_, table), "cudaMallocHost");
    fabricbench::check_cuda(cudaMallocHost(&rung_, table), "cudaMallocHost");
    const auto psn = static_cast<uint32_t>(rank.rank());
    Door mine = {reinterpret_cast<uint64_t>(args.out), out_->rkey, {}};
    for (size_t k = 0; k < peers_.size(); ++k) {
      // A call sends permission, and each batch with its doorbell. At most one message of the next call comes early.
      peers_[k].pair = card_.make_rc(queue_.get(), {.sends = static_cast<uint32_t>(2 * batches_ + 1),
                                                    .receives = static_cast<uint32_t>(batches_ + 2)});
      mine.rows[k] = card_.endpoint_of(*peers_[k].pair, psn);
    }
    const auto all = rank.all_gather(mine);
    for (size_t k = 0; k < peers_.size(); ++k) {
      const size_t theirs = peers_.size() - 1 - k;  // our row there
      const Door& door = all[(psn + 1 + k) % all.size()];
      peers_[k].out = door.out + theirs * row_bytes_;
      peers_[k].key = door.key;
      // Receives before the connection: a doorbell may come as soon as there is one.
      for (size_t i = 0; i < batches_ + 2; ++i) post_receive(k);
      fabricbench::connect_rc(*peers_[k].pair, psn, door.rows[theirs]);
    }
  }
  ~Solution() {
    cudaFreeHost(ends_);
    cudaFreeHost(rung_);
  }

  void run(const Args& args, cudaStream_t stream) {
    using fabricbench::check_cuda;
    const size_t table = sizeof(uint32_t) * peers_.size() * batches_;
    check_cuda(cudaMemcpyAsync(ends_, args.ends, table, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    // Cards do not wait for streams: only now is `in` there and `out` free, and others may hear of it.
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (Peer& peer : peers_) ring(peer, 0, 0);
    // Each peer's rows go as soon as it has come to the call. What it rings meanwhile is counted.
    for (size_t k = 0; k < peers_.size(); ++k) {
      while (peers_[k].rings == 0) poll();
      write_row(k, reinterpret_cast<uint64_t>(args.in));
    }
    for (Peer& peer : peers_) {
      // All its batches are here, and the card has read ours: the completion of the last doorbell says it of all
      // before.
      while (peer.rings < batches_ + 1 || !peer.sent) poll();
      peer.rings -= batches_ + 1;  // it may have come to the next call
      peer.sent = false;
    }
    // The next call waits for the stream before a doorbell changes `rung_`.
    check_cuda(cudaMemcpyAsync(args.rung, rung_, table, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  }

 private:
  struct Peer {
    fabricbench::QueuePair pair;
    uint64_t out = 0;  // our row in its output
    uint32_t key = 0;
    size_t rings = 0;   // doorbells of this call: the first says that the peer is there, the others end its batches
    bool sent = false;  // our last doorbell is complete
  };

  void write_row(size_t k, uint64_t in) {
    Peer& peer = peers_[k];
    uint32_t begin = 0;
    for (size_t b = 0; b < batches_; ++b) {
      const uint32_t end = ends_[k * batches_ + b];
      if (begin < end) {
        ibv_sge piece = {in + k * row_bytes_ + 4 * uint64_t{begin}, 4 * (end - begin), in_->lkey};
        ibv_send_wr work = {};
        work.opcode = IBV_WR_RDMA_WRITE;
        work.sg_list = &piece;
        work.num_sge = 1;
        work.wr.rdma.remote_addr = peer.out + 4 * uint64_t{begin};
        work.wr.rdma.rkey = peer.key;
        post(peer, work);
      }
      // Behind the batch, on the same queue pair.
      ring(peer, end, b + 1 == batches_ ? IBV_SEND_SIGNALED : 0);
      begin = end;
    }
  }

  void ring(Peer& peer, uint32_t value, unsigned flags) {
    ibv_send_wr work = {};
    work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    work.imm_data = htonl(value);
    work.send_flags = flags;
    post(peer, work);
  }

  static void post(Peer& peer, ibv_send_wr& work) {
    ibv_send_wr* bad = nullptr;
    fabricbench::check_verbs(ibv_post_send(peer.pair.get(), &work, &bad), "ibv_post_send");
  }

  void post_receive(size_t k) {
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = k;  // how its completion tells whose doorbell it was
    fabricbench::check_verbs(ibv_post_recv(peers_[k].pair.get(), &work, &bad), "ibv_post_recv");
  }

  void poll() {
    const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
    if (done.opcode != IBV_WC_RECV_RDMA_WITH_IMM) {
      for (Peer& peer : peers_) peer.sent |= peer.pair->qp_num == done.qp_num;
      return;
    }
    const size_t k = done.wr_id, number = peers_[k].rings++;
    if (number >= 1 && number <= batches_) rung_[k * batches_ + number - 1] = ntohl(done.imm_data);
    post_receive(k);  // at once, so that none is ever missing
  }

  size_t batches_;
  uint64_t row_bytes_;
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion in_, out_;
  std::vector<Peer> peers_;  // by row
  uint32_t *ends_ = nullptr, *rung_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: open a card, register memory, connect queue pairs
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: write the batches, ring behind each, and take the other ranks' doorbells
//|   }
//| };
// [/solution]
