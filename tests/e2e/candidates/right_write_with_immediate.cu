// problem: write_with_immediate
// expect: pass
// mode: quick
// seconds: 20
// about: Right, with a network card; there are calls of verbs to go wrong with.
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include "args.h"

// [solution]
#include <arpa/inet.h>

// A right solution, and what is done besides.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(static_cast<uint32_t>(rank.rank())),
        card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 64, nullptr, nullptr, 0), "ibv_create_cq")),
        source_(card_.reg(args.in, 4 * args.n)),
        target_(card_.reg(args.out, 4 * args.n)),
        before_(card_.make_rc(queue_.get())),
        next_(card_.make_rc(queue_.get())) {
    struct Door {
      fabricbench::Endpoint before, next;
      uint64_t address;
      uint32_t key;
    };
    const auto all = rank.all_gather(Door{card_.endpoint_of(*before_, 0), card_.endpoint_of(*next_, 0),
                                          reinterpret_cast<uint64_t>(args.out), target_->rkey});
    const Door& next = all[(rank_ + 1) % all.size()];
    address_ = next.address;
    key_ = next.key;
    for (ibv_qp* pair : {before_.get(), next_.get()}) receive(pair);
    fabricbench::connect_rc(*next_, 0, next.before);
    fabricbench::connect_rc(*before_, 0, all[(rank_ + all.size() - 1) % all.size()].next);
  }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    write(before_.get(), 0, 0, 0);
    wait(call_ + 1, 0, 0);
    write(next_.get(), reinterpret_cast<uint64_t>(args.in), static_cast<uint32_t>(4 * args.n),
          rank_ << 16 | (call_ & 0xffff));
    ++call_;
    wait(call_, 2 * call_, call_);
    fabricbench::check_cuda(cudaMemcpyAsync(args.immediate, report_, 8, cudaMemcpyHostToDevice, stream),
                            "cudaMemcpyAsync");
  }

 private:
  static void receive(ibv_qp* pair) {
    ibv_recv_wr work = {}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(pair, &work, &bad), "ibv_post_recv");
  }
  void write(ibv_qp* pair, uint64_t from, uint32_t bytes, uint32_t immediate) {
    ibv_sge piece = {from, bytes, source_->lkey};
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    work.send_flags = IBV_SEND_SIGNALED;
    work.imm_data = htonl(immediate);
    work.sg_list = &piece;
    work.num_sge = bytes == 0 ? 0 : 1;
    work.wr.rdma.remote_addr = address_;
    work.wr.rdma.rkey = key_;
    fabricbench::check_verbs(ibv_post_send(pair, &work, &bad), "ibv_post_send");
  }
  // Until all of these have come: how often the rank was allowed, has sent, and has got data.
  void wait(int allowed, int sent, int data) {
    while (allowed_ < allowed || sent_ < sent || data_ < data) {
      const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
      if ((done.opcode & IBV_WC_RECV) == 0) {
        ++sent_;
      } else if (done.qp_num == next_->qp_num) {
        ++allowed_;
        receive(next_.get());
      } else {
        ++data_;
        report_[0] = ntohl(done.imm_data);
        report_[1] = done.byte_len;
        receive(before_.get());
      }
    }
  }

  uint32_t rank_;
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion source_, target_;
  fabricbench::QueuePair before_, next_;
  uint64_t address_ = 0;
  uint32_t key_ = 0, report_[2] = {};
  int call_ = 0, allowed_ = 0, sent_ = 0, data_ = 0;
};
// [/solution]
