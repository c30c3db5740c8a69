#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>

#include <stdexcept>

using fabricbench::Peers;
using bf16 = __nv_bfloat16;
using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// X is cut into strips of columns: a strip of X makes a strip of the result, over the whole depth, so that products of
// strips have nothing to add up. All ranks send the first strip of all rows first; while it is multiplied, the next one
// is on its way.
constexpr int kStrip = 2048;             // columns
constexpr int kBlocks = 64, kWarp = 32;  // that send, a warp each; with the products there is room for all of them

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ void init_barrier(uint64_t& barrier) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(shared_address(&barrier))
      : "memory");
}
__device__ void arrive_and_expect(uint64_t& barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
               : "memory");
}
__device__ void wait_barrier(uint64_t& barrier, unsigned parity) {
  asm volatile(
      "{\n .reg .pred done;\nAGAIN:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n @!done bra "
      "AGAIN;\n}" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}
__device__ void load_bytes(void* to, const void* from, int bytes, uint64_t& barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(&barrier))
               : "memory");
}
__device__ void store_bytes(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
               "r"(bytes)
               : "memory");
}
__device__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ void wait_until_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ void wait_until_arrived() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

struct Shape {
  int64_t tokens, hidden;
  int strips, blocks;
  int rank, world;

  // A flag for each strip, source and block that sends: the last call in which all of its rows have arrived.
  __device__ int flag(int strip, int source, int block) const { return (strip * world + source) * blocks + block; }
};

// A warp brings its strip's part of a row into shared memory once, and lane i sends it to the i-th rank after this one
// (lane 0 to our own X): bulk copies, which hold no registers, of 4 KiB, so that the copies to 8 ranks are about as
// many bytes as a multiprocessor can have under way.
//
// Nothing waits for permission to write: every rank has X twice, used in turn. In call e this writes what the owner's
// products of call e - 2 have read. They have ended: our products of call e - 1 began when all of the owner's rows of
// call e - 1 had come, which were sent behind everything that its stream had before.
__global__ void __launch_bounds__(kWarp)
    send_rows(Peers<uint32_t> arrived, const bf16* x, Peers<bf16> whole, Shape shape, uint32_t call) {
  __shared__ alignas(128) bf16 here[kStrip];
  __shared__ uint64_t full;
  const auto lane = static_cast<int>(threadIdx.x);
  if (lane == 0) init_barrier(full);
  __syncwarp();

  const int peer = (shape.rank + lane) % shape.world;
  unsigned parity = 0;
  for (int strip = 0; strip < shape.strips; ++strip) {
    const int64_t column = int64_t{strip} * kStrip;
    const auto bytes = static_cast<int>(min(int64_t{kStrip}, shape.hidden - column) * sizeof(bf16));
    for (int64_t row = blockIdx.x; row < shape.tokens; row += gridDim.x) {
      if (lane == 0) {
        arrive_and_expect(full, bytes);
        load_bytes(here, x + row * shape.hidden + column, bytes, full);
      }
      wait_barrier(full, parity);
      parity ^= 1;
      if (lane < shape.world) {
        store_bytes(whole.of[peer] + (shape.rank * shape.tokens + row) * shape.hidden + column, here, bytes);
        commit_stores();
        wait_until_read();
      }
      __syncwarp();  // all copies have left: the next row may take the place of this one
    }
    if (lane < shape.world) {
      wait_until_arrived();  // this lane's copies, which the release makes known
      Flag(arrived.of[peer][shape.flag(strip, shape.rank, blockIdx.x)]).store(call, cuda::memory_order_release);
    }
    __syncwarp();
  }
}

// What is acquired here is seen by the product behind it on the stream.
__global__ void await_strip(uint32_t* arrived, Shape shape, int strip, uint32_t call) {
  for (auto i = static_cast<int>(threadIdx.x); i < shape.world * shape.blocks; i += static_cast<int>(blockDim.x)) {
    while (Flag(arrived[shape.flag(strip, 0, i)]).load(cuda::memory_order_acquire) < call) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : shape_{args.tokens,
               args.hidden,
               static_cast<int>((args.hidden + kStrip - 1) / kStrip),
               static_cast<int>(std::min<int64_t>(kBlocks, args.tokens)),
               rank.rank(),
               rank.world()},
        bytes_(static_cast<size_t>(rank.world() * args.tokens * args.hidden) * sizeof(bf16)),
        arrived_(rank, static_cast<size_t>(shape_.strips * rank.world() * shape_.blocks) * sizeof(uint32_t)),
        whole_(rank, 2 * bytes_) {
    fabricbench::check_cuda(cudaStreamCreateWithFlags(&sending_, cudaStreamNonBlocking));
    fabricbench::check_cuda(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming));
    fabricbench::check_cuda(cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaEventDestroy(sent_);
    cudaEventDestroy(begun_);
    cudaStreamDestroy(sending_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const size_t set = ++call_ % 2 * bytes_;
    fabricbench::check_cuda(cudaEventRecord(begun_, stream));
    fabricbench::check_cuda(cudaStreamWaitEvent(sending_, begun_));
    send_rows<<<shape_.blocks, kWarp, 0, sending_>>>(arrived_.peers<uint32_t>(), args.x, whole_.peers<bf16>(set),
                                                     shape_, call_);
    fabricbench::check_cuda(cudaEventRecord(sent_, sending_));

    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    for (int strip = 0; strip < shape_.strips; ++strip) {
      await_strip<<<1, 512, 0, stream>>>(arrived_.mine<uint32_t>(), shape_, strip, call_);
      multiply(args, whole_.mine<bf16>(set), strip * kStrip);
    }
    fabricbench::check_cuda(cudaStreamWaitEvent(stream, sent_));
  }

 private:
  // By columns, as cuBLAS has it: a strip of Xᵀ, as it is in memory, times the transpose of gradᵀ.
  void multiply(const Args& args, const bf16* whole, int first) {
    const auto hidden = static_cast<int>(args.hidden), columns = static_cast<int>(args.columns);
    const float one = 1, zero = 0;
    const auto status = cublasGemmEx(blas_, CUBLAS_OP_N, CUBLAS_OP_T, std::min(kStrip, hidden - first), columns,
                                     static_cast<int>(args.tokens) * shape_.world, &one, whole + first, CUDA_R_16BF,
                                     hidden, args.grad, CUDA_R_16BF, columns, &zero, args.weight_grad + first,
                                     CUDA_R_32F, hidden, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasGemmEx");
  }

  Shape shape_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  size_t bytes_;       // of X
  fabricbench::PeerMemory arrived_, whole_;
  cudaStream_t sending_ = nullptr;
  cudaEvent_t begun_ = nullptr, sent_ = nullptr;
  cublasHandle_t blas_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the gather and the product
//|   }
//| };
// [/solution]
