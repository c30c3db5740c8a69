#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <vector>

#include "args.h"

// [interface]
// Two paged caches in the memory of this rank's GPU. Page p of keys (part 0) or values (part 1) of a layer begins at
// byte
// ((2 * layer + part) * pool + p) * page_bytes.
struct Caches {
  const void* from;  // pages that this rank has computed, for the next rank
  void* to;          // where the rank before writes
  int layers;
  int pool;            // pages of each part of each layer
  int most_pages;      // of one request
  int64_t page_bytes;  // a multiple of 4
};
// [/interface]

namespace proof {

struct Shape {
  int layers, pool, pages, words;
};

__device__ inline int64_t page_of(const Shape& shape, int layer, int part, int page) {
  return (int64_t{2} * layer + part) * shape.pool + page;
}

// The computation of a layer: its keys and values come into the pages of the request. A block does a page. Numbers of
// pages are added here and there, so that a wrong place on either side makes wrong values.
__global__ void compute(Shape shape, int layer, const uint32_t* in, const int32_t* table, uint32_t* cache) {
  const int part = static_cast<int>(blockIdx.x) % 2, page = static_cast<int>(blockIdx.x) / 2;
  const uint32_t* const values = in + ((int64_t{2} * layer + part) * shape.pages + page) * shape.words;
  uint32_t* const place = cache + page_of(shape, layer, part, table[page]) * shape.words;
  for (int i = static_cast<int>(threadIdx.x); i < shape.words; i += static_cast<int>(blockDim.x)) {
    place[i] = values[i] + static_cast<uint32_t>(table[page]);
  }
}

// What attention does first with a layer that has come: it reads the request's pages.
__global__ void gather(Shape shape, int layer, int count, const uint32_t* cache, const int32_t* table, uint32_t* out) {
  const int part = static_cast<int>(blockIdx.x) % 2, page = static_cast<int>(blockIdx.x) / 2;
  uint32_t* const place = out + ((int64_t{2} * layer + part) * shape.pages + page) * shape.words;
  const uint32_t* const values = cache + page_of(shape, layer, part, page < count ? table[page] : 0) * shape.words;
  for (int i = static_cast<int>(threadIdx.x); i < shape.words; i += static_cast<int>(blockDim.x)) {
    place[i] = page < count ? values[i] + static_cast<uint32_t>(table[page]) : 0;
  }
}

// Pages of other requests must not change. The first word of each is 0, and has been since the last time that it was of
// a request. The pages that were sent are those of the next request now, which begins to write. A block does one part of
// a layer.
__global__ void count_strays(Shape shape, int count, uint32_t* cache, const int32_t* table, int sent_count,
                             uint32_t* sent_cache, const int32_t* sent_table, uint32_t* strays) {
  const int64_t part = int64_t{blockIdx.x} * shape.pool * shape.words;
  uint32_t* const first = cache + part;
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread < sent_count) sent_cache[part + int64_t{sent_table[thread]} * shape.words] = ~0u;
  if (thread < count) first[int64_t{table[thread]} * shape.words] = 0;
  __syncthreads();
  const int found = __syncthreads_count(thread < shape.pool && first[int64_t{thread} * shape.words] != 0);
  if (thread == 0) strays[blockIdx.x] = static_cast<uint32_t>(found);
}

}  // namespace proof

template <class Solution>
class Driver {
 public:
  Driver(const fabricbench::Rank& rank, const Args& args)
      : shape_{static_cast<int>(args.layers), static_cast<int>(args.pool), static_cast<int>(args.pages),
               static_cast<int>(args.words)},
        from_(cache()),
        to_(cache()),
        solution_(rank, Caches{from_.memory, to_.memory, shape_.layers, shape_.pool, shape_.pages,
                               int64_t{4} * shape_.words}) {}

  void run(const Args& args, cudaStream_t stream) {
    const std::vector<int32_t> counts = fetch(args.counts, 2, stream), order = fetch(args.order, shape_.layers, stream),
                               from = fetch(args.from_pages, counts[0], stream),
                               to = fetch(args.to_pages, counts[1], stream);
    std::vector<int32_t> arrived(static_cast<size_t>(shape_.layers), -1);
    solution_.begin(from.data(), counts[0], to.data(), counts[1]);
    // A layer is computed and sent while the one before it comes in from the other side.
    for (int k = 0; k <= shape_.layers; ++k) {
      if (k < shape_.layers) {
        proof::compute<<<2 * counts[0], threads_for(shape_.words), 0, stream>>>(shape_, order[static_cast<size_t>(k)],
                                                                                args.in, args.from_pages, from_.memory);
        fabricbench::check_cuda(cudaStreamSynchronize(stream), "compute");
        solution_.send(order[static_cast<size_t>(k)]);
      }
      if (k > 0) {
        const int layer = solution_.receive();
        arrived[static_cast<size_t>(k) - 1] = layer;
        if (layer < 0 || layer >= shape_.layers) continue;
        proof::gather<<<2 * shape_.pages, threads_for(shape_.words), 0, stream>>>(shape_, layer, counts[1], to_.memory,
                                                                                  args.to_pages, args.out);
      }
    }
    solution_.end();
    fabricbench::check_cuda(
        cudaMemcpyAsync(args.arrived, arrived.data(), sizeof(int32_t) * arrived.size(), cudaMemcpyHostToDevice, stream),
        "cudaMemcpyAsync");
    proof::count_strays<<<2 * shape_.layers, threads_for(8 * shape_.pool), 0, stream>>>(
        shape_, counts[1], to_.memory, args.to_pages, counts[0], from_.memory, args.from_pages, args.strays);
    // The pages of this call are read: the rank before may have them for the next one.
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  // A thread moves eight words of a page where there are enough.
  static int threads_for(int words) { return std::clamp((words / 8 + 31) / 32 * 32, 32, 1024); }

  struct Cache {
    explicit Cache(size_t bytes) {
      fabricbench::check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
      fabricbench::check_cuda(cudaMemset(memory, 0, bytes), "cudaMemset");
      fabricbench::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    ~Cache() { cudaFree(memory); }
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;
    uint32_t* memory = nullptr;
  };
  Cache cache() const { return Cache(size_t{8} * shape_.layers * shape_.pool * shape_.words); }

  static std::vector<int32_t> fetch(const int32_t* tensor, int count, cudaStream_t stream) {
    std::vector<int32_t> values(static_cast<size_t>(count));
    fabricbench::check_cuda(
        cudaMemcpyAsync(values.data(), tensor, sizeof(int32_t) * values.size(), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
    fabricbench::check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return values;
  }

  proof::Shape shape_;
  Cache from_, to_;
  Solution solution_;
};
