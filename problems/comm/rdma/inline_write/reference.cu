#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include "args.h"

// [solution]
#include <algorithm>
#include <vector>

// What the rank before must know: where messages go, and who takes them.
struct Door {
  uint64_t slots;
  uint32_t key;
  fabricbench::Endpoint from_before, to_next;
};

class Solution {
 public:
  // A rank sends a message only when it has got the one before. So the rank before can be ahead by one message for each
  // rank between it and us, and one more: there are never more than `world` messages that we have not read.
  Solution(const fabricbench::Rank& rank, const Args& args)
      : bytes_(static_cast<uint32_t>(4 * args.words)),
        slots_(static_cast<uint32_t>(rank.world())),
        landing_(static_cast<size_t>(args.words) * slots_),
        message_(static_cast<size_t>(args.words)),
        card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 64, nullptr, nullptr, 0), "ibv_create_cq")),
        landing_region_(card_.reg(landing_.data(), slots_ * bytes_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)) {
    const fabricbench::QueueSizes sizes = {.sends = kPlaces, .receives = slots_, .inline_bytes = bytes_};
    from_before_ = card_.make_rc(queue_.get(), sizes);
    to_next_ = card_.make_rc(queue_.get(), sizes);
    const size_t values = static_cast<size_t>(args.rounds * args.words) * sizeof(uint32_t);
    fabricbench::check_cuda(cudaMallocHost(&in_, values), "cudaMallocHost");
    fabricbench::check_cuda(cudaMallocHost(&out_, values), "cudaMallocHost");

    const auto psn = static_cast<uint32_t>(rank.rank());
    const auto all = rank.all_gather(Door{reinterpret_cast<uint64_t>(landing_.data()), landing_region_->rkey,
                                          card_.endpoint_of(*from_before_, psn), card_.endpoint_of(*to_next_, psn)});
    const auto world = static_cast<size_t>(rank.world());
    next_ = all[(psn + 1) % world];
    // Receives before the connection: a message may come as soon as there is one.
    for (uint32_t k = 0; k < slots_; ++k) post_receive();
    fabricbench::connect_rc(*from_before_, psn, all[(psn + world - 1) % world].to_next);
    fabricbench::connect_rc(*to_next_, psn, next_.from_before);
  }
  ~Solution() {
    cudaFreeHost(in_);
    cudaFreeHost(out_);
  }

  void run(const Args& args, cudaStream_t stream) {
    using fabricbench::check_cuda;
    const auto words = static_cast<size_t>(args.words), values = static_cast<size_t>(args.rounds) * words;
    check_cuda(cudaMemcpyAsync(in_, args.in, 4 * values, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    std::fill(message_.begin(), message_.end(), 0);
    const uint32_t* in = in_;
    for (size_t at = 0; at != values; at += words) {
      for (uint32_t& word : message_) word = 3 * word + *in++;
      send();
      // What is sent was copied by the post: the card does not look at the buffer any more, and the answer goes there.
      std::copy_n(receive(), words, message_.begin());
      std::copy(message_.begin(), message_.end(), out_ + at);
      // The slot is read. The next message for it can't come before we have sent another one, so no permission is
      // needed.
      post_receive();
    }
    // The next call waits for the stream before it touches `out_` again.
    check_cuda(cudaMemcpyAsync(args.out, out_, 4 * values, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  }

 private:
  static constexpr uint32_t kPlaces = 16;  // in the send queue

  void post_receive() {
    ibv_recv_wr work = {}, *bad = nullptr;  // no memory: a write goes where the writer says
    fabricbench::check_verbs(ibv_post_recv(from_before_.get(), &work, &bad), "ibv_post_recv");
  }

  void send() {
    // Only the last of a full queue is signalled: its completion frees all places.
    while (sent_ - freed_ == kPlaces) poll();
    ibv_sge piece = {reinterpret_cast<uint64_t>(message_.data()), bytes_, 0};  // inline: no region, no key
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    work.send_flags = IBV_SEND_INLINE;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.wr.rdma.remote_addr = next_.slots + sent_ % slots_ * bytes_;
    work.wr.rdma.rkey = next_.key;
    if (++sent_ % kPlaces == 0) work.send_flags |= IBV_SEND_SIGNALED;
    fabricbench::check_verbs(ibv_post_send(to_next_.get(), &work, &bad), "ibv_post_send");
  }

  // The next message of the rank before. It is all there: its receive has completed.
  const uint32_t* receive() {
    while (received_ == read_) poll();
    return landing_.data() + read_++ % slots_ * (bytes_ / sizeof(uint32_t));
  }

  void poll() {
    const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
    if (done.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
      ++received_;
    } else {
      freed_ += kPlaces;
    }
  }

  uint32_t bytes_, slots_;
  std::vector<uint32_t> landing_, message_;
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion landing_region_;
  fabricbench::QueuePair from_before_, to_next_;
  Door next_ = {};
  uint32_t *in_ = nullptr, *out_ = nullptr;
  uint64_t sent_ = 0, freed_ = 0, received_ = 0, read_ = 0;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: open a card, register memory, connect queue pairs
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: send and receive the messages of all rounds
//|   }
//| };
// [/solution]
