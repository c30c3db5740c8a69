#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "args.h"

// [interface]
// The log of one rank, as others reach it.
struct Log {
  uint64_t counter;  // address of its counter: 8 bytes of host memory
  uint64_t places;   // address of its places, one behind the other, in the memory of the GPU
  uint32_t counter_key, places_key;
};

struct Shared {
  ibv_context* card;
  ibv_pd* domain;         // all keys are of this domain
  uint64_t items;         // address of this rank's items, one behind the other, in the memory of the GPU
  uint32_t items_key;     // lkey
  int64_t item_bytes;     // size of an item, and of a place
  uint64_t capacity;      // places of each log
  std::vector<Log> logs;  // by rank
};
// [/interface]

// The logs, what is appended, and a rival that takes places at the same time.
namespace proof {

using fabricbench::check_cuda;
using fabricbench::check_verbs;

constexpr uint32_t kMostRows = 4;  // of one append
constexpr int kThreads = 256;

// Block (place): a digest of the item that stands there is added at its number.
__global__ void __launch_bounds__(kThreads) read_log(const uint32_t* places, uint64_t first, uint64_t capacity,
                                                     int64_t words, uint32_t* out, uint32_t numbers) {
  const uint32_t* const item = places + (first + blockIdx.x) % capacity * words;
  if (item[0] >= numbers) return;
  uint32_t part = 0;
  for (int64_t w = 1 + threadIdx.x; w < words; w += kThreads)
    part += item[w] * (static_cast<uint32_t>(w) * 0x9E3779B1u | 1u);
  if (part != 0) atomicAdd(out + item[0], part);
}

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        item_bytes_(4 * args.words),
        capacity_(static_cast<uint64_t>((world_ - 1) * args.items + world_)),
        card_(rank),
        places_(allocate(capacity_ * static_cast<uint64_t>(item_bytes_))),
        queue_(proof::check_verbs(ibv_create_cq(card_.context(), 256, nullptr, nullptr, 0), "ibv_create_cq")),
        items_region_(card_.reg(args.in, static_cast<size_t>(args.items * item_bytes_))),
        places_region_(card_.reg(places_, capacity_ * static_cast<uint64_t>(item_bytes_))),
        desk_region_(card_.reg(
            desk_, sizeof desk_,
            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)),
        row_(static_cast<size_t>(args.words)),
        row_region_(card_.reg(row_.data(), static_cast<size_t>(item_bytes_))) {
    // Counters begin anywhere, beyond 32 bits.
    desk_[kCounter] = (uint64_t{0x12345678} << 32) + 977 * static_cast<uint64_t>(rank_);
    for (int p = 0; p < world_; ++p) pairs_.push_back(card_.make_rc(queue_.get()));
    std::vector<fabricbench::Endpoint> mine, all(static_cast<size_t>(world_ * world_));
    for (const auto& pair : pairs_) mine.push_back(card_.endpoint_of(*pair, 0));
    rank.all_gather(mine.data(), mine.size() * sizeof mine[0], all.data());
    for (int p = 0; p < world_; ++p) {
      for (int k = 0; k < 4; ++k) post_receive(p);
      fabricbench::connect_rc(*pairs_[static_cast<size_t>(p)], 0, all[static_cast<size_t>(p * world_ + rank_)]);
    }
    seen_.resize(static_cast<size_t>(world_));
    const Log log = {reinterpret_cast<uint64_t>(&desk_[kCounter]), reinterpret_cast<uint64_t>(places_),
                     desk_region_->rkey, places_region_->rkey};
    shared_ = {card_.context(),     card_.domain(), reinterpret_cast<uint64_t>(args.in),
               items_region_->lkey, item_bytes_,    capacity_,
               rank.all_gather(log)};
    solution_ = std::make_unique<Solution>(rank, shared_);
  }
  ~Driver() {
    solution_.reset();
    places_region_.reset();
    cudaFree(places_);
  }

  void run(const Args& args, cudaStream_t stream) {
    proof::check_cuda(cudaMemsetAsync(args.out, 0, sizeof(uint32_t) * numbers(args), stream), "cudaMemsetAsync");
    std::vector<uint32_t> control(static_cast<size_t>(args.items));
    proof::check_cuda(
        cudaMemcpy2DAsync(control.data(), sizeof(uint32_t), args.in + 1, static_cast<size_t>(item_bytes_),
                          sizeof(uint32_t), static_cast<size_t>(args.items), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpy2DAsync");
    proof::check_cuda(
        cudaMemcpyAsync(row_.data(), args.in, static_cast<size_t>(item_bytes_), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
    proof::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    barrier();  // all items are there, and all logs have been read

    const Log& next = shared_.logs[static_cast<size_t>((rank_ + 1) % world_)];
    ibv_send_wr take = request(IBV_WR_ATOMIC_FETCH_AND_ADD);
    ibv_sge ticket = {reinterpret_cast<uint64_t>(&desk_[kTicket]), sizeof desk_[kTicket], desk_region_->lkey};
    take.wr.atomic = {.remote_addr = next.counter, .compare_add = 1, .swap = 0, .rkey = next.counter_key};
    post((rank_ + 1) % world_, take, ticket);
    int64_t count = 0;
    for (int64_t i = 0; i < args.items; i += count) {
      const uint32_t word = control[static_cast<size_t>(i)];
      const auto around = static_cast<int>(word / proof::kMostRows % static_cast<uint32_t>(world_ - 1));
      count = std::min<int64_t>(args.items - i, 1 + word % proof::kMostRows);
      solution_->append((rank_ + 1 + around) % world_, i, count);
    }
    solution_->flush();
    await_sends();
    row_[0] = static_cast<uint32_t>(world_ * args.items + rank_);
    ibv_send_wr put = request(IBV_WR_RDMA_WRITE);
    ibv_sge row = {reinterpret_cast<uint64_t>(row_.data()), static_cast<uint32_t>(item_bytes_), row_region_->lkey};
    put.wr.rdma.remote_addr = next.places + desk_[kTicket] % capacity_ * static_cast<uint64_t>(item_bytes_);
    put.wr.rdma.rkey = next.places_key;
    post((rank_ + 1) % world_, put, row);
    await_sends();
    barrier();  // everything stands in the logs

    const uint64_t first = counted_ + desk_start(), taken = desk_[kCounter] - first;
    const auto here = static_cast<unsigned>(std::min(taken, capacity_));
    if (here > 0)
      proof::read_log<<<here, proof::kThreads, 0, stream>>>(places_, first, capacity_, args.words, args.out,
                                                            static_cast<uint32_t>(numbers(args)));
    desk_[kTaken] = taken;
    counted_ += taken;
    proof::check_cuda(cudaMemcpyAsync(args.taken, &desk_[kTaken], sizeof(uint64_t), cudaMemcpyHostToDevice, stream),
                      "cudaMemcpyAsync");
    proof::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  enum : int { kCounter, kTicket, kTaken, kWords };
  enum : uint64_t { kSent = 1 << 8 };  // names of work: this, or the rank from which a message came

  static uint32_t* allocate(uint64_t bytes) {
    uint32_t* memory = nullptr;
    proof::check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    proof::check_cuda(cudaMemset(memory, 0xff, bytes), "cudaMemset");
    proof::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return memory;
  }
  uint64_t desk_start() const { return (uint64_t{0x12345678} << 32) + 977 * static_cast<uint64_t>(rank_); }
  size_t numbers(const Args& args) const { return static_cast<size_t>(world_ * args.items + world_); }

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
  int64_t item_bytes_;
  uint64_t capacity_, counted_ = 0;
  fabricbench::Card card_;
  uint32_t* places_;
  fabricbench::CompletionQueue queue_;
  uint64_t desk_[kWords] = {};
  fabricbench::MemoryRegion items_region_, places_region_, desk_region_;
  std::vector<uint32_t> row_;
  fabricbench::MemoryRegion row_region_;
  std::vector<fabricbench::QueuePair> pairs_;
  std::vector<int> seen_;
  int sending_ = 0, barriers_ = 0;
  Shared shared_;
  std::unique_ptr<Solution> solution_;
};
