#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <cstring>
#include <cuda/atomic>

// [solution]
// What a rank must know of its neighbours: where the rank before may write, and both its queue pairs.
struct Door {
  uint64_t inbox, arrived;
  uint32_t inbox_key, arrived_key;
  fabricbench::Endpoint from_before, to_next;
};

class Solution {
  using Word = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  using Slot = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

 public:
  class Port {
   public:
    // Puts the tile's number into the FIFO. The release is at system scope: the proxy is on the host, and behind it the
    // card reads the tile. Call and tile are one word, so that the proxy sees both or neither.
    __device__ void send(int channel, int step) {
      const uint64_t ticket = atomicAdd(tickets_, 1ull) % tiles_;
      const uint32_t tile = static_cast<uint32_t>(step) * channels_ + static_cast<uint32_t>(channel);
      Slot(fifo_[ticket]).store(uint64_t{call_} << 32 | tile, cuda::memory_order_release);
    }
    // A card writes the number of the call behind the tile, into the tile's flag.
    __device__ void wait(int channel, int step) {
      const uint32_t tile = static_cast<uint32_t>(step) * channels_ + static_cast<uint32_t>(channel);
      while (Word(arrived_[tile]).load(cuda::memory_order_acquire) != call_) {
      }
    }

   private:
    friend class Solution;
    uint64_t* fifo_;               // in pinned memory: the proxy polls it
    unsigned long long* tickets_;  // in device memory: only producers use it
    uint32_t* arrived_;            // in device memory: only this rank's kernel polls it, and a card writes it
    uint64_t tiles_;
    uint32_t channels_, call_;
  };

  Solution(const fabricbench::Rank& rank, const Boxes& boxes)
      : boxes_(boxes),
        card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 256, nullptr, nullptr, 0), "ibv_create_cq")),
        from_before_(card_.make_rc(queue_.get(), {.sends = 1})),
        to_next_(card_.make_rc(queue_.get(), {.sends = 2 * kMostUnderWay})) {
    port_.tiles_ = static_cast<uint64_t>(boxes.channels) * static_cast<uint64_t>(boxes.steps);
    port_.channels_ = static_cast<uint32_t>(boxes.channels);
    port_.call_ = 0;
    // A call has as many tiles as the FIFO has places, and serve() takes all of them: no producer waits for room.
    fabricbench::check_cuda(cudaHostAlloc(&port_.fifo_, sizeof(uint64_t) * port_.tiles_, cudaHostAllocMapped),
                            "cudaHostAlloc");
    std::memset(port_.fifo_, 0, sizeof(uint64_t) * port_.tiles_);
    const size_t arrived_bytes = sizeof(uint32_t) * port_.tiles_;
    fabricbench::check_cuda(cudaMalloc(&port_.tickets_, sizeof *port_.tickets_), "cudaMalloc");
    fabricbench::check_cuda(cudaMalloc(&port_.arrived_, arrived_bytes), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(port_.tickets_, 0, sizeof *port_.tickets_), "cudaMemset");
    fabricbench::check_cuda(cudaMemset(port_.arrived_, 0, arrived_bytes), "cudaMemset");
    fabricbench::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

    source_ = card_.reg(boxes.outbox, port_.tiles_ * static_cast<size_t>(boxes.tile_bytes));
    target_ = card_.reg(boxes.inbox, port_.tiles_ * static_cast<size_t>(boxes.tile_bytes));
    flags_ = card_.reg(port_.arrived_, arrived_bytes);
    const auto psn = static_cast<uint32_t>(rank.rank());
    const auto world = static_cast<size_t>(rank.world());
    const auto all = rank.all_gather(Door{reinterpret_cast<uint64_t>(boxes.inbox),
                                          reinterpret_cast<uint64_t>(port_.arrived_), target_->rkey, flags_->rkey,
                                          card_.endpoint_of(*from_before_, psn), card_.endpoint_of(*to_next_, psn)});
    next_ = all[(psn + 1) % world];
    // The next rank may be a call ahead: it needs our tiles, and not that we know of their completion.
    for (int i = 0; i < 2; ++i) post_receive();
    fabricbench::connect_rc(*to_next_, psn, next_.from_before);
    fabricbench::connect_rc(*from_before_, psn, all[(psn + world - 1) % world].to_next);
  }
  ~Solution() {
    flags_.reset();
    cudaFree(port_.arrived_);
    cudaFree(port_.tickets_);
    cudaFreeHost(port_.fifo_);
  }

  Port begin() {
    ++port_.call_;
    return port_;
  }

  // The proxy: between the kernel's FIFO and the card's completions, until all tiles of the call are gone.
  void serve() {
    // Our kernel of the last call has ended: the rank before may write into the inbox.
    post_ready();
    uint64_t taken = 0;
    for (complete_ = 0; complete_ < port_.tiles_;) {
      poll();
      if (static_cast<int32_t>(ready_ - port_.call_) < 0) continue;  // the next rank is still in the last call
      while (taken < port_.tiles_ && taken - complete_ < kMostUnderWay) {
        // Acquire: the tile was written before its number.
        const uint64_t request = Slot(port_.fifo_[taken]).load(cuda::memory_order_acquire);
        if (request >> 32 != port_.call_) break;
        post_tile(static_cast<uint32_t>(request));
        ++taken;
      }
    }
  }

 private:
  enum Work : uint64_t { kReadySent, kReady, kTile };  // names of work requests
  static constexpr uint32_t kMostUnderWay = 32;      // tiles

  void post_receive() {
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = kReady;
    fabricbench::check_verbs(ibv_post_recv(to_next_.get(), &work, &bad), "ibv_post_recv");
  }

  // A send without data. That of the last call has come long ago, but has its place in the queue until it is polled.
  void post_ready() {
    while (!is_ready_sent_) poll();
    is_ready_sent_ = false;
    ibv_send_wr work = {}, *bad = nullptr;
    work.opcode = IBV_WR_SEND;
    work.wr_id = kReadySent;
    work.send_flags = IBV_SEND_SIGNALED;
    fabricbench::check_verbs(ibv_post_send(from_before_.get(), &work, &bad), "ibv_post_send");
  }

  // The tile, and behind it, on the same queue pair, its flag: a card writes them in this order. The number is inline,
  // so that it needs no memory that lives until the card has read it.
  void post_tile(uint32_t tile) {
    const uint64_t offset = uint64_t{tile} * static_cast<uint64_t>(boxes_.tile_bytes);
    uint32_t call = port_.call_;
    ibv_sge data = {reinterpret_cast<uint64_t>(boxes_.outbox) + offset, static_cast<uint32_t>(boxes_.tile_bytes),
                    source_->lkey};
    ibv_sge number = {reinterpret_cast<uint64_t>(&call), sizeof call, 0};
    ibv_send_wr work = {}, flag = {}, *bad = nullptr;
    work.next = &flag;
    work.opcode = flag.opcode = IBV_WR_RDMA_WRITE;
    work.sg_list = &data;
    flag.sg_list = &number;
    work.num_sge = flag.num_sge = 1;
    work.wr.rdma = {next_.inbox + offset, next_.inbox_key};
    flag.wr.rdma = {next_.arrived + tile * sizeof call, next_.arrived_key};
    flag.wr_id = kTile;
    flag.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
    fabricbench::check_verbs(ibv_post_send(to_next_.get(), &work, &bad), "ibv_post_send");
  }

  // One completion, if there is one. The proxy does not wait here: it has the FIFO to look at.
  void poll() {
    ibv_wc done = {};
    if (ibv_poll_cq(queue_.get(), 1, &done) == 0) return;
    if (done.status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(done.status));
    if (done.wr_id == kReadySent) is_ready_sent_ = true;
    if (done.wr_id == kTile) ++complete_;
    if (done.wr_id == kReady) {
      ++ready_;
      post_receive();
    }
  }

  Boxes boxes_;
  Port port_;
  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  fabricbench::QueuePair from_before_, to_next_;
  fabricbench::MemoryRegion source_, target_, flags_;
  Door next_ = {};
  uint64_t complete_ = 0;  // tiles of this call that have arrived
  uint32_t ready_ = 0;     // calls for which the next rank is ready
  bool is_ready_sent_ = true;
};
// [template]
//| class Solution {
//|  public:
//|   class Port {
//|    public:
//|     __device__ void send(int channel, int step) {
//|       // TODO: have the tile sent to the next rank
//|     }
//|     __device__ void wait(int channel, int step) {
//|       // TODO: wait for the tile of the rank before
//|     }
//|   };
//|
//|   Solution(const fabricbench::Rank& rank, const Boxes& boxes) {
//|     // TODO: open a card, register memory, connect queue pairs
//|   }
//|   Port begin() { return {}; }
//|   void serve() {
//|     // TODO: send what the kernel asks for
//|   }
//| };
// [/solution]
