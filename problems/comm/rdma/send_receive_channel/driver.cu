#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <stdexcept>

#include "args.h"

namespace proof {

constexpr int kMostSlots = 32;

// Messages that were received and not released, oldest first.
struct Held {
  const uint32_t* message[kMostSlots];
  uint32_t words[kMostSlots];
  int count;
};

// Memory of the GPU, cleared.
class Memory {
 public:
  explicit Memory(int64_t bytes) {
    fabricbench::check_cuda(cudaMalloc(&memory_, bytes), "cudaMalloc");
    fabricbench::check_cuda(cudaMemset(memory_, 0, bytes), "cudaMemset");
    fabricbench::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~Memory() { cudaFree(memory_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

// A word of pinned memory of the host.
class Word {
 public:
  Word() { fabricbench::check_cuda(cudaMallocHost(&word_, sizeof *word_), "cudaMallocHost"); }
  ~Word() { cudaFreeHost(word_); }
  Word(const Word&) = delete;
  Word& operator=(const Word&) = delete;
  uint32_t* get() const { return word_; }

 private:
  uint32_t* word_ = nullptr;
};

// A block for each message and its row.
__global__ void copy_rows(Held held, uint32_t* out, int64_t most) {
  const unsigned k = blockIdx.x;
  for (int64_t i = threadIdx.x; i < most; i += blockDim.x) {
    out[k * most + i] = i < held.words[k] ? held.message[k][i] : 0;
  }
}

}  // namespace proof

// Two channels from each rank to the next one: one for the messages, and one with a single slot, whose tokens make
// barriers. Tokens are in memory of the host.
template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : rounds_(rank.world() - 1),
        slots_(row_bytes(args) * args.slots),
        channel_(rank, args.in, row_bytes(args) * args.messages, slots_.get(), static_cast<int>(args.slots),
                 static_cast<int>(row_bytes(args))),
        tokens_(rank, token_.get(), 4, token_slot_.get(), 1, 4) {
    fabricbench::check_cuda(cudaMallocHost(&lengths_, sizeof(uint32_t) * args.messages), "cudaMallocHost");
    fabricbench::check_cuda(cudaMallocHost(&report_, sizeof(uint32_t) * (args.messages + 1)), "cudaMallocHost");
  }
  ~Driver() {
    cudaFreeHost(lengths_);
    cudaFreeHost(report_);
  }

  void run(const Args& args, cudaStream_t stream) {
    using fabricbench::check_cuda;
    check_cuda(
        cudaMemcpyAsync(lengths_, args.lengths, sizeof(uint32_t) * args.messages, cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    sent_ = received_ = 0;

    // All slots of the next rank are filled, and what came here is taken but not released: there is no room for more.
    const int64_t first = std::min(args.slots, args.messages);
    while (sent_ < first || received_ < first) {
      if (sent_ < first) send(args);
      if (received_ < first) receive();
    }
    barrier();
    report_[args.messages] = args.messages > args.slots && !send(args) ? 1 : 0;
    barrier();
    release(args, stream);
    // send() finds the credit by itself, and drain() the completion.
    if (sent_ < args.messages) {
      while (!send(args)) {
      }
      channel_.drain();
    }

    const int64_t group = (args.slots + 1) / 2;
    while (sent_ < args.messages || received_ < args.messages) {
      if (sent_ < args.messages) send(args);
      if (received_ < args.messages) receive();
      if (held_.count >= group || (held_.count > 0 && received_ == args.messages)) release(args, stream);
    }
    channel_.drain();
    check_cuda(
        cudaMemcpyAsync(args.report, report_, sizeof(uint32_t) * (args.messages + 1), cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  static int64_t row_bytes(const Args& args) { return 4 * args.most; }

  // Something has happened, or not: gives up if nothing happens any more.
  template <class T>
  T seen(T happened) {
    constexpr int kPatience = 100000;
    idle_ = happened ? 0 : idle_ + 1;
    if (idle_ > kPatience) throw std::runtime_error("send() and receive() have done nothing 100000 times in a row");
    return happened;
  }

  bool send(const Args& args) {
    const bool accepted = seen(channel_.send(row_bytes(args) * sent_, static_cast<int>(4 * lengths_[sent_])));
    if (accepted) ++sent_;
    return accepted;
  }

  void receive() {
    int bytes = 0;
    const void* const message = seen(channel_.receive(bytes));
    if (message == nullptr) return;
    held_.message[held_.count] = static_cast<const uint32_t*>(message);
    held_.words[held_.count++] = static_cast<uint32_t>(bytes) / 4;
    report_[received_++] = static_cast<uint32_t>(bytes);
  }

  // What is held has to be as it came until here.
  void release(const Args& args, cudaStream_t stream) {
    proof::copy_rows<<<held_.count, 256, 0, stream>>>(held_, args.out + args.most * (received_ - held_.count),
                                                      args.most);
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (; held_.count > 0; --held_.count) channel_.release();
  }

  // A token around the ring: when k have come, the k ranks before are here. Each is overwritten when it is drained.
  void barrier() {
    for (int k = 0; k < rounds_; ++k) {
      *token_.get() = ++round_;
      while (!seen(tokens_.send(0, 4))) {
      }
      tokens_.drain();
      *token_.get() = ~round_;
      int bytes = 0;
      const void* message = nullptr;
      while (message == nullptr) message = seen(tokens_.receive(bytes));
      if (bytes != 4 || *static_cast<const uint32_t*>(message) != round_)
        throw std::runtime_error("a message of the second object is not what was sent");
      tokens_.release();
    }
  }

  int rounds_;
  proof::Memory slots_;
  proof::Word token_, token_slot_;
  Solution channel_, tokens_;
  uint32_t *lengths_ = nullptr, *report_ = nullptr;
  int64_t sent_ = 0, received_ = 0;
  proof::Held held_ = {};
  uint32_t round_ = 0;  // of all barriers
  int idle_ = 0;
};
