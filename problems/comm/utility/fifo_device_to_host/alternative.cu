// [solution]
// Each slot says whose turn it is: t for the producer of item t, t + 1 for the consumer, then t + capacity for the next
// producer. Nothing counts what the host has taken.
class Solution {
  struct Slot {
    Item item;
    uint64_t turn;
  };
  using Word = cuda::atomic_ref<uint64_t, cuda::thread_scope_system>;

 public:
  struct Queue {
    Slot* slots;
    unsigned long long* tickets;
    uint64_t turns;

    __device__ void push(const Item& item) {
      const uint64_t number = atomicAdd(tickets, 1ull);
      Slot& slot = slots[number % (turns / 2)];
      // Turns of producers are even, so that a FIFO with one place can tell them from those of the consumer.
      for (bool pushed = false; !pushed;) {
        if (Word(slot.turn).load(cuda::memory_order_acquire) != 2 * number) continue;
        slot.item = item;
        Word(slot.turn).store(2 * number + 1, cuda::memory_order_release);
        pushed = true;
      }
    }
  };

  Solution(const fabricbench::Rank&, int capacity) {
    queue_.turns = 2 * static_cast<uint64_t>(capacity);
    fabricbench::check_cuda(cudaMallocManaged(&queue_.slots, sizeof(Slot) * capacity), "cudaMallocManaged");
    fabricbench::check_cuda(cudaMallocManaged(&queue_.tickets, sizeof *queue_.tickets), "cudaMallocManaged");
    for (int i = 0; i < capacity; ++i) queue_.slots[i].turn = 2 * static_cast<uint64_t>(i);
    *queue_.tickets = 0;
  }
  ~Solution() {
    cudaFree(queue_.slots);
    cudaFree(queue_.tickets);
  }

  Queue queue() const { return queue_; }

  bool pop(Item& item) {
    Slot& slot = queue_.slots[popped_ % (queue_.turns / 2)];
    if (Word(slot.turn).load(cuda::memory_order_acquire) != 2 * popped_ + 1) return false;
    item = slot.item;
    Word(slot.turn).store(2 * popped_ + queue_.turns, cuda::memory_order_release);
    ++popped_;
    return true;
  }

 private:
  Queue queue_{};
  uint64_t popped_ = 0;
};
// [/solution]
