#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cuda/atomic>

// [solution]
class Solution {
  // Items are numbered from 0 through all calls; item i lies in slot i % capacity. Numbers are never reset, and 64 bits
  // do not wrap.
  struct alignas(32) Slot {
    Item item;
    uint64_t filled;  // 1 + the number of the item that is in it
  };
  // In pinned memory, which both sides see.
  struct Shared {
    alignas(128) uint64_t popped;  // how many the host has taken
  };
  // In device memory: only producers use it.
  struct Local {
    alignas(128) uint64_t tickets;  // how many numbers were given out
    alignas(128) uint64_t popped;   // what a producer has last seen of Shared::popped
  };

  using SystemWord = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;
  using DeviceWord = cuda::atomic_ref<uint64_t, cuda::thread_scope_device>;

 public:
  class Queue {
   public:
    __device__ void push(const Item& item) {
      const uint64_t number = DeviceWord(local_->tickets).fetch_add(1, cuda::memory_order_relaxed);
      Slot& slot = slots_[number % capacity_];
      // Threads of one warp may wait for each other here: the consumer takes items in order, and the one it needs may
      // be the neighbour's. So a lane that has room writes at once, inside of the loop; behind it, the warp might wait
      // for all its threads first.
      for (bool pushed = false; !pushed;) {
        if (!has_room(number)) continue;
        slot.item = item;
        // The host sees the number only together with the item.
        SystemWord(slot.filled).store(number + 1, cuda::memory_order_release);
        pushed = true;
      }
    }

   private:
    friend class Solution;

    // Acquires what the host released when it emptied the slot: its reads are over. Host memory is far away, so
    // producers share what one of them has seen there; a release to the others hands on what it has acquired.
    __device__ bool has_room(uint64_t number) const {
      const DeviceWord known(local_->popped);
      if (number < known.load(cuda::memory_order_acquire) + capacity_) return true;
      const uint64_t popped = SystemWord(shared_->popped).load(cuda::memory_order_acquire);
      if (number >= popped + capacity_) return false;
      known.fetch_max(popped, cuda::memory_order_release);
      return true;
    }

    Slot* slots_;
    Shared* shared_;
    Local* local_;
    uint64_t capacity_;
  };

  Solution(const fabricbench::Rank&, int capacity) {
    queue_.capacity_ = static_cast<uint64_t>(capacity);
    fabricbench::check_cuda(cudaHostAlloc(&queue_.slots_, sizeof(Slot) * queue_.capacity_, cudaHostAllocMapped),
                            "cudaHostAlloc");
    fabricbench::check_cuda(cudaHostAlloc(&queue_.shared_, sizeof(Shared), cudaHostAllocMapped), "cudaHostAlloc");
    fabricbench::check_cuda(cudaMalloc(&queue_.local_, sizeof(Local)), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(queue_.local_, 0, sizeof(Local)), "cudaMemset");
    fabricbench::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    for (uint64_t i = 0; i < queue_.capacity_; ++i) queue_.slots_[i].filled = 0;
    queue_.shared_->popped = 0;
  }
  ~Solution() {
    cudaFreeHost(queue_.slots_);
    cudaFreeHost(queue_.shared_);
    cudaFree(queue_.local_);
  }
  Solution(const Solution&) = delete;
  Solution& operator=(const Solution&) = delete;

  Queue queue() const { return queue_; }

  bool pop(Item& item) {
    Slot& slot = queue_.slots_[popped_ % queue_.capacity_];
    if (SystemWord(slot.filled).load(cuda::memory_order_acquire) != popped_ + 1) return false;
    item = slot.item;
    SystemWord(queue_.shared_->popped).store(++popped_, cuda::memory_order_release);
    return true;
  }

 private:
  Queue queue_;
  uint64_t popped_ = 0;
};
// [template]
//| class Solution {
//|  public:
//|   class Queue {
//|    public:
//|     __device__ void push(const Item& item) {
//|       // TODO: put the item into the FIFO; wait while it is full
//|     }
//|   };
//|
//|   Solution(const fabricbench::Rank& rank, int capacity) {
//|     // TODO: set up
//|   }
//|   Queue queue() { return {}; }
//|   bool pop(Item& item) {
//|     // TODO: take an item out
//|     return false;
//|   }
//| };
// [/solution]
