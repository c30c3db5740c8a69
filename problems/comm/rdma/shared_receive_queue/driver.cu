#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <arpa/inet.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "args.h"

namespace proof {

constexpr int kMostSlots = 64;

// Messages that were received and not released, in the order of arrival.
struct Held {
  const void* message[kMostSlots];
  uint32_t words[kMostSlots];
  int64_t number[kMostSlots];
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

// All ranks have come to it. It has connections of its own.
class Barrier {
 public:
  explicit Barrier(const fabricbench::Rank& rank)
      : card_(rank),
        queue_(fabricbench::check_verbs(ibv_create_cq(card_.context(), 64, nullptr, nullptr, 0), "ibv_create_cq")),
        pairs_(static_cast<size_t>(rank.world())) {
    const auto me = static_cast<uint32_t>(rank.rank());
    const size_t world = pairs_.size();
    std::vector<fabricbench::Endpoint> mine(world), all(world * world);
    for (size_t r = 0; r < world; ++r) {
      if (r == me) continue;
      pairs_[r] = card_.make_rc(queue_.get(), {.sends = 4, .receives = 4, .pieces = 1});
      mine[r] = card_.endpoint_of(*pairs_[r], me);
      for (int k = 0; k < 2; ++k) post_receive(*pairs_[r]);
    }
    rank.all_gather(mine.data(), world * sizeof mine[0], all.data());
    for (size_t r = 0; r < world; ++r) {
      if (r != me) fabricbench::connect_rc(*pairs_[r], me, all[r * world + me]);
    }
  }

  // Another rank may come to the next one before a third has come to this one: they are told apart by their parity.
  void pass() {
    const int others = static_cast<int>(pairs_.size()) - 1;
    for (const fabricbench::QueuePair& pair : pairs_) {
      if (!pair) continue;
      post_receive(*pair);
      ibv_send_wr work = {}, *bad = nullptr;
      work.opcode = IBV_WR_SEND_WITH_IMM;
      work.imm_data = htonl(parity_);
      work.send_flags = IBV_SEND_SIGNALED;
      fabricbench::check_verbs(ibv_post_send(pair.get(), &work, &bad), "ibv_post_send");
    }
    for (int sent = 0; came_[parity_] < others || sent < others;) {
      const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
      if (done.opcode == IBV_WC_SEND) {
        ++sent;
      } else {
        ++came_[ntohl(done.imm_data)];
      }
    }
    came_[parity_] = 0;
    parity_ ^= 1;
  }

 private:
  static void post_receive(ibv_qp& pair) {
    ibv_recv_wr work = {}, *bad = nullptr;
    fabricbench::check_verbs(ibv_post_recv(&pair, &work, &bad), "ibv_post_recv");
  }

  fabricbench::Card card_;
  fabricbench::CompletionQueue queue_;
  std::vector<fabricbench::QueuePair> pairs_;
  uint32_t parity_ = 0;
  int came_[2] = {};
};

// A block for each message and its row.
__global__ void copy_rows(Held held, uint32_t* out, int64_t most) {
  const unsigned k = blockIdx.x;
  const auto* const message = static_cast<const uint32_t*>(held.message[k]);
  uint32_t* const row = out + held.number[k] * most;
  for (int64_t i = threadIdx.x; i < most; i += blockDim.x) row[i] = i < held.words[k] ? message[i] : 0;
}

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        came_from_(static_cast<size_t>(rank.world())),
        barrier_(rank),
        slots_(row_bytes(args) * args.slots),
        solution_(rank, args.in, row_bytes(args) * args.messages, slots_.get(), static_cast<int>(args.slots),
                  static_cast<int>(row_bytes(args)), static_cast<int>(args.messages)) {
    fabricbench::check_cuda(cudaMallocHost(&plan_, 3 * sizeof(uint32_t) * args.messages), "cudaMallocHost");
    fabricbench::check_cuda(cudaMallocHost(&report_, 4 * sizeof(uint32_t) * args.messages), "cudaMallocHost");
  }
  ~Driver() {
    cudaFreeHost(plan_);
    cudaFreeHost(report_);
  }

  void run(const Args& args, cudaStream_t stream) {
    using fabricbench::check_cuda;
    check_cuda(cudaMemcpyAsync(plan_, args.plan, 3 * sizeof(uint32_t) * args.messages, cudaMemcpyDeviceToHost, stream),
               "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (int64_t m = 0; m < args.messages; ++m) {
      const uint32_t* const row = plan_ + 3 * m;
      const int to = (rank_ + static_cast<int>(row[0])) % static_cast<int>(came_from_.size());
      solution_.send(to, row_bytes(args) * m, static_cast<int>(4 * row[1]), row[2]);
    }
    std::fill(came_from_.begin(), came_from_.end(), 0);
    // First until all slots are taken. Later half of them are held, so that messages come meanwhile.
    int64_t group = args.slots;
    for (int64_t received = 0; received < args.messages;) {
      if (receive(args)) ++received;
      if (held_.count == group || received == args.messages) {
        release(args, stream);
        group = (args.slots + 1) / 2;
      }
    }
    solution_.drain();
    barrier_.pass();
    check_cuda(
        cudaMemcpyAsync(args.report, report_, 4 * sizeof(uint32_t) * args.messages, cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  static int64_t row_bytes(const Args& args) { return 4 * args.most; }

  bool receive(const Args& args) {
    int from = -1, bytes = 0;
    uint32_t tag = 0;
    const void* const message = solution_.receive(from, bytes, tag);
    constexpr int kPatience = 100000;
    idle_ = message != nullptr ? 0 : idle_ + 1;
    if (idle_ > kPatience) throw std::runtime_error("receive() has found nothing 100000 times in a row");
    if (message == nullptr) return false;
    const int64_t number = tag & 0xff;
    if (from < 0 || from >= static_cast<int>(came_from_.size()) || number >= args.messages)
      throw std::runtime_error("receive() told a rank or a tag that does not exist");
    uint32_t* const row = report_ + 4 * number;
    row[0] = static_cast<uint32_t>(from);
    row[1] = static_cast<uint32_t>(bytes);
    row[2] = tag;
    row[3] = came_from_[static_cast<size_t>(from)]++;
    held_.message[held_.count] = message;
    held_.words[held_.count] = row[1] / 4;
    held_.number[held_.count++] = number;
    return true;
  }

  // What is held has to be as it came until here. The last one that came is released first.
  void release(const Args& args, cudaStream_t stream) {
    proof::copy_rows<<<held_.count, 256, 0, stream>>>(held_, args.out, args.most);
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    while (held_.count > 0) solution_.release(held_.message[--held_.count]);
  }

  int rank_;
  std::vector<uint32_t> came_from_;  // by rank, in this call
  proof::Barrier barrier_;
  proof::Memory slots_;
  Solution solution_;
  uint32_t *plan_ = nullptr, *report_ = nullptr;
  proof::Held held_ = {};
  int idle_ = 0;
};
