// [solution]
#include <cuda/atomic>
#include <vector>

// Extended queue pairs: requests are built one by one and handed over together. A kernel waits
// for the words. No fence: the host waits for the reads before it tells.
struct Words {
  uint64_t before_came, next_came, arrived, taken;
};

__global__ void wait_for(uint64_t* one, uint64_t* other, uint64_t call) {
  using Word = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;
  while (Word(*one).load(cuda::memory_order_acquire) < call) {
  }
  while (Word(*other).load(cuda::memory_order_acquire) < call) {
  }
}

struct Door {
  uint64_t in, pushed, words;
  uint32_t in_key, pushed_key, words_key;
  fabricbench::Endpoint to_before, to_next;
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : bytes_(4 * static_cast<size_t>(args.blocks * args.words)),
        card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 8, nullptr, nullptr, 0), "ibv_create_cq")),
        in_(card_.reg(args.in, bytes_)),
        pulled_(card_.reg(args.pulled, bytes_)),
        pushed_(card_.reg(args.pushed, bytes_)) {
    fabricbench::check_cuda(cudaMalloc(&words_, sizeof *words_), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(words_, 0, sizeof *words_), "cudaMemset");
    fabricbench::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    words_region_ = card_.reg(words_, sizeof *words_);
    to_before_ = make_extended(static_cast<uint32_t>(args.blocks) + 2);
    to_next_ = make_extended(static_cast<uint32_t>(args.blocks) + 2);
    const auto psn = static_cast<uint32_t>(rank.rank());
    Door mine = {};
    mine.in = reinterpret_cast<uint64_t>(args.in);
    mine.pushed = reinterpret_cast<uint64_t>(args.pushed);
    mine.words = reinterpret_cast<uint64_t>(words_);
    mine.in_key = in_->rkey;
    mine.pushed_key = pushed_->rkey;
    mine.words_key = words_region_->rkey;
    mine.to_before = card_.endpoint_of(*to_before_, psn);
    mine.to_next = card_.endpoint_of(*to_next_, psn);
    const auto all = rank.all_gather(mine);
    const auto world = static_cast<size_t>(rank.world());
    before_ = all[(psn + world - 1) % world];
    next_ = all[(psn + 1) % world];
    fabricbench::connect_rc(*to_before_, psn, before_.to_next);
    fabricbench::connect_rc(*to_next_, psn, next_.to_before);
  }
  ~Solution() {
    to_before_.reset();
    to_next_.reset();
    words_region_.reset();
    cudaFree(words_);
  }

  void run(const Args& args, cudaStream_t stream) {
    using fabricbench::check_cuda;
    ++call_;
    const auto blocks = static_cast<size_t>(args.blocks), block = bytes_ / blocks;
    std::vector<int32_t> wanted(blocks), place(blocks);
    check_cuda(cudaMemcpyAsync(wanted.data(), args.wanted, 4 * blocks, cudaMemcpyDeviceToHost, stream), "wanted");
    check_cuda(cudaMemcpyAsync(place.data(), args.place, 4 * blocks, cudaMemcpyDeviceToHost, stream), "place");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    ibv_qp_ex* const before = ibv_qp_to_qp_ex(to_before_.get());
    ibv_qp_ex* const next = ibv_qp_to_qp_ex(to_next_.get());

    // Both neighbours learn that we are here, and we wait for both.
    tell(before, before_, offsetof(Words, next_came), 0);
    tell(next, next_, offsetof(Words, before_came), 0);
    wait_for<<<1, 1, 0, stream>>>(&words_->before_came, &words_->next_came, call_);
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");

    ibv_wr_start(before);
    for (size_t b = 0; b < blocks; ++b) {
      before->wr_flags = b + 1 == blocks ? IBV_SEND_SIGNALED : 0;
      ibv_wr_rdma_read(before, before_.in_key, before_.in + static_cast<size_t>(wanted[b]) * block);
      ibv_wr_set_sge(before, pulled_->lkey, reinterpret_cast<uint64_t>(args.pulled) + b * block,
                     static_cast<uint32_t>(block));
    }
    fabricbench::check_verbs(ibv_wr_complete(before), "ibv_wr_complete");
    ibv_wr_start(next);
    for (size_t b = 0; b < blocks; ++b) {
      next->wr_flags = 0;
      ibv_wr_rdma_write(next, next_.pushed_key, next_.pushed + static_cast<size_t>(place[b]) * block);
      ibv_wr_set_sge(next, in_->lkey, reinterpret_cast<uint64_t>(args.in) + b * block, static_cast<uint32_t>(block));
    }
    fabricbench::check_verbs(ibv_wr_complete(next), "ibv_wr_complete");
    tell(next, next_, offsetof(Words, arrived), IBV_SEND_SIGNALED);

    // Either may come first.
    for (int left = 2; left > 0; --left) {
      const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
      if (done.opcode != IBV_WC_RDMA_READ) continue;
      tell(before, before_, offsetof(Words, taken), IBV_SEND_SIGNALED);
      ++left;
    }
    wait_for<<<1, 1, 0, stream>>>(&words_->arrived, &words_->taken, call_);
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  fabricbench::QueuePair make_extended(uint32_t sends) const {
    ibv_qp_init_attr_ex wanted = {};
    wanted.send_cq = wanted.recv_cq = queue_.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {.max_send_wr = sends, .max_send_sge = 1, .max_inline_data = sizeof(uint64_t)};
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.pd = card_.domain();
    wanted.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE;
    fabricbench::QueuePair pair(
        fabricbench::check_verbs(ibv_create_qp_ex(card_.context(), &wanted), "ibv_create_qp_ex"));
    ibv_qp_attr a = {};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = fabricbench::Card::kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    fabricbench::check_verbs(
        ibv_modify_qp(pair.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
    return pair;
  }

  void tell(ibv_qp_ex* pair, const Door& neighbour, size_t word, unsigned flags) {
    ibv_wr_start(pair);
    pair->wr_flags = IBV_SEND_INLINE | flags;
    ibv_wr_rdma_write(pair, neighbour.words_key, neighbour.words + word);
    ibv_wr_set_inline_data(pair, &call_, sizeof call_);
    fabricbench::check_verbs(ibv_wr_complete(pair), "ibv_wr_complete");
  }

  size_t bytes_;
  uint64_t call_ = 0;
  Words* words_ = nullptr;
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion in_, pulled_, pushed_, words_region_;
  fabricbench::QueuePair to_before_, to_next_;
  Door before_ = {}, next_ = {};
};
// [/solution]
