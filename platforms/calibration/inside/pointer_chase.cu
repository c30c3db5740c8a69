// Latency of a load that the next one depends on: one thread follows pointers.
//   l1          8 KiB, cached in L1
//   l2          4 MiB in lines at random, past L1
//   dram        256 MiB in lines at random, L2 emptied before
//   shared      shared memory of the block
//   dsmem N     shared memory of the other blocks of a cluster of N, mean of them; addresses as mapa gives them
//   dsmem_index N   the same by index into what map_shared_rank gives
//   self N, self_index N   the block's own memory through the cluster's window
#include <cooperative_groups.h>

#include "measure.h"

constexpr int kHops = 256;  // without a loop

struct ThroughL1 {
  static __device__ void hop(uint64_t& p) { asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p)::"memory"); }
};
struct ThroughL2 {
  static __device__ void hop(uint64_t& p) { asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory"); }
};

// A link of the chain at each of these nodes. Nodes between them are never touched.
__global__ void link_nodes(char* memory, const unsigned* nodes, int count, size_t pitch) {
  for (int k = static_cast<int>(threadIdx.x); k < count; k += static_cast<int>(blockDim.x)) {
    *reinterpret_cast<char**>(memory + nodes[k] * pitch) = memory + nodes[(k + 1) % count] * pitch;
  }
}

// The last pass is measured: a launch begins with an empty L1, and without instructions.
template <class Through>
__global__ void chase(const char* first, int passes, Span* span, uint64_t* sink) {
  uint64_t p = reinterpret_cast<uint64_t>(first);
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    const long long begin = now();
#pragma unroll
    for (int k = 0; k < kHops; ++k) Through::hop(p);
    const long long end = now();
    *span = {begin, end};
  }
  *sink = p;
}

// Lines of 128 bytes in an order without a pattern; as many as there are hops.
template <class Through>
double chase_lines(size_t bytes, bool cold) {
  constexpr size_t kPitch = 128;
  const auto lines = static_cast<unsigned>(bytes / kPitch);
  std::vector<unsigned> nodes;
  for (unsigned k = 0, node = 0; k < kHops; ++k, node = (node * 1664525u + 1013904223u) % lines) nodes.push_back(node);
  // The order visits every line before it repeats one; a short chain is closed where it repeats.
  for (size_t k = 1; k < nodes.size(); ++k) {
    if (nodes[k] == nodes[0]) nodes.resize(k);
  }
  char* const memory = device_memory<char>(bytes);
  auto* const list = device_memory<unsigned>(nodes.size());
  auto* const sink = device_memory<uint64_t>(1);
  CHECK(cudaMemcpy(list, nodes.data(), nodes.size() * sizeof(unsigned), cudaMemcpyHostToDevice));
  link_nodes<<<1, 256>>>(memory, list, static_cast<int>(nodes.size()), kPitch);
  CHECK(cudaDeviceSynchronize());
  if (cold) empty_l2();
  const auto launch = [&](Span* span) { chase<Through><<<1, 1>>>(memory, cold ? 1 : 2, span, sink); };
  return whole_span(spans_of(1, launch, cold)) / kHops;
}

__global__ void chase_shared(Span* span, unsigned* sink) {
  __shared__ unsigned words[kHops];
  for (int k = 0; k < kHops; ++k) words[k] = shared_address(&words[(k + 1) % kHops]);
  unsigned p = shared_address(words);
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    const long long begin = now();
#pragma unroll
    for (int k = 0; k < kHops; ++k) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p)::"memory");
    const long long end = now();
    *span = {begin, end};
  }
  *sink = p;
}

__device__ unsigned in_cluster(unsigned address, unsigned rank) {
  asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(address) : "r"(rank));
  return address;
}

// Block 0 follows the pointers of block r into spans[r].
template <bool kByIndex>
__global__ void chase_cluster(Span* spans, unsigned* sink) {
  namespace cg = cooperative_groups;
  __shared__ unsigned words[kHops];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned mine = cluster.block_rank();
  for (int k = 0; k < kHops; ++k) {
    const int next = (k + 1) % kHops;
    words[k] = kByIndex ? static_cast<unsigned>(next) : in_cluster(shared_address(&words[next]), mine);
  }
  cluster.sync();
  // The first one again at the end: instructions are there then.
  if (mine == 0) {
#pragma unroll 1
    for (unsigned turn = 0; turn <= cluster.num_blocks(); ++turn) {
      const unsigned rank = turn % cluster.num_blocks();
      unsigned p = kByIndex ? 0 : in_cluster(shared_address(words), rank);
      const unsigned* const there = cluster.map_shared_rank(words, rank);
      const long long begin = now();
#pragma unroll
      for (int k = 0; k < kHops; ++k) {
        if constexpr (kByIndex)
          p = there[p];
        else
          asm volatile("ld.shared::cluster.u32 %0, [%0];" : "+r"(p)::"memory");
      }
      const long long end = now();
      *sink = p;
      spans[rank] = {begin, end};
    }
  }
  cluster.sync();
}

template <bool kByIndex>
double chase_blocks(int blocks, bool own) {
  auto* const sink = device_memory<unsigned>(1);
  const auto spans = spans_of(static_cast<size_t>(blocks), [&](Span* all) {
    launch_clusters(chase_cluster<kByIndex>, blocks, 1, 0, blocks, all, sink);
  });
  if (own) return whole_span({spans[0]}) / kHops;
  double sum = 0;
  for (size_t rank = 1; rank < spans.size(); ++rank) sum += whole_span({spans[rank]});
  return sum / kHops / (blocks - 1);
}

int main(int count, char** values) {
  Arguments arguments(count, values, "pointer_chase l1|l2|dram|shared|dsmem N|dsmem_index N|self N|self_index N");
  const std::string where = arguments.text();
  double cycles = 0;
  if (where == "l1") {
    cycles = chase_lines<ThroughL1>(8192, false);
  } else if (where == "l2") {
    cycles = chase_lines<ThroughL2>(size_t{4} << 20, false);
  } else if (where == "dram") {
    cycles = chase_lines<ThroughL2>(size_t{256} << 20, true);
  } else if (where == "shared") {
    auto* const sink = device_memory<unsigned>(1);
    cycles = whole_span(spans_of(1, [&](Span* span) { chase_shared<<<1, 1>>>(span, sink); })) / kHops;
  } else if (where == "dsmem" || where == "self") {
    cycles = chase_blocks<false>(arguments.number(), where == "self");
  } else if (where == "dsmem_index" || where == "self_index") {
    cycles = chase_blocks<true>(arguments.number(), where == "self_index");
  } else {
    arguments.refuse(where);
  }
  report(cycles, "cycles");
}
