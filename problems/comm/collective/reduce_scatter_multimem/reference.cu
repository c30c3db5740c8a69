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

// A barrier of block b of all ranks: it adds 1 to counter b of every rank in one store, and waits until all ranks have
// added to its own. Accesses through the plain and the multicast address need a fence of aliases between them; one
// thread's is enough for the block, because it is on the path from each access before to each access after.
__device__ void wait_for_all(char* all, char* mine, int world, uint32_t epoch) {
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

// Tiles are assigned to blocks round-robin, for the copy and for the sum alike. So a block reads only what blocks of
// its own number have copied, on all ranks, and a barrier of those blocks is enough.
//
// Calls store(quad, load(quad)) for the quads [begin, end) of the block's tiles, several loads at once.
template <class Load, class Store>
__device__ void each_quad(int64_t begin, int64_t end, Load load, Store store) {
  const int64_t blocks = gridDim.x, stride = kWarps * blocks, lane = threadIdx.x % 32;
  // The first tile of this block at or behind the one in which `begin` lies.
  const int64_t from = begin / kTile, first = from + (blockIdx.x + blocks - from % blocks) % blocks;
  for (int64_t tile = first + threadIdx.x / 32 * blocks; tile * kTile < end; tile += kBatch * stride) {
    float4 value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int64_t quad = (tile + k * stride) * kTile + lane;
      if (quad >= begin && quad < end) value[k] = load(quad);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int64_t quad = (tile + k * stride) * kTile + lane;
      if (quad >= begin && quad < end) store(quad, value[k]);
    }
  }
}

// The vector as groups of four floats, of which the last one may be incomplete.
__device__ float4 load_quad(const float* in, int64_t quad, int64_t n) {
  const int64_t i = 4 * quad;
  if (i + 4 <= n) return reinterpret_cast<const float4*>(in)[quad];
  return make_float4(in[i], i + 1 < n ? in[i + 1] : 0, i + 2 < n ? in[i + 2] : 0, 0);
}

// Elements i to i + 3 of a share of `count` elements, those that are in it.
__device__ void store_quad(float* out, int64_t i, int64_t count, float4 value) {
  if (i % 4 == 0 && i + 4 <= count) {
    *reinterpret_cast<float4*>(out + i) = value;
    return;
  }
  if (i >= 0 && i < count) out[i] = value.x;
  if (i + 1 >= 0 && i + 1 < count) out[i + 1] = value.y;
  if (i + 2 >= 0 && i + 2 < count) out[i + 2] = value.z;
  if (i + 3 < count) out[i + 3] = value.w;
}

// `data`: offset of this call's buffer. Two buffers alternate, so that one barrier a call is enough: a rank that fills
// a buffer has passed the barrier of the call before, which others enter after their last load from that buffer.
__global__ void __launch_bounds__(kThreads)
    switch_reduce_scatter(char* all, char* mine, size_t data, const float* in, float* out, int64_t n, int rank,
                          int world, uint32_t epoch) {
  float4* const buffer = reinterpret_cast<float4*>(mine + data);
  each_quad(
      0, (n + 3) / 4, [=](int64_t quad) { return load_quad(in, quad, n); },
      [=](int64_t quad, float4 value) { buffer[quad] = value; });
  wait_for_all(all, mine, world, epoch);

  const int64_t first = rank * n / world, count = (rank + 1) * n / world - first;
  each_quad(
      first / 4, (first + count + 3) / 4,
      [=](int64_t quad) {
        float4 sum;
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(sum.x), "=f"(sum.y), "=f"(sum.z), "=f"(sum.w)
                     : "l"(all + data + quad * sizeof(float4))
                     : "memory");
        return sum;
      },
      [=](int64_t quad, float4 sum) { store_quad(out, 4 * quad - first, count, sum); });
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        buffer_bytes_(static_cast<size_t>(args.n + 3) / 4 * sizeof(float4)),
        memory_(rank, kDataAt + 2 * buffer_bytes_) {}

  void run(const Args& args, cudaStream_t stream) {
    // The same on all ranks: block b waits for block b.
    const int64_t tiles = args.n / 4 / kTile + 1;
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (tiles + kWarps - 1) / kWarps));
    ++epoch_;
    const size_t data = kDataAt + epoch_ % 2 * buffer_bytes_;
    switch_reduce_scatter<<<blocks, kThreads, 0, stream>>>(memory_.all(), memory_.mine(), data, args.in, args.out,
                                                           args.n, rank_, world_, epoch_);
  }

 private:
  int rank_, world_;
  uint32_t epoch_ = 0;
  size_t buffer_bytes_;
  MulticastMemory memory_;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: make the multicast object, bind and map memory
//|   }
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the reduce-scatter
//|   }
//| };
// [/solution]
