#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cuda/atomic>
#include <vector>

#include "args.h"

// What is asked of the heap, and the kernels that fill and read blocks.
namespace proof {

using fabricbench::Peers;

constexpr int kSlots = 8;  // blocks at a time
constexpr int kMostWorld = 8;
constexpr int kThreads = 256;
constexpr int kSegment = 16;  // words in a row that one rank writes

struct Request {
  int slot;
  int64_t bytes, alignment;
};
struct Phase {
  std::vector<int> frees;  // slots; first
  std::vector<Request> allocations;
};

// oracle.cpp draws the same.
inline std::vector<Phase> make_phases(uint64_t seed, int64_t heap, int64_t count) {
  const auto below = [&seed](int64_t n) {
    uint64_t z = (seed += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<int64_t>((z ^ (z >> 31)) % static_cast<uint64_t>(n));
  };
  std::vector<Phase> phases(static_cast<size_t>(count));
  int64_t live[kSlots] = {};  // bytes, rounded up to 256
  int64_t total = 0;
  const auto free = [&](Phase& phase, int slot) {
    if (live[slot] == 0) return;
    phase.frees.push_back(slot);
    total -= live[slot];
    live[slot] = 0;
  };
  const auto allocate = [&](Phase& phase, int slot, int64_t bytes, int64_t alignment) {
    phase.allocations.push_back({slot, bytes, alignment});
    const int64_t rounded = (bytes + 255) / 256 * 256;
    if (rounded > heap - total) return;  // to be refused
    live[slot] = rounded;
    total += rounded;
  };
  const int64_t eighth = heap / kSlots;
  for (int64_t p = 0; p < count; ++p) {
    Phase& phase = phases[static_cast<size_t>(p)];
    const auto chosen = static_cast<int>(below(kSlots));
    if (p == 0) {  // to the brim
      for (int slot = 0; slot < kSlots; ++slot) allocate(phase, slot, eighth, 256);
    } else if (p == 1) {  // a hole, and a block that is too large for it
      free(phase, chosen);
      allocate(phase, chosen, eighth + 1, 16);
    } else if (p == 2) {  // a block that fits
      for (int slot = 0; slot < kSlots; ++slot) {
        if (live[slot] == 0) allocate(phase, slot, eighth - below(16), 16);
      }
    } else if (p == 3 || p == count - 1) {  // the whole heap, and not a byte more
      for (int slot = 0; slot < kSlots; ++slot) free(phase, slot);
      allocate(phase, chosen, heap, 256);
      allocate(phase, (chosen + 1) % kSlots, 1 + below(256), 16);
    } else {
      for (int slot = 0; slot < kSlots; ++slot) {
        if (p == 4 || below(3) == 0) free(phase, slot);
      }
      for (int slot = 0; slot < kSlots; ++slot) {
        int64_t most = heap / 16;
        for (int64_t halve = below(6); halve > 0; --halve) most /= 2;
        const int64_t bytes = 1 + below(most), alignment = int64_t{16} << below(5);
        if (live[slot] == 0 && below(4) != 0 && total + (bytes + 255) / 256 * 256 <= heap / 4) {
          allocate(phase, slot, bytes, alignment);
        }
      }
    }
  }
  return phases;
}

// The blocks that a kernel is about; without bytes there is none.
struct Blocks {
  uint8_t* at[kSlots][kMostWorld];
  int bytes[kSlots], first[kSlots];  // first: the word of `in` with which the contents begin
};

// A barrier of the blocks with one number on all ranks. All kernels of their streams before have ended then.
__device__ inline void barrier(const Peers<uint32_t>& flags, int rank, int world, uint32_t epoch) {
  __syncthreads();
  if (const int peer = static_cast<int>(threadIdx.x); peer < world) {
    using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
    const int row = static_cast<int>(blockIdx.x) * kMostWorld;
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
    Flag(flags.of[peer][row + rank]).store(epoch, cuda::memory_order_relaxed);
    while (Flag(flags.of[rank][row + peer]).load(cuda::memory_order_acquire) < epoch) {
    }
  }
  __syncthreads();
}

// One block.
__global__ void read_seed(Peers<uint32_t> flags, int rank, int world, uint32_t epoch, Peers<const uint32_t> in,
                          uint32_t* seed) {
  barrier(flags, rank, world, epoch);  // all inputs are there
  if (threadIdx.x > 0) return;
  uint32_t sum = 0;
  for (int r = 0; r < world; ++r) sum += *in.of[r] * static_cast<uint32_t>(2 * r + 1);
  *seed = sum;
}

// Segment g of the block on rank p is written by rank p + 1 + g % (world - 1), around the corner: never by its own.
// Block (slot).
__global__ void __launch_bounds__(kThreads)
    fill_blocks(Blocks blocks, const uint32_t* in, int in_words, int rank, int world) {
  const auto slot = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const int bytes = blocks.bytes[slot], words = bytes / 4, first = blocks.first[slot];
  if (bytes == 0) return;
  for (int p = 0; p < world; ++p) {
    if (p == rank) continue;
    const int first_segment = (rank - p - 1 + world) % world;
    uint8_t* const block = blocks.at[slot][p];
    int word = (first_segment + thread / kSegment * (world - 1)) * kSegment + thread % kSegment;
    for (; word < words; word += kThreads * (world - 1)) {
      const int from = first + word;
      reinterpret_cast<uint32_t*>(block)[word] = in[from < in_words ? from : from - in_words];
    }
    // The last bytes are less than a word.
    if (word == words && bytes % 4 != 0) {
      const uint32_t value = in[(first + word) % in_words];
      for (int k = 0; k < bytes % 4; ++k) block[4 * word + k] = static_cast<uint8_t>(value >> (8 * k));
    }
  }
}

// Block (slot).
__global__ void __launch_bounds__(kThreads) digest_blocks(Peers<uint32_t> flags, int rank, int world, uint32_t epoch,
                                                          Blocks blocks, const uint32_t* before, uint32_t* out) {
  const auto slot = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const int bytes = blocks.bytes[slot], words = bytes / 4;
  __shared__ uint32_t digest;
  if (thread == 0) digest = bytes == 0 ? before[slot] : static_cast<uint32_t>(bytes);
  barrier(flags, rank, world, epoch);  // all ranks have filled my blocks

  const uint8_t* const block = blocks.at[slot][rank];
  uint32_t part = 0;
  const auto add = [&part](uint32_t value, int word) {
    part += value * (static_cast<uint32_t>(word) * 0x9E3779B1u | 1u);
  };
  for (int word = thread; word < words; word += kThreads) add(reinterpret_cast<const uint32_t*>(block)[word], word);
  if (thread == 0) {
    uint32_t rest = 0;
    for (int k = 0; k < bytes % 4; ++k) rest |= static_cast<uint32_t>(block[4 * words + k]) << (8 * k);
    add(rest, words);
  }
  atomicAdd(&digest, part);
  barrier(flags, rank, world, epoch + 1);  // all ranks have read theirs: what will be freed may be written again
  if (thread == 0) out[slot] = digest;
}

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        flags_(rank, sizeof(uint32_t) * proof::kSlots * proof::kMostWorld),
        inputs_(rank, args.in),
        heap_(rank, args.heap) {
    fabricbench::check_cuda(cudaHostAlloc(&seed_, sizeof *seed_, cudaHostAllocMapped), "cudaHostAlloc");
  }
  ~Driver() { cudaFreeHost(seed_); }

  void run(const Args& args, cudaStream_t stream) {
    const auto flags = flags_.peers<uint32_t>();
    proof::read_seed<<<1, 32, 0, stream>>>(flags, rank_, world_, ++epoch_, inputs_.peers<const uint32_t>(), seed_);
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");

    std::vector<int64_t> offsets(proof::kSlots, -1);  // -1: no block
    proof::Blocks live{};
    int64_t number = 0;  // of requests
    uint32_t* out = args.out;
    for (const proof::Phase& phase : proof::make_phases(*seed_, args.heap, args.phases)) {
      for (const int slot : phase.frees) release(offsets, live, slot);
      std::vector<char> is_new(proof::kSlots);
      for (const proof::Request& request : phase.allocations) {
        const int64_t offset = heap_.allocate(request.bytes, request.alignment);
        const int slot = request.slot;
        offsets[static_cast<size_t>(slot)] = offset;
        live.first[slot] = static_cast<int>(++number * 977 % (args.heap / 4));
        if (offset < 0 || offset % request.alignment != 0 || offset > args.heap - request.bytes) continue;
        live.bytes[slot] = static_cast<int>(request.bytes);
        for (int r = 0; r < world_; ++r) live.at[slot][r] = static_cast<uint8_t*>(heap_.address(r, offset));
        is_new[static_cast<size_t>(slot)] = 1;
      }
      proof::Blocks fresh = live;
      for (int slot = 0; slot < proof::kSlots; ++slot) {
        if (is_new[static_cast<size_t>(slot)] == 0) fresh.bytes[slot] = 0;
      }
      proof::fill_blocks<<<proof::kSlots, proof::kThreads, 0, stream>>>(fresh, args.in, static_cast<int>(args.heap / 4),
                                                                        rank_, world_);
      proof::digest_blocks<<<proof::kSlots, proof::kThreads, 0, stream>>>(
          flags, rank_, world_, epoch_ + 1, live, out == args.out ? out : out - proof::kSlots, out);
      epoch_ += 2;
      fabricbench::check_cuda(cudaGetLastError(), "launch");
      out += proof::kSlots;
    }
    for (int slot = 0; slot < proof::kSlots; ++slot) release(offsets, live, slot);
  }

 private:
  void release(std::vector<int64_t>& offsets, proof::Blocks& live, int slot) {
    int64_t& offset = offsets[static_cast<size_t>(slot)];
    if (offset >= 0) heap_.free(offset);
    offset = -1;
    live.bytes[slot] = 0;
  }

  int rank_, world_;
  uint32_t epoch_ = 0;
  uint32_t* seed_ = nullptr;  // both sides see it
  fabricbench::PeerMemory flags_, inputs_;
  Solution heap_;
};
