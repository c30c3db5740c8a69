#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include "args.h"

// [solution]
#include <arpa/inet.h>

// What a rank must know of its neighbours: its own output and key for the rank before, and both its queue pairs.
struct Door {
  uint64_t address;
  uint32_t key;
  fabricbench::Endpoint from_before, to_next;
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 64, nullptr, nullptr, 0), "ibv_create_cq")),
        source_(card_.reg(args.in, 4 * args.n)),
        target_(card_.reg(args.out, 4 * args.n)),
        from_before_(card_.make_rc(queue_.get())),
        to_next_(card_.make_rc(queue_.get())) {
    fabricbench::check_cuda(cudaMallocHost(&report_, 2 * sizeof(uint32_t)), "cudaMallocHost");
    const auto psn = static_cast<uint32_t>(rank.rank());
    const Door mine = {reinterpret_cast<uint64_t>(args.out), target_->rkey, card_.endpoint_of(*from_before_, psn),
                       card_.endpoint_of(*to_next_, psn)};
    const auto all = rank.all_gather(mine);
    const auto world = static_cast<size_t>(rank.world());
    const Door& next = all[(psn + 1) % world];
    next_address_ = next.address;
    next_key_ = next.key;
    // Receives before the connection: a message may come as soon as there is one.
    post_receive(*from_before_, kData);
    post_receive(*to_next_, kReady);
    fabricbench::connect_rc(*to_next_, psn, next.from_before);
    fabricbench::connect_rc(*from_before_, psn, all[(psn + world - 1) % world].to_next);
  }
  ~Solution() { cudaFreeHost(report_); }

  void run(const Args& args, cudaStream_t stream) {
    // The card does not wait for the stream: `in` must be there, and `out` must be free, before the neighbours are told
    // so. The copy of the call before is over, too: report_ is free.
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    send(*from_before_, {}, 0);  // the rank before may write
    await(kReady);
    const ibv_sge piece = {reinterpret_cast<uint64_t>(args.in), static_cast<uint32_t>(4 * args.n), source_->lkey};
    send(*to_next_, piece, static_cast<uint32_t>(rank_) << 16 | (call_++ & 0xffff));
    const ibv_wc arrived = await(kData);
    // Our own write has read all of `in` only when it is complete: the next call's contents come behind this one.
    await(kSent);
    report_[0] = ntohl(arrived.imm_data);
    report_[1] = arrived.byte_len;
    fabricbench::check_cuda(
        cudaMemcpyAsync(args.immediate, report_, 2 * sizeof(uint32_t), cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync");
  }

 private:
  // Names of work requests.
  enum Work : uint64_t { kReady, kData, kRung, kSent, kKinds };

  static void post_receive(ibv_qp& pair, Work name) {
    ibv_recv_wr work = {}, *bad = nullptr;  // no memory: a write goes where the writer says
    work.wr_id = name;
    fabricbench::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }

  // A write with immediate value; without data it is a doorbell.
  void send(ibv_qp& pair, ibv_sge piece, uint32_t immediate) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.wr_id = piece.length == 0 ? kRung : kSent;
    work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    work.imm_data = htonl(immediate);
    work.send_flags = IBV_SEND_SIGNALED;
    if (piece.length != 0) {
      work.sg_list = &piece;
      work.num_sge = 1;
      work.wr.rdma.remote_addr = next_address_;
      work.wr.rdma.rkey = next_key_;
    }
    fabricbench::check_verbs(ibv_post_send(&pair, &work, &bad), "ibv_post_send");
  }

  // The completion with this name; others that come before are kept. Those of doorbells are only polled, which frees
  // their places in the send queue. A receive is posted again at once, so that the next call's message finds it.
  ibv_wc await(Work name) {
    while (kept_[name] == 0) {
      const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
      ++kept_[done.wr_id];
      if (done.wr_id == kData) data_ = done;
      if (done.wr_id == kReady) post_receive(*to_next_, kReady);
      if (done.wr_id == kData) post_receive(*from_before_, kData);
    }
    --kept_[name];
    return data_;
  }

  int rank_;
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion source_, target_;
  fabricbench::QueuePair from_before_, to_next_;
  uint64_t next_address_ = 0;
  uint32_t next_key_ = 0;
  uint32_t call_ = 0;
  int kept_[kKinds] = {};
  ibv_wc data_ = {};
  uint32_t* report_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: open a card, register memory, connect queue pairs
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: write to the next rank, and report what has come
//|   }
//| };
// [/solution]
