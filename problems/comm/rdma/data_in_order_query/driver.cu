#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "args.h"

// [interface]
#include <infiniband/verbs.h>

#include <cstdint>

// The connection to both neighbours, as a message layer has it.
struct Wire {
  ibv_qp* from_before;  // by which the rank before writes into this rank
  ibv_qp* to_next;      // by which this rank writes into the next one
  // ibv_query_qp_data_in_order of these queue pairs.
  int (*query_qp_data_in_order)(ibv_qp* pair, ibv_wr_opcode op, uint32_t flags);
  uint64_t slots;       // in a window
  uint64_t slot_bytes;  // of a slot: a multiple of 8, and 8 bytes or a little more beyond a message
  char* window;         // of this rank: `slots` slots, zero at first, into which the rank before writes
  void* driver;
  // Writes into the window of the next rank: one IBV_WR_RDMA_WRITE on `to_next`. `from` may be changed afterwards.
  void (*write)(void* driver, uint64_t offset, const void* from, uint64_t bytes);
  // To be called in loops that wait: returns when a card has done something, or after a while.
  void (*idle)(void* driver);
};
// [/interface]

// Queue pairs that land what is written in pieces, and say themselves in which order.
namespace proof {

constexpr uint64_t kSlots = 8;
constexpr uint64_t kPieces = 8;  // of one write, at most
constexpr uint64_t kGrain = 8;   // bytes that land together

struct Promise {
  const ibv_qp* pair;
  int writes, others;  // the answers
};
// Of this process: the pair from the rank before, and the one to the next rank.
inline Promise promises[2];

inline int query(ibv_qp* pair, ibv_wr_opcode op, uint32_t flags) {
  for (const Promise& promise : promises) {
    if (promise.pair == pair && flags == 0) return op == IBV_WR_RDMA_WRITE ? promise.writes : promise.others;
  }
  return 0;
}

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : next_in_order_((args.promises >> (rank.rank() + 1) % rank.world() & 1) != 0),
        words_(static_cast<uint64_t>(args.words)),
        writes_(2 * static_cast<uint64_t>(args.messages)),
        card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 4096, nullptr, nullptr, 0), "ibv_create_cq")) {
    const uint64_t slot = (4 * words_ + 7) / 8 * 8 + 8, values = 4 * words_ * static_cast<uint64_t>(args.messages);
    fabricbench::check_cuda(cudaMallocHost(&window_, proof::kSlots * slot), "cudaMallocHost");
    std::memset(window_, 0, proof::kSlots * slot);
    fabricbench::check_cuda(cudaMallocHost(&staging_, writes_ * slot), "cudaMallocHost");
    fabricbench::check_cuda(cudaMallocHost(&in_, values), "cudaMallocHost");
    fabricbench::check_cuda(cudaMallocHost(&out_, values), "cudaMallocHost");
    window_region_ = card_.reg(window_, proof::kSlots * slot);
    staging_region_ = card_.reg(staging_, writes_ * slot);
    from_before_ = card_.make_rc(queue_.get());
    to_next_ = card_.make_rc(queue_.get(), {.sends = static_cast<uint32_t>(writes_ * proof::kPieces)});
    const auto psn = static_cast<uint32_t>(rank.rank());
    const auto all = rank.all_gather(Place{reinterpret_cast<uint64_t>(window_), window_region_->rkey,
                                           card_.endpoint_of(*from_before_, psn), card_.endpoint_of(*to_next_, psn)});
    next_ = all[(psn + 1) % all.size()];
    fabricbench::connect_rc(*from_before_, psn, all[(psn + all.size() - 1) % all.size()].to_next);
    fabricbench::connect_rc(*to_next_, psn, next_.from_before);
    // The pair to the next rank is asked in vain: nothing is written into this rank by it.
    const int mine = static_cast<int>(args.promises >> rank.rank() & 1);
    proof::promises[0] = {from_before_.get(), mine, 1 - mine};
    proof::promises[1] = {to_next_.get(), 1 - mine, mine};
    wire_.from_before = from_before_.get();
    wire_.to_next = to_next_.get();
    wire_.query_qp_data_in_order = proof::query;
    wire_.slots = proof::kSlots;
    wire_.slot_bytes = slot;
    wire_.window = window_;
    wire_.driver = this;
    wire_.write = [](void* self, uint64_t offset, const void* from, uint64_t bytes) {
      static_cast<Driver*>(self)->write(offset, from, bytes);
    };
    wire_.idle = [](void* self) { static_cast<Driver*>(self)->idle(); };
    solution_ = std::make_unique<Solution>(rank, wire_);
  }
  ~Driver() {
    solution_.reset();
    from_before_.reset();
    to_next_.reset();
    window_region_.reset();
    staging_region_.reset();
    for (void* const memory : {static_cast<void*>(window_), static_cast<void*>(staging_), static_cast<void*>(in_),
                               static_cast<void*>(out_)}) {
      cudaFreeHost(memory);
    }
  }

  void run(const Args& args, cudaStream_t stream) {
    using fabricbench::check_cuda;
    const auto messages = static_cast<uint64_t>(args.messages), bytes = 4 * words_ * messages;
    check_cuda(cudaMemcpyAsync(in_, args.in, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    written_ = 0;
    // A message is sent when the one before has come: the rank before is never further ahead than there are slots.
    for (uint64_t k = 0; k < messages; ++k, ++number_) {
      of_message_ = 0;
      solution_->send(wire_, number_, in_ + k * words_, words_);
      solution_->receive(wire_, number_, out_ + k * words_, words_);
    }
    while (completed_ < posted_) idle();
    check_cuda(cudaMemcpyAsync(args.out, out_, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  struct Place {
    uint64_t window;
    uint32_t key;
    fabricbench::Endpoint from_before, to_next;
  };

  // Pieces are writes of their own: they land in the order in which they are posted. Without a promise the last one is
  // the first. The last 8 bytes are a piece for themselves, because the card orders nothing inside of one.
  void write(uint64_t offset, const void* from, uint64_t bytes) {
    if (++of_message_ > (next_in_order_ ? 1 : 2)) throw std::runtime_error("more writes for a message than it needs");
    if (bytes == 0 || bytes % proof::kGrain != 0 || offset % proof::kGrain != 0 ||
        offset / wire_.slot_bytes != number_ % proof::kSlots || offset % wire_.slot_bytes + bytes > wire_.slot_bytes) {
      throw std::runtime_error("a write that is not inside the message's slot, in multiples of 8 bytes");
    }
    char* const staged = staging_ + written_++ * wire_.slot_bytes;
    std::memcpy(staged, from, bytes);
    const uint64_t grains = bytes / proof::kGrain, pieces = std::min(grains, proof::kPieces);
    const auto begin_of = [&](uint64_t piece) {
      return (piece == pieces ? grains : piece + 1 == pieces ? grains - 1 : (grains - 1) * piece / (pieces - 1)) *
             proof::kGrain;
    };
    for (uint64_t k = 0; k < pieces; ++k) {
      const uint64_t piece = next_in_order_ ? k : pieces - 1 - k;
      const uint64_t begin = begin_of(piece), end = begin_of(piece + 1);
      ibv_sge part = {reinterpret_cast<uint64_t>(staged) + begin, static_cast<uint32_t>(end - begin),
                      staging_region_->lkey};
      ibv_send_wr work = {}, *bad = nullptr;
      work.opcode = IBV_WR_RDMA_WRITE;
      work.send_flags = IBV_SEND_SIGNALED;
      work.sg_list = &part;
      work.num_sge = 1;
      work.wr.rdma.remote_addr = next_.window + offset + begin;
      work.wr.rdma.rkey = next_.key;
      fabricbench::check_verbs(ibv_post_send(to_next_.get(), &work, &bad), "ibv_post_send");
      ++posted_;
    }
  }

  void idle() {
    ibv_wc done = {};
    if (ibv_poll_cq(queue_.get(), 1, &done) == 0) return;
    if (done.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(done.status));
    ++completed_;
  }

  bool next_in_order_;
  uint64_t words_, writes_;  // of a message; of a call
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion window_region_, staging_region_;
  fabricbench::QueuePair from_before_, to_next_;
  Place next_ = {};
  char *window_ = nullptr, *staging_ = nullptr;  // staging: what is being written, so that a caller need not wait
  uint32_t *in_ = nullptr, *out_ = nullptr;
  uint64_t number_ = 0, written_ = 0, of_message_ = 0, posted_ = 0, completed_ = 0;
  Wire wire_ = {};
  std::unique_ptr<Solution> solution_;
};
