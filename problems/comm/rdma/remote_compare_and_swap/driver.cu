#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <cstring>
#include <vector>

#include "args.h"

// [interface]
// The records of one rank, as all reach them: slot i begins at byte i * slot_bytes, with 8 bytes of lock; the words of
// the record follow.
struct Table {
  uint64_t slots;  // address, in the memory of the GPU
  uint32_t key;    // rkey
};

struct Shared {
  ibv_context* card;
  ibv_pd* domain;             // all keys are of this domain
  int64_t words, slot_bytes;  // of a record; of a slot
  std::vector<Table> tables;  // by rank
};
// [/interface]

// The tables, and a rival that makes updates as well.
namespace proof {

using fabricbench::check_cuda;
using fabricbench::check_verbs;

constexpr int kThreads = 128;
constexpr int kLockWords = 2;

// Block (slot).
__global__ void __launch_bounds__(kThreads)
    begin(uint32_t* table, int64_t stride, const uint32_t* start, int64_t words) {
  uint32_t* const slot = table + blockIdx.x * stride;
  if (threadIdx.x < kLockWords) slot[threadIdx.x] = 0;
  for (int64_t k = threadIdx.x; k < words; k += kThreads) slot[kLockWords + k] = start[blockIdx.x * words + k];
}

// Block (slot).
__global__ void __launch_bounds__(kThreads)
    end(const uint32_t* table, int64_t stride, uint32_t* out, int64_t words, uint32_t* free) {
  const uint32_t* const slot = table + blockIdx.x * stride;
  if (threadIdx.x == 0) free[blockIdx.x] = slot[0] == 0 && slot[1] == 0 ? 1 : 0;
  for (int64_t k = threadIdx.x; k < words; k += kThreads) out[blockIdx.x * words + k] = slot[kLockWords + k];
}

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        stride_((args.words + 1) / 2 * 2 + proof::kLockWords),
        card_(rank),
        table_(allocate(static_cast<size_t>(4 * stride_ * args.slots))),
        queue_(proof::check_verbs(ibv_create_cq(card_.context(), 256, nullptr, nullptr, 0), "ibv_create_cq")),
        table_region_(card_.reg(
            table_, static_cast<size_t>(4 * stride_ * args.slots),
            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)),
        record_(static_cast<size_t>(args.words)),
        record_region_(card_.reg(record_.data(), record_.size() * sizeof(uint32_t))),
        lock_region_(card_.reg(&lock_, sizeof lock_)) {
    for (int p = 0; p < world_; ++p) pairs_.push_back(card_.make_rc(queue_.get()));
    std::vector<fabricbench::Endpoint> mine, all(static_cast<size_t>(world_ * world_));
    for (const auto& pair : pairs_) mine.push_back(card_.endpoint_of(*pair, 0));
    rank.all_gather(mine.data(), mine.size() * sizeof mine[0], all.data());
    for (int p = 0; p < world_; ++p) {
      for (int k = 0; k < 4; ++k) post_receive(p);
      fabricbench::connect_rc(*pairs_[static_cast<size_t>(p)], 0, all[static_cast<size_t>(p * world_ + rank_)]);
    }
    seen_.resize(static_cast<size_t>(world_));
    const Table table = {reinterpret_cast<uint64_t>(table_), table_region_->rkey};
    shared_ = {card_.context(), card_.domain(), args.words, 4 * stride_, rank.all_gather(table)};
    solution_ = std::make_unique<Solution>(rank, shared_);
  }
  ~Driver() {
    solution_.reset();
    table_region_.reset();
    cudaFree(table_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto slots = static_cast<unsigned>(args.slots), world = static_cast<uint32_t>(world_);
    proof::begin<<<slots, proof::kThreads, 0, stream>>>(table_, stride_, args.start, args.words);
    std::vector<uint32_t> orders(static_cast<size_t>(args.updates));
    proof::check_cuda(
        cudaMemcpyAsync(orders.data(), args.orders, orders.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
    proof::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    barrier();  // all tables are there
    for (size_t i = 0; i < orders.size(); ++i) {
      const auto owner = static_cast<int>(orders[i] % world);
      const auto slot = static_cast<int64_t>(orders[i] / world % slots);
      if (i % 4 == 3) {
        rival_update(owner, slot, orders[i]);
      } else {
        solution_->update(owner, slot, orders[i]);
      }
    }
    barrier();  // all updates have been made
    proof::end<<<slots, proof::kThreads, 0, stream>>>(table_, stride_, args.out, args.words, args.free);
    proof::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  enum : uint64_t { kSent = 1 << 8 };  // names of work: this, or the rank from which a message came

  static uint32_t* allocate(size_t bytes) {
    uint32_t* memory = nullptr;
    proof::check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    return memory;
  }

  // Beside the solution, under the same locks. Before the record is right it is wrong for a while.
  void rival_update(int owner, int64_t slot, uint32_t value) {
    const Table& table = shared_.tables[static_cast<size_t>(owner)];
    const uint64_t at = table.slots + static_cast<uint64_t>(slot * 4 * stride_);
    const uint64_t holder = 1000 + static_cast<uint64_t>(rank_);
    const ibv_sge lock = {reinterpret_cast<uint64_t>(&lock_), sizeof lock_, lock_region_->lkey};
    const ibv_sge record = {reinterpret_cast<uint64_t>(record_.data()),
                            static_cast<uint32_t>(record_.size() * sizeof(uint32_t)), record_region_->lkey};
    do {
      ibv_send_wr take = request(IBV_WR_ATOMIC_CMP_AND_SWP);
      take.wr.atomic = {.remote_addr = at, .compare_add = 0, .swap = holder, .rkey = table.key};
      post(owner, take, lock);
      await_sends();
    } while (lock_ != 0);
    access(IBV_WR_RDMA_READ, owner, at + sizeof lock_, record);
    for (uint32_t& word : record_) word = ~word;
    access(IBV_WR_RDMA_WRITE, owner, at + sizeof lock_, record);
    for (size_t k = 0; k < record_.size(); ++k) record_[k] = ~record_[k] * (2 * (value + static_cast<uint32_t>(k)) + 1);
    access(IBV_WR_RDMA_WRITE, owner, at + sizeof lock_, record);
    ibv_send_wr release = request(IBV_WR_ATOMIC_CMP_AND_SWP);
    release.wr.atomic = {.remote_addr = at, .compare_add = holder, .swap = 0, .rkey = table.key};
    post(owner, release, lock);
    await_sends();
    if (lock_ != holder) throw std::runtime_error("a lock was taken from its holder");
  }
  void access(ibv_wr_opcode opcode, int owner, uint64_t at, const ibv_sge& piece) {
    ibv_send_wr work = request(opcode);
    work.wr.rdma = {.remote_addr = at, .rkey = shared_.tables[static_cast<size_t>(owner)].key};
    post(owner, work, piece);
    await_sends();
  }

  static ibv_send_wr request(ibv_wr_opcode opcode) {
    ibv_send_wr work = {};
    work.wr_id = kSent;
    work.opcode = opcode;
    work.send_flags = IBV_SEND_SIGNALED;
    return work;
  }
  void post(int peer, ibv_send_wr& work, ibv_sge piece) {
    ibv_send_wr* bad = nullptr;
    if (piece.length != 0) {
      work.sg_list = &piece;
      work.num_sge = 1;
    }
    proof::check_verbs(ibv_post_send(pairs_[static_cast<size_t>(peer)].get(), &work, &bad), "ibv_post_send");
    ++sending_;
  }
  void post_receive(int peer) {
    ibv_recv_wr work = {}, *bad = nullptr;
    work.wr_id = static_cast<uint64_t>(peer);
    proof::check_verbs(ibv_post_recv(pairs_[static_cast<size_t>(peer)].get(), &work, &bad), "ibv_post_recv");
  }
  void take_completion() {
    const ibv_wc done = fabricbench::wait_for_completion(queue_.get());
    if (done.wr_id == kSent) {
      --sending_;
    } else {
      ++seen_[done.wr_id];
      post_receive(static_cast<int>(done.wr_id));
    }
  }
  void await_sends() {
    while (sending_ > 0) take_completion();
  }
  // All ranks, through the cards.
  void barrier() {
    ++barriers_;
    for (int p = 0; p < world_; ++p) {
      ibv_send_wr word = request(IBV_WR_SEND);
      if (p != rank_) post(p, word, {});
    }
    await_sends();
    for (int p = 0; p < world_; ++p) {
      while (p != rank_ && seen_[static_cast<size_t>(p)] < barriers_) take_completion();
    }
  }

  int rank_, world_;
  int64_t stride_;  // of slots, in words
  fabricbench::Card card_;
  uint32_t* table_;
  fabricbench::CompletionQueue queue_;
  fabricbench::MemoryRegion table_region_;
  std::vector<uint32_t> record_;
  fabricbench::MemoryRegion record_region_;
  uint64_t lock_ = 0;
  fabricbench::MemoryRegion lock_region_;
  std::vector<fabricbench::QueuePair> pairs_;
  std::vector<int> seen_;
  int sending_ = 0, barriers_ = 0;
  Shared shared_;
  std::unique_ptr<Solution> solution_;
};
