#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <algorithm>
#include <vector>

#include "args.h"

// [interface]
constexpr int kRoutes = 4;  // queue pairs to the next rank

struct Shared {
  ibv_context* card;
  int entries;  // that each completion queue must hold
};

struct Stamp {
  uint64_t name;         // wr_id of the completed work request
  uint64_t nanoseconds;  // when it completed, by the clock of the card
};
// [/interface]

// The transfers, and readings of the clock around them.
namespace proof {

using fabricbench::check_cuda;
using fabricbench::check_verbs;

struct EndQueue {
  void operator()(ibv_cq_ex* queue) const { ibv_destroy_cq(ibv_cq_ex_to_cq(queue)); }
};
using StampedQueue = std::unique_ptr<ibv_cq_ex, EndQueue>;

inline StampedQueue make_clock(const fabricbench::Card& card) {
  ibv_cq_init_attr_ex wanted = {};
  wanted.cqe = 4;
  wanted.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  return StampedQueue(check_verbs(ibv_create_cq_ex(card.context(), &wanted), "ibv_create_cq_ex"));
}

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : card_(rank),
        solution_(rank, Shared{card_.context(), static_cast<int>(args.transfers)}),
        queue_(proof::check_verbs(ibv_create_cq(card_.context(), 64, nullptr, nullptr, 0), "ibv_create_cq")),
        in_region_(card_.reg(args.in, bytes(args))),
        out_region_(card_.reg(args.out, bytes(args))),
        to_before_(card_.make_rc(queue_.get())),
        to_next_(card_.make_rc(queue_.get())),
        clock_(proof::make_clock(card_)),
        clock_pair_(card_.make_rc(ibv_cq_ex_to_cq(clock_.get()))) {
    fabricbench::connect_rc(*clock_pair_, 0, card_.endpoint_of(*clock_pair_, 0));
    struct Ends {
      fabricbench::Endpoint inbound[kRoutes], outbound[kRoutes], to_before, to_next;
      uint64_t out;
      uint32_t key;
    } mine = {};
    for (int k = 0; k < kRoutes; ++k) {
      inbound_.push_back(card_.make_rc(queue_.get()));
      outbound_.push_back(make_pair(solution_.queue(k), static_cast<uint32_t>(args.transfers) + 1));
      mine.inbound[k] = card_.endpoint_of(*inbound_.back(), 0);
      mine.outbound[k] = card_.endpoint_of(*outbound_.back(), 0);
    }
    mine.to_before = card_.endpoint_of(*to_before_, 0);
    mine.to_next = card_.endpoint_of(*to_next_, 0);
    mine.out = reinterpret_cast<uint64_t>(args.out);
    mine.key = out_region_->rkey;
    const auto all = rank.all_gather(mine);
    const auto world = static_cast<size_t>(rank.world()), me = static_cast<size_t>(rank.rank());
    const Ends &next = all[(me + 1) % world], &before = all[(me + world - 1) % world];
    target_ = next.out;
    target_key_ = next.key;
    for (size_t k = 0; k < kRoutes; ++k) {
      post_receive(*inbound_[k], kData);
      fabricbench::connect_rc(*inbound_[k], 0, before.outbound[k]);
      fabricbench::connect_rc(*outbound_[k], 0, next.inbound[k]);
    }
    for (int k = 0; k < 2; ++k) post_receive(*to_next_, kNote);
    fabricbench::connect_rc(*to_before_, 0, before.to_next);
    fabricbench::connect_rc(*to_next_, 0, next.to_before);
    // Frequency in kHz: a tick is a million of its inverse, in nanoseconds.
    ibv_device_attr_ex device = {};
    proof::check_verbs(ibv_query_device_ex(card_.context(), nullptr, &device), "ibv_query_device_ex");
    kilohertz_ = device.hca_core_clock;
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto count = static_cast<size_t>(args.transfers), row = bytes(args) / count;
    std::vector<uint32_t> names(count), order(count);
    proof::check_cuda(cudaMemcpy2DAsync(names.data(), sizeof(uint32_t), args.in, row, sizeof(uint32_t), count,
                                        cudaMemcpyDeviceToHost, stream),
                      "cudaMemcpy2DAsync");
    proof::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    send_note();  // the rank before may write
    await(kNote);
    std::vector<uint64_t> begin(count), end(count);
    for (size_t t = 0; t < count; ++t) {
      begin[t] = read_clock();
      write(names[t], reinterpret_cast<uint64_t>(args.in) + t * row, target_ + t * row, static_cast<uint32_t>(row));
      // The next rank answers when the data is there. The acknowledgement, with which the write completes, has left
      // that card before.
      await(kData);
      send_note();
      await(kNote);
      end[t] = read_clock();
    }
    std::vector<Stamp> stamps(count);
    const int64_t found = solution_.collect(stamps.data(), args.transfers);
    uint32_t in_time = 0;
    for (size_t k = 0; k < std::min(count, static_cast<size_t>(std::max<int64_t>(found, 0))); ++k) {
      order[k] =
          stamps[k].name >> 32 == stamps[k].name % (uint64_t{1} << 32) ? static_cast<uint32_t>(stamps[k].name) : 0;
      in_time += stamps[k].nanoseconds >= begin[k] && stamps[k].nanoseconds <= end[k] ? 1 : 0;
    }
    proof::check_cuda(
        cudaMemcpyAsync(args.order, order.data(), count * sizeof(uint32_t), cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync");
    proof::check_cuda(cudaMemcpyAsync(args.in_time, &in_time, sizeof in_time, cudaMemcpyHostToDevice, stream),
                      "cudaMemcpyAsync");
    proof::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  enum Work : uint64_t { kSent, kNote, kData, kKinds };

  static size_t bytes(const Args& args) { return static_cast<size_t>(args.transfers * args.words) * sizeof(uint32_t); }

  // The time at which a message to this rank itself completes.
  uint64_t read_clock() {
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_RDMA_WRITE;
    work.send_flags = IBV_SEND_SIGNALED;
    proof::check_verbs(ibv_post_send(clock_pair_.get(), &work, &bad), "ibv_post_send");
    ibv_poll_cq_attr attr = {};
    int status = ENOENT;
    while (status == ENOENT) status = ibv_start_poll(clock_.get(), &attr);
    proof::check_verbs(status, "ibv_start_poll");
    const uint64_t ticks = ibv_wc_read_completion_ts(clock_.get());
    ibv_end_poll(clock_.get());
    return static_cast<uint64_t>(static_cast<double>(ticks) * 1e6 / static_cast<double>(kilohertz_));
  }

  fabricbench::QueuePair make_pair(ibv_cq* completions, uint32_t sends) const {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = completions;
    wanted.recv_cq = queue_.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = sends, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    fabricbench::QueuePair pair(proof::check_verbs(ibv_create_qp(card_.domain(), &wanted), "ibv_create_qp"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    proof::check_verbs(ibv_modify_qp(pair.get(), &a, mask), "ibv_modify_qp to INIT");
    return pair;
  }

  void write(uint32_t name, uint64_t from, uint64_t to, uint32_t bytes) {
    ibv_sge piece = {from, bytes, in_region_->lkey};
    ibv_send_wr work = {}, *bad = nullptr;
    work.wr_id = uint64_t{name} << 32 | name;
    work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    work.send_flags = IBV_SEND_SIGNALED;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.wr.rdma.remote_addr = to;
    work.wr.rdma.rkey = target_key_;
    proof::check_verbs(ibv_post_send(outbound_[name % kRoutes].get(), &work, &bad), "ibv_post_send");
  }
  void send_note() {
    ibv_send_wr work = {}, *bad = nullptr;
    work.wr_id = kSent;
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_SIGNALED;
    proof::check_verbs(ibv_post_send(to_before_.get(), &work, &bad), "ibv_post_send");
    await(kSent);
  }
  static void post_receive(ibv_qp& pair, Work name) {
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = name;
    proof::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }
  void await(Work name) {
    while (kept_[name] == 0) {
      const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
      ++kept_[done.wr_id];
      if (done.wr_id == kNote) post_receive(*to_next_, kNote);
      for (const auto& pair : inbound_) {
        if (done.wr_id == kData && done.qp_num == pair->qp_num) post_receive(*pair, kData);
      }
    }
    --kept_[name];
  }

  fabricbench::Card card_;
  Solution solution_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion in_region_, out_region_;
  fabricbench::QueuePair to_before_, to_next_;
  proof::StampedQueue clock_;
  fabricbench::QueuePair clock_pair_;
  std::vector<fabricbench::QueuePair> inbound_, outbound_;  // by route
  uint64_t target_ = 0, kilohertz_ = 1;
  uint32_t target_key_ = 0;
  int kept_[kKinds] = {};
};
