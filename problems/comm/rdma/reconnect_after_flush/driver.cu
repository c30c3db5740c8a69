#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>
#include <fabricbench/verbs.h>

#include <vector>

#include "args.h"

// [interface]
struct ibv_pd;
// To add to a word of 8 bytes in the partner's memory, and to fetch what it was before.
struct Operation {
  uint64_t address, add;
  uint32_t key;
};
struct Result {
  uint64_t before = 0;   // what the word was; of no meaning if the operation was refused
  bool refused = false;  // by the partner's card
};
// [/interface]

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : operations_(static_cast<size_t>(args.operations)),
        counters_(static_cast<size_t>(args.counters)),
        solution_(rank, static_cast<int>(args.operations)) {
    fabricbench::check_cuda(cudaMalloc(&memory_, sizeof(uint64_t) * counters_), "cudaMalloc");
    // Leases of the same memory: the first ones of the words, more of them in each, and a key for each lease. Only this
    // rank knows how far they go.
    Lease mine = {reinterpret_cast<uint64_t>(memory_), {}};
    for (int k = 0; k < kLeases; ++k) {
      const size_t words = (counters_ * static_cast<size_t>(k + 1) + kLeases - 1) / kLeases;
      constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
      leases_[k].reset(fabricbench::check_verbs(
          ibv_reg_mr(solution_.domain(), memory_, sizeof(uint64_t) * words, kAccess), "ibv_reg_mr"));
      mine.keys[k] = leases_[k]->rkey;
    }
    const auto all = rank.all_gather(mine);
    partner_ = all[static_cast<size_t>((rank.rank() + rank.world() / 2) % rank.world())];
  }
  ~Driver() {
    for (auto& lease : leases_) lease.reset();
    cudaFree(memory_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto index = fetch(args.index, operations_, stream);
    const auto add = fetch(args.add, operations_, stream);
    const auto lease = fetch(args.lease, 1, stream);
    copy(memory_, args.initial, counters_, stream);
    std::vector<Operation> wanted(operations_);
    for (size_t i = 0; i < operations_; ++i) {
      const auto word = static_cast<uint64_t>(index[i]);
      wanted[i] = {partner_.address + sizeof(uint64_t) * word, add[i], partner_.keys[lease[0]]};
    }
    std::vector<Result> results(operations_);
    solution_.perform(wanted.data(), static_cast<int>(operations_), results.data());
    std::vector<uint64_t> before(operations_), refused(operations_);
    for (size_t i = 0; i < operations_; ++i) {
      before[i] = results[i].refused ? 0 : results[i].before;
      refused[i] = results[i].refused ? 1 : 0;
    }
    copy(args.before, before.data(), operations_, stream);
    copy(args.refused, refused.data(), operations_, stream);
    copy(args.after, memory_, counters_, stream);
  }

 private:
  static constexpr int kLeases = 8;
  struct Lease {
    uint64_t address;
    uint32_t keys[kLeases];
  };

  template <class T>
  static void copy(T* to, const T* from, size_t count, cudaStream_t stream) {
    fabricbench::check_cuda(cudaMemcpyAsync(to, from, sizeof(T) * count, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  template <class T>
  static std::vector<T> fetch(const T* tensor, size_t count, cudaStream_t stream) {
    std::vector<T> values(count);
    copy(values.data(), tensor, count, stream);
    return values;
  }

  size_t operations_, counters_;
  Solution solution_;
  uint64_t* memory_ = nullptr;
  fabricbench::MemoryRegion leases_[kLeases];
  Lease partner_ = {};
};
