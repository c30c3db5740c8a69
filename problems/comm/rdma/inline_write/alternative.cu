// [solution]
#include <atomic>
#include <vector>

// Plain writes: the message, and behind it its number, both inline. No receives; the reader looks at the number.
struct Door {
  uint64_t slots;
  uint32_t key;
  fabricbench::Endpoint from_before, to_next;
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : words_(static_cast<size_t>(args.words)),
        stride_((words_ + 1) / 2 * 2 + 2),
        slots_(static_cast<size_t>(rank.world()) + 1),
        card_(rank),
        sent_queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 4, nullptr, nullptr, 0), "ibv_create_cq")) {
    const size_t values = static_cast<size_t>(args.rounds) * words_;
    fabricbench::check_cuda(cudaMallocHost(&landing_, 4 * slots_ * stride_), "cudaMallocHost");
    for (size_t i = 0; i < slots_ * stride_; ++i) landing_[i] = 0;
    region_ = card_.reg(landing_, 4 * slots_ * stride_);
    in_.resize(values);
    out_.resize(values);
    from_before_ = card_.make_rc(sent_queue_.get(), {.inline_bytes = 256});
    to_next_ = card_.make_rc(sent_queue_.get(), {.inline_bytes = 256});
    const auto psn = static_cast<uint32_t>(rank.rank());
    Door mine = {};
    mine.slots = reinterpret_cast<uint64_t>(landing_);
    mine.key = region_->rkey;
    mine.from_before = card_.endpoint_of(*from_before_, psn);
    mine.to_next = card_.endpoint_of(*to_next_, psn);
    const auto all = rank.all_gather(mine);
    const auto world = static_cast<size_t>(rank.world());
    next_ = all[(psn + 1) % world];
    fabricbench::connect_rc(*from_before_, psn, all[(psn + world - 1) % world].to_next);
    fabricbench::connect_rc(*to_next_, psn, next_.from_before);
  }
  ~Solution() {
    from_before_.reset();
    to_next_.reset();
    region_.reset();
    cudaFreeHost(landing_);
  }

  void run(const Args& args, cudaStream_t stream) {
    using fabricbench::check_cuda;
    const size_t bytes = in_.size() * sizeof(uint32_t);
    check_cuda(cudaMemcpyAsync(in_.data(), args.in, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    std::vector<uint32_t> last(words_, 0), message(words_);
    for (size_t at = 0; at < in_.size(); at += words_) {
      for (size_t i = 0; i < words_; ++i) message[i] = 3 * last[i] + in_[at + i];
      const size_t slot = number_++ % slots_ * stride_;
      // As many messages as this fit into the send queue twice.
      const bool last_of_some = number_ % 8 == 0;
      write(message.data(), 4 * words_, slot, 0);
      write(&number_, sizeof number_, slot + stride_ - 2, last_of_some ? IBV_SEND_SIGNALED : 0u);
      if (last_of_some) ++pending_;
      while (pending_ == 3) poll();
      auto& number = *reinterpret_cast<uint64_t*>(landing_ + slot + stride_ - 2);
      while (std::atomic_ref(number).load(std::memory_order_acquire) != number_) poll();
      for (size_t i = 0; i < words_; ++i) last[i] = out_[at + i] = landing_[slot + i];
    }
    check_cuda(cudaMemcpyAsync(args.out, out_.data(), bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  void write(const void* from, size_t bytes, size_t word, unsigned flags) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(from), static_cast<uint32_t>(bytes), 0};
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_RDMA_WRITE;
    work.send_flags = IBV_SEND_INLINE | flags;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.wr.rdma.remote_addr = next_.slots + 4 * word;
    work.wr.rdma.rkey = next_.key;
    fabricbench::check_verbs(ibv_post_send(to_next_.get(), &work, &bad), "ibv_post_send");
  }

  void poll() {
    ibv_wc done = {};
    if (ibv_poll_cq(sent_queue_.get(), 1, &done) == 0) return;
    if (done.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(done.status));
    --pending_;
  }

  size_t words_, stride_, slots_;  // of a slot: the message, and its number in the last 8 bytes
  uint32_t* landing_ = nullptr;
  std::vector<uint32_t> in_, out_;
  fabricbench::Card card_;
  fabricbench::CompletionQueue sent_queue_;
  fabricbench::MemoryRegion region_;
  fabricbench::QueuePair from_before_, to_next_;
  Door next_ = {};
  uint64_t number_ = 0;
  int pending_ = 0;
};
// [/solution]
