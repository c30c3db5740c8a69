// [solution]
// Nothing in chunks, and all of it pulled: a rank reads slices of its neighbours' inputs, its card reads the partner's
// sums, and neighbours read the results of each other. Messages of two kinds, by send and receive through a completion
// channel, tell the partner that the sums may be read, and that they were read. Barriers of the node's kernels are
// counters.
using Counter = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

__global__ void barrier(Neighbours<uint32_t> counters, int local, int ranks, uint32_t epoch) {
  for (int peer = 0; peer < ranks; ++peer) Counter(*counters.of[peer]).fetch_add(1, cuda::memory_order_release);
  while (Counter(*counters.of[local]).load(cuda::memory_order_acquire) < epoch * static_cast<uint32_t>(ranks)) {
  }
}

__device__ int64_t index() { return blockIdx.x * int64_t{blockDim.x} + threadIdx.x; }

__global__ void add_inputs(Neighbours<const float> in, int ranks, float* sums, int64_t first, int64_t count) {
  for (int64_t i = index(); i < count; i += gridDim.x * int64_t{blockDim.x}) {
    float sum = 0;
    for (int peer = 0; peer < ranks; ++peer) sum += in.of[peer][first + i];
    sums[i] = sum;
  }
}

// Into the place of what came: the partner reads `sums`.
__global__ void add_partner(const float* sums, float* fetched, int64_t count) {
  for (int64_t i = index(); i < count; i += gridDim.x * int64_t{blockDim.x}) fetched[i] += sums[i];
}

__global__ void gather(Neighbours<const float> results, float* out, int64_t slice, int64_t n) {
  for (int64_t i = index(); i < n; i += gridDim.x * int64_t{blockDim.x}) out[i] = results.of[i / slice][i % slice];
}

// What a rank tells its partner.
struct Page {
  uint64_t sums;
  uint32_t key;
  fabricbench::Endpoint end;
};

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : place_(rank),
        slice_((args.n + place_.ranks - 1) / place_.ranks),
        counter_(make<uint32_t>(1)),
        sums_(make<float>(slice_)),
        results_(make<float>(slice_)),
        counters_(std::make_unique<NodeMemory>(rank, place_, counter_)),
        inputs_(std::make_unique<NodeMemory>(rank, place_, args.in)),
        gathered_(std::make_unique<NodeMemory>(rank, place_, results_)),
        card_(rank),
        channel_(fabricbench::check_verbs(ibv_create_comp_channel(card_.context()), "ibv_create_comp_channel")),
        queue_(
            fabricbench::check_verbs(ibv_create_cq(card_.context(), 16, nullptr, channel_.get(), 0), "ibv_create_cq")),
        sums_region_(card_.reg(sums_, sizeof(float) * slice_)),
        results_region_(card_.reg(results_, sizeof(float) * slice_)),
        pair_(card_.make_rc(queue_.get())) {
    const Page mine = {reinterpret_cast<uint64_t>(sums_), sums_region_->rkey, card_.endpoint_of(*pair_, 77)};
    partner_ = rank.all_gather(mine)[static_cast<size_t>(place_.partner)];
    for (int i = 0; i < 4; ++i) post_receive();  // two messages of this call, two of the next one
    fabricbench::connect_rc(*pair_, 77, partner_.end);
    fabricbench::check_verbs(ibv_req_notify_cq(queue_.get(), 0), "ibv_req_notify_cq");
  }
  ~Solution() {
    gathered_.reset();
    inputs_.reset();
    counters_.reset();
    results_region_.reset();
    sums_region_.reset();
    cudaFree(counter_);
    cudaFree(sums_);
    cudaFree(results_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int64_t first = std::min(place_.local * slice_, args.n), count = std::min(slice_, args.n - first);
    const auto counters = counters_->all<uint32_t>();
    const auto blocks = static_cast<int>(std::min<int64_t>(64, args.n / 256 + 1));
    barrier<<<1, 1, 0, stream>>>(counters, place_.local, place_.ranks, ++epoch_);
    add_inputs<<<blocks, 256, 0, stream>>>(inputs_->all<const float>(), place_.ranks, sums_, first, count);
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    post(IBV_WR_SEND, 0);  // my sums may be read
    await(received_, ++expected_);
    post(IBV_WR_RDMA_READ, sizeof(float) * static_cast<size_t>(count));
    await(read_, ++reads_);
    post(IBV_WR_SEND, 0);  // yours are read
    add_partner<<<blocks, 256, 0, stream>>>(sums_, results_, count);
    barrier<<<1, 1, 0, stream>>>(counters, place_.local, place_.ranks, ++epoch_);
    gather<<<blocks, 256, 0, stream>>>(gathered_->all<const float>(), args.out, slice_, args.n);
    // No neighbour reads my results or my input any more.
    barrier<<<1, 1, 0, stream>>>(counters, place_.local, place_.ranks, ++epoch_);
    await(received_, ++expected_);  // the partner has read my sums
  }

 private:
  template <class T>
  static T* make(int64_t count) {
    T* memory = nullptr;
    fabricbench::check_cuda(cudaMalloc(&memory, sizeof(T) * static_cast<size_t>(count)), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(memory, 0, sizeof(T) * static_cast<size_t>(count)), "cudaMemset");
    fabricbench::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return memory;
  }

  void post_receive() {
    ibv_recv_wr work = {}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(pair_.get(), &work, &bad), "ibv_post_recv");
  }

  // All are signalled, and all completions are polled sooner or later: the queue never fills.
  void post(ibv_wr_opcode opcode, size_t bytes) {
    ibv_sge piece = {reinterpret_cast<uint64_t>(results_), static_cast<uint32_t>(bytes), results_region_->lkey};
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = opcode;
    work.sg_list = &piece;
    work.num_sge = bytes == 0 ? 0 : 1;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.rdma = {partner_.sums, partner_.key};
    fabricbench::check_verbs(ibv_post_send(pair_.get(), &work, &bad), "ibv_post_send");
  }

  // Polls, and sleeps until the next event if nothing is there. The next event is requested before the next poll, so
  // that none is lost.
  void await(uint32_t& counter, uint32_t until) {
    while (static_cast<int32_t>(counter - until) < 0) {
      ibv_wc done = {};
      if (ibv_poll_cq(queue_.get(), 1, &done) == 0) {
        ibv_cq* queue = nullptr;
        void* context = nullptr;
        fabricbench::check_verbs(ibv_get_cq_event(channel_.get(), &queue, &context), "ibv_get_cq_event");
        ibv_ack_cq_events(queue, 1);
        fabricbench::check_verbs(ibv_req_notify_cq(queue, 0), "ibv_req_notify_cq");
        continue;
      }
      if (done.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(done.status));
      if (done.opcode == IBV_WC_RECV) {
        ++received_;
        post_receive();
      } else if (done.opcode == IBV_WC_RDMA_READ) {
        ++read_;
      }
    }
  }

  Place place_;
  int64_t slice_;
  uint32_t* counter_;
  float *sums_, *results_;
  std::unique_ptr<NodeMemory> counters_, inputs_, gathered_;
  fabricbench::Card card_;
  fabricbench::CompletionChannel channel_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion sums_region_, results_region_;
  fabricbench::QueuePair pair_;
  Page partner_ = {};
  uint32_t epoch_ = 0, received_ = 0, expected_ = 0, read_ = 0, reads_ = 0;
};
// [/solution]
