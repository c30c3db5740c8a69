// Collectives by bulk copies (TMA): one warp of each block moves tiles through shared memory. Barriers in kernels
// of their own before and after; the host waits for the last.
//   all_gather   tiles go to the multicast address; the size is that of the output
//   all_to_all   tiles go to the peers; the size is that of one GPU's input
#include "common/peer_barrier.h"
#include "common/multicast.h"

constexpr int kBlocks = 128, kStages = 4, kTile = 16384;

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

struct Ring {
  alignas(128) char tiles[kStages][kTile];
  alignas(8) uint64_t filled[kStages];
};

// Tiles of `from` that this block looks after, by what store(tile, its bytes in shared memory) says. One thread does it all: the copies are
// asynchronous, and kStages of them are in flight.
template <class Store>
__device__ void stream_tiles(const char* from, long tiles, Store store) {
  extern __shared__ char memory[];
  Ring& ring = *reinterpret_cast<Ring*>((reinterpret_cast<uintptr_t>(memory) + 127) & ~uintptr_t{127});
  if (threadIdx.x != 0) return;
  for (int s = 0; s < kStages; ++s)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&ring.filled[s])) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  const auto load = [&](long k) {
    const int s = static_cast<int>(k % kStages);
    const long tile = blockIdx.x + k * gridDim.x;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&ring.filled[s])), "r"(kTile)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(ring.tiles[s])),
                 "l"(from + tile * kTile), "r"(kTile), "r"(shared_address(&ring.filled[s]))
                 : "memory");
  };
  const long own = (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x;
  for (long k = 0; k < kStages - 1 && k < own; ++k) load(k);
  for (long k = 0; k < own; ++k) {
    const int s = static_cast<int>(k % kStages);
    const uint32_t phase = static_cast<uint32_t>(k / kStages) & 1;
    asm volatile(
        "{\n.reg .pred p;\nwait: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra wait;\n}" ::"r"(
            shared_address(&ring.filled[s])),
        "r"(phase)
        : "memory");
    store(blockIdx.x + k * gridDim.x, shared_address(ring.tiles[s]));
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    // The stage that is loaded next must have been read.
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    if (k + kStages - 1 < own) load(k + kStages - 1);
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__global__ void all_gather(const char* mine, char* all, long tiles) {
  stream_tiles(mine, tiles, [&](long tile, uint32_t bytes) {
    asm volatile("multimem.cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(all + tile * kTile), "r"(bytes),
                 "r"(kTile)
                 : "memory");
  });
}

// Tile after tile goes to another peer.
__global__ void all_to_all(const char* in, Peers<char> outputs, long tiles, int rank, int world) {
  const long part = tiles / world;
  stream_tiles(in, tiles, [&](long tile, uint32_t bytes) {
    const long peer = (tile + rank) % world, index = tile / world;
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                     outputs.of[peer] + (rank * part + index) * kTile),
                 "r"(bytes), "r"(kTile)
                 : "memory");
  });
}
__global__ void barrier(PeerBarrier peer_barrier, unsigned int epoch) { peer_barrier.sync(epoch); }

int main(int count, char** values) {
  const Arguments arguments(count, values);
  const bool gathers = arguments.algorithm == "all_gather";
  const int memory = sizeof(Ring) + 128;
  measure_all(arguments, [=](const Gpu& gpu, long bytes) {
    CHECK(cudaFuncSetAttribute(all_gather, cudaFuncAttributeMaxDynamicSharedMemorySize, memory));
    CHECK(cudaFuncSetAttribute(all_to_all, cudaFuncAttributeMaxDynamicSharedMemorySize, memory));
    const long tiles = bytes / kTile / gpu.world;
    const Shared<Words> words(gpu.bootstrap, 1);
    const PeerBarrier peer_barrier(words.peers(), gpu.rank, gpu.world);
    const Multicast gathered(gpu, gathers ? static_cast<size_t>(bytes) : 1);
    const Shared<char> in(gpu.bootstrap, bytes), out(gpu.bootstrap, gathers ? 1 : bytes);
    unsigned int epoch = 0;
    return gpu.one_by_one(2, [&] {
      barrier<<<1, 32, 0, gpu.stream>>>(peer_barrier, ++epoch);
      if (gathers) {
        all_gather<<<kBlocks, 32, memory, gpu.stream>>>(in.mine(), gathered.all<char>(gpu.rank * tiles * kTile), tiles);
      } else {
        all_to_all<<<kBlocks, 32, memory, gpu.stream>>>(in.mine(), out.peers(), tiles * gpu.world, gpu.rank, gpu.world);
      }
      barrier<<<1, 32, 0, gpu.stream>>>(peer_barrier, ++epoch);
    });
  });
}
