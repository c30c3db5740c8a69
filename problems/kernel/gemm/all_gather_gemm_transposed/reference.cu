#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <cublas_v2.h>

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
__device__ void wait_for_stores() {
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
}

struct Shape {
  int64_t tokens, hidden;
  int strips;
  int rank, world;

  // A flag for each row of each strip: the last call in which it has arrived.
  __device__ int64_t flag(int64_t strip, int64_t row) const { return strip * world * tokens + row; }
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
  for (int64_t piece = blockIdx.x; piece < shape.strips * shape.tokens; piece += kBlocks) {
    const int64_t strip = piece / shape.tokens, row = piece % shape.tokens, column = strip * kStrip;
    const auto bytes = static_cast<int>(min(int64_t{kStrip}, shape.hidden - column) * sizeof(bf16));
    if (lane == 0) {
      arrive_and_expect(full, bytes);
      load_bytes(here, x + row * shape.hidden + column, bytes, full);
    }
    wait_barrier(full, parity);
    parity ^= 1;
    if (lane < shape.world) {
      const int64_t to = shape.rank * shape.tokens + row;
      store_bytes(whole.of[peer] + to * shape.hidden + column, here, bytes);
      wait_for_stores();  // this lane's has arrived, and the release makes it known
      Flag(arrived.of[peer][shape.flag(strip, to)]).store(call, cuda::memory_order_release);
    }
    __syncwarp();  // all have done with the piece: the next one may take its place
  }
}

// What is acquired here is seen by the product behind it on the stream.
__global__ void await_strip(uint32_t* arrived, Shape shape, int strip, uint32_t call) {
  for (int64_t row = threadIdx.x; row < shape.world * shape.tokens; row += blockDim.x) {
    while (Flag(arrived[shape.flag(strip, row)]).load(cuda::memory_order_acquire) < call) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : shape_{args.tokens, args.hidden, static_cast<int>((args.hidden + kStrip - 1) / kStrip), rank.rank(),
               rank.world()},
        bytes_(static_cast<size_t>(rank.world() * args.tokens * args.hidden) * sizeof(bf16)),
        arrived_(rank, static_cast<size_t>(shape_.strips * rank.world() * args.tokens) * sizeof(uint32_t)),
        whole_(rank, 2 * bytes_) {
    cudaStreamCreateWithFlags(&sending_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming);
    if (cublasCreate(&blas_) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasCreate");
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaEventDestroy(sent_);
    cudaEventDestroy(begun_);
    cudaStreamDestroy(sending_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const size_t set = ++call_ % 2 * bytes_;
    cudaEventRecord(begun_, stream);
    cudaStreamWaitEvent(sending_, begun_);
    send_rows<<<kBlocks, kWarp, 0, sending_>>>(arrived_.peers<uint32_t>(), args.x, whole_.peers<bf16>(set), shape_,
                                               call_);
    cudaEventRecord(sent_, sending_);

    cublasSetStream(blas_, stream);
    for (int strip = 0; strip < shape_.strips; ++strip) {
      await_strip<<<1, 512, 0, stream>>>(arrived_.mine<uint32_t>(), shape_, strip, call_);
      multiply(args, whole_.mine<bf16>(set), strip * kStrip);
    }
    cudaStreamWaitEvent(stream, sent_);
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
