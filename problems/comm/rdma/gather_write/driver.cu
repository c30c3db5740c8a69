#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "args.h"

// [interface]
#include <infiniband/verbs.h>

// Pieces of registered memory: `count` of them, `bytes` long, `pitch` bytes from begin to begin.
struct Rows {
  uint64_t address;
  uint32_t key;  // the local key
  int64_t count, bytes, pitch;
};
// [/interface]

// Two connections from each rank to the next one: for writes, and for sends. On the way back the first one carries the
// word that a rank has come to the call.
template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : messages_(static_cast<int>((args.rows + args.pieces - 1) / args.pieces)),
        card_(rank),
        written_{card_, args, messages_},
        scattered_{card_, args, messages_},
        source_(card_.reg(args.in, 4 * args.rows * args.columns)),
        packed_(card_.reg(args.packed, 4 * args.rows * args.width)),
        target_(card_.reg(args.out, 4 * args.rows * args.columns)),
        solution_(rank, static_cast<int>(args.pieces)) {
    fabricbench::check_cuda(cudaMallocHost(&report_, 16 * messages_), "cudaMallocHost");
    const auto psn = static_cast<uint32_t>(rank.rank());
    const Door mine = {reinterpret_cast<uint64_t>(args.packed),
                       packed_->rkey,
                       {card_.endpoint_of(*written_.before, psn), card_.endpoint_of(*written_.next, psn)},
                       {card_.endpoint_of(*scattered_.before, psn), card_.endpoint_of(*scattered_.next, psn)}};
    const auto all = rank.all_gather(mine);
    const auto world = static_cast<size_t>(rank.world());
    next_ = all[(psn + 1) % world];
    const Door& before = all[(psn + world - 1) % world];
    post_empty(*written_.next);
    fabricbench::connect_rc(*written_.before, psn, before.written.next);
    fabricbench::connect_rc(*written_.next, psn, next_.written.before);
    fabricbench::connect_rc(*scattered_.before, psn, before.scattered.next);
    fabricbench::connect_rc(*scattered_.next, psn, next_.scattered.before);
  }
  ~Driver() { cudaFreeHost(report_); }

  void run(const Args& args, cudaStream_t stream) {
    fabricbench::check_cuda(cudaMemsetAsync(args.out, 0, 4 * args.rows * args.columns, stream), "cudaMemsetAsync");
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const int64_t skipped = args.columns - args.width;
    solution_.receive(scattered_.before.get(), rows_of(args, args.out + skipped, *target_));
    for (int m = 0; m < messages_; ++m) post_empty(*written_.before);
    ring(*written_.before);
    await(written_.next_queue, IBV_WC_RECV);
    post_empty(*written_.next);

    solution_.write(written_.next.get(), rows_of(args, args.in, *source_), next_.packed, next_.key, kName);
    solution_.send(scattered_.next.get(), rows_of(args, args.in + skipped, *source_), kName + 1);
    await(written_.before_queue, IBV_WC_SEND);
    for (int m = 0; m < messages_; ++m) {
      const ibv_wc written = await(written_.before_queue, IBV_WC_RECV_RDMA_WITH_IMM);
      const ibv_wc received = await(scattered_.before_queue, IBV_WC_RECV);
      const uint32_t row[] = {ntohl(written.imm_data), written.byte_len, static_cast<uint32_t>(received.wr_id),
                              received.byte_len};
      std::memcpy(report_ + 4 * m, row, sizeof row);
    }
    // The memory of all requests is free when the last one is complete.
    if (await(written_.next_queue, IBV_WC_RDMA_WRITE).wr_id != kName ||
        await(scattered_.next_queue, IBV_WC_SEND).wr_id != kName + 1)
      throw std::runtime_error("a completion has another name than that of the last request");
    fabricbench::check_cuda(cudaMemcpyAsync(args.report, report_, 16 * messages_, cudaMemcpyHostToDevice, stream),
                            "cudaMemcpyAsync");
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  static constexpr uint64_t kName = 0x100000001;

  struct Ends {
    fabricbench::Endpoint before, next;
  };
  struct Door {
    uint64_t packed;
    uint32_t key;
    Ends written, scattered;
  };
  // One end of each kind, with room for the requests of one call, and completion queues of their own.
  struct Connection {
    fabricbench::CompletionQueue before_queue, next_queue;
    fabricbench::QueuePair before, next;

    Connection(const fabricbench::Card& card, const Args& args, int messages)
        : before_queue(make_queue(card, messages)), next_queue(make_queue(card, messages)) {
      const fabricbench::QueueSizes sizes = {.sends = static_cast<uint32_t>(messages),
                                             .receives = static_cast<uint32_t>(messages),
                                             .pieces = static_cast<uint32_t>(args.pieces),
                                             .inline_bytes = 0};
      before = card.make_rc(before_queue.get(), sizes);
      next = card.make_rc(next_queue.get(), sizes);
    }
    static fabricbench::CompletionQueue make_queue(const fabricbench::Card& card, int messages) {
      return fabricbench::CompletionQueue(
          fabricbench::check_verbs(ibv_create_cq(card.context(), 2 * messages, nullptr, nullptr, 0), "ibv_create_cq"));
    }
  };

  static Rows rows_of(const Args& args, const uint32_t* first, const ibv_mr& region) {
    return {reinterpret_cast<uint64_t>(first), region.lkey, args.rows, 4 * args.width, 4 * args.columns};
  }
  static void post_empty(ibv_qp& pair) {
    ibv_recv_wr work = {}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }
  static void ring(ibv_qp& pair) {
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_SIGNALED;
    fabricbench::check_verbs(ibv_post_send(&pair, &work, &bad), "ibv_post_send");
  }
  static ibv_wc await(const fabricbench::CompletionQueue& queue, ibv_wc_opcode opcode) {
    const ibv_wc done = fabricbench::wait_for_completion(queue.get());
    if (done.opcode != opcode) throw std::runtime_error("there is a completion that was not asked for");
    return done;
  }

  int messages_;
  fabricbench::Card card_;
  Connection written_, scattered_;
  fabricbench::MemoryRegion source_, packed_, target_;
  Door next_ = {};
  Solution solution_;
  uint32_t* report_ = nullptr;
};
