#include <cuda.h>
#include <cuda_runtime.h>
#include <fabricbench/rank.h>
#include <unistd.h>

#include <algorithm>
#include <cuda/atomic>
#include <stdexcept>
#include <string>

#include "args.h"

// [solution]
constexpr int kBlocks = 32;  // all resident at once: they wait for each other
constexpr int kThreads = 512, kWarps = kThreads / 32;
constexpr int kTile = 32;         // float4s of a warp
constexpr int kBatch = 4;         // tiles that a warp loads before it stores them
constexpr size_t kDataAt = 4096;  // in front: a counter for each block, 128 bytes apart
constexpr int kCounterStride = 32;

inline void check(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  const char* text = "unknown error";
  cuGetErrorString(status, &text);
  throw std::runtime_error(std::string(what) + ": " + text);
}
#define CHECK(call) check((call), #call)

// Memory of this rank, bound to a multicast object of all ranks. It starts as zeros.
class MulticastMemory {
 public:
  MulticastMemory(const fabricbench::Rank& rank, size_t least) : rank_(rank) {
    cudaFree(nullptr);  // makes the device's context current for the driver API
    CHECK(cuDeviceGet(&device_, rank.device()));
    CUmulticastObjectProp object{};
    object.numDevices = static_cast<unsigned int>(rank.world());
    object.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    object.size = least;
    size_t granularity = 0;
    CHECK(cuMulticastGetGranularity(&granularity, &object, CU_MULTICAST_GRANULARITY_RECOMMENDED));
    bytes_ = object.size = (least + granularity - 1) / granularity * granularity;

    // Rank 0 makes the object, the others import it.
    int descriptor = -1;
    if (rank.rank() == 0) {
      CHECK(cuMulticastCreate(&object_, &object));
      CHECK(cuMemExportToShareableHandle(&descriptor, object_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    }
    const int shared = rank.share_descriptor(0, descriptor);
    if (rank.rank() != 0) {
      void* const handle = reinterpret_cast<void*>(static_cast<uintptr_t>(shared));
      CHECK(cuMemImportFromShareableHandle(&object_, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    }
    close(shared);
    if (descriptor >= 0 && descriptor != shared) close(descriptor);

    CHECK(cuMulticastAddDevice(object_, device_));
    rank.barrier();  // all devices are in: memory may be bound
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CHECK(cuMemCreate(&memory_, bytes_, &properties, 0));
    CHECK(cuMulticastBindMem(object_, 0, memory_, 0, bytes_, 0));
    mine_ = map(memory_, granularity);
    all_ = map(object_, granularity);
    CHECK(cuMemsetD8(mine_, 0, bytes_));
    CHECK(cuCtxSynchronize());
    rank.barrier();  // all memory is bound and zero: the object may be used
  }
  ~MulticastMemory() {
    rank_.barrier();  // no rank writes into my memory any more
    for (const CUdeviceptr address : {mine_, all_}) {
      cuMemUnmap(address, bytes_);
      cuMemAddressFree(address, bytes_);
    }
    cuMulticastUnbind(object_, device_, 0, bytes_);
    cuMemRelease(memory_);
    cuMemRelease(object_);
  }
  MulticastMemory(const MulticastMemory&) = delete;
  MulticastMemory& operator=(const MulticastMemory&) = delete;

  char* mine() const { return reinterpret_cast<char*>(mine_); }
  char* all() const { return reinterpret_cast<char*>(all_); }  // for multimem instructions only

 private:
  CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t alignment) const {
    CUdeviceptr address = 0;
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(cuMemAddressReserve(&address, bytes_, alignment, 0, 0));
    CHECK(cuMemMap(address, bytes_, 0, handle, 0));
    CHECK(cuMemSetAccess(address, bytes_, &access, 1));
    return address;
  }

  const fabricbench::Rank& rank_;
  CUdevice device_ = 0;
  size_t bytes_ = 0;
  CUmemGenericAllocationHandle object_ = 0, memory_ = 0;
  CUdeviceptr mine_ = 0, all_ = 0;
};

// A barrier of the blocks with one number on all ranks: each adds 1 to counter b of every rank in one store, and waits
// until all have added to its own. Between accesses through the plain and the multicast address stands a fence of
// aliases; one thread's is enough for the block, because it lies on the way from each access before to each access
// after.
__device__ void barrier(char* all, char* mine, int world, uint32_t epoch) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const int counter = static_cast<int>(blockIdx.x) * kCounterStride;
    asm volatile("fence.proxy.alias;" ::: "memory");
    asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(reinterpret_cast<uint32_t*>(all) + counter)
                 : "memory");
    const cuda::atomic_ref<uint32_t, cuda::thread_scope_system> count(reinterpret_cast<uint32_t*>(mine)[counter]);
    const uint32_t whole = epoch * static_cast<uint32_t>(world);
    // The difference is signed, so that counts may wrap around.
    while (static_cast<int32_t>(count.load(cuda::memory_order_acquire) - whole) < 0) {
    }
    asm volatile("fence.proxy.alias;" ::: "memory");
  }
  __syncthreads();
}

// The vector as groups of four floats, of which the last one may be incomplete.
__device__ float4 load_quad(const float* in, int64_t quad, int64_t n) {
  const int64_t i = 4 * quad;
  if (i + 4 <= n) return reinterpret_cast<const float4*>(in)[quad];
  return make_float4(in[i], i + 1 < n ? in[i + 1] : 0, i + 2 < n ? in[i + 2] : 0, 0);
}
__device__ void store_quad(float* out, int64_t quad, int64_t n, float4 value) {
  const int64_t i = 4 * quad;
  if (i + 4 <= n) {
    reinterpret_cast<float4*>(out)[quad] = value;
    return;
  }
  out[i] = value.x;
  if (i + 1 < n) out[i + 1] = value.y;
  if (i + 2 < n) out[i + 2] = value.z;
}

// The vector is dealt out in tiles: to the blocks one by one, and the tiles of a block to the ranks one by one. The
// block takes its tiles from `in` to `out`; in between, each is reduced by the same block of its rank. So no block
// needs what another block of its rank does, and a barrier of the blocks of the same number is enough, in the next call
// as well.
struct Tiles {
  int64_t quads;

  // Calls store(quad, load(quad)) for all quads of the block, several loads at once.
  template <class Load, class Store>
  __device__ void each(Load load, Store store) const {
    const int64_t stride = int64_t{kWarps} * gridDim.x, lane = threadIdx.x % 32;
    for (int64_t tile = threadIdx.x / 32 * int64_t{gridDim.x} + blockIdx.x; tile * kTile < quads;
         tile += kBatch * stride) {
      float4 value[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (const int64_t quad = (tile + k * stride) * kTile + lane; quad < quads) value[k] = load(quad);
      }
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (const int64_t quad = (tile + k * stride) * kTile + lane; quad < quads) store(quad, value[k]);
      }
    }
  }

  // Calls f(quad) for those that the block reduces.
  template <class F>
  __device__ void each_of_rank(int rank, int world, F f) const {
    const int64_t first = rank + threadIdx.x / 32 * int64_t{world}, stride = int64_t{kWarps} * world;
    for (int64_t k = first;; k += stride) {
      const int64_t quad = (k * gridDim.x + blockIdx.x) * kTile + threadIdx.x % 32;
      if (quad >= quads) break;
      f(quad);
    }
  }
};

__global__ void __launch_bounds__(kThreads) switch_all_reduce(char* all, char* mine, const float* in, float* out,
                                                              int64_t n, int rank, int world, uint32_t epoch) {
  const Tiles tiles{(n + 3) / 4};
  float4* const buffer = reinterpret_cast<float4*>(mine + kDataAt);

  tiles.each([=](int64_t quad) { return load_quad(in, quad, n); },
             [=](int64_t quad, float4 value) { buffer[quad] = value; });
  barrier(all, mine, world, 2 * epoch - 1);  // every rank's part is in its buffer

  // No other thread touches these elements, in any buffer, so the sum may overwrite the parts.
  tiles.each_of_rank(rank, world, [=](int64_t quad) {
    char* const address = all + kDataAt + quad * sizeof(float4);
    float4 sum;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(sum.x), "=f"(sum.y), "=f"(sum.z), "=f"(sum.w)
                 : "l"(address)
                 : "memory");
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(sum.x), "f"(sum.y),
                 "f"(sum.z), "f"(sum.w)
                 : "memory");
  });
  barrier(all, mine, world, 2 * epoch);  // all sums are in my buffer, and no rank reads my parts any more

  tiles.each([=](int64_t quad) { return buffer[quad]; },
             [=](int64_t quad, float4 value) { store_quad(out, quad, n, value); });
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        memory_(rank, kDataAt + static_cast<size_t>(args.n + 3) / 4 * sizeof(float4)) {}

  void run(const Args& args, cudaStream_t stream) {
    // The same on all ranks: block b waits for block b.
    const int64_t tiles = args.n / 4 / kTile + 1;
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (tiles + kWarps - 1) / kWarps));
    switch_all_reduce<<<blocks, kThreads, 0, stream>>>(memory_.all(), memory_.mine(), args.in, args.out, args.n, rank_,
                                                       world_, ++epoch_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  MulticastMemory memory_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: make the multicast object, bind and map memory
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the all-reduce
//|   }
//| };
// [/solution]
