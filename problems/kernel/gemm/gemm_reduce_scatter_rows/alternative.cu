// [solution]
#include <fabricbench/cublas.h>
#include <vector>

using fabricbench::Peers;
using bf16 = __nv_bfloat16;

constexpr int kThreads = 256, kBlocks = 128;  // all resident at once: they wait for their peers
constexpr int kMostRanks = 8;

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

__device__ void add(float2 (&sums)[4], int4 bits) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float2 v = __bfloat1622float2(pairs[k]);
    sums[k].x += v.x;
    sums[k].y += v.y;
  }
}

__device__ int4 rounded(const float2 (&sums)[4]) {
  int4 bits;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&bits);
#pragma unroll
  for (int k = 0; k < 4; ++k) pairs[k] = __floats2bfloat162_rn(sums[k].x, sums[k].y);
  return bits;
}

// Adds what has come into the inbox, [sender][row][column], to the residual. `quads`: 16 bytes each, of one sender.
//
// flags.of[r][i] is the last call of which rank i's parts are in r's inbox. The release is there for what the stream
// did before this kernel: the product's stores into the inboxes.
__global__ void __launch_bounds__(kThreads) add_parts(Peers<uint32_t> flags, const int4* inbox, const int4* residual,
                                                      int4* y, int64_t quads, int rank, int world, uint32_t call) {
  if (const auto peer = static_cast<int>(threadIdx.x); peer < world) {
    if (blockIdx.x == 0) Flag(flags.of[peer][rank]).store(call, cuda::memory_order_release);
    while (Flag(flags.of[rank][peer]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncthreads();  // what some threads have acquired is there for all

  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < quads; i += stride) {
    int4 bits[kMostRanks];  // all loads are under way before the first is used
    const int4 own = residual[i];
#pragma unroll
    for (int k = 0; k < kMostRanks; ++k) {
      if (k < world) bits[k] = inbox[k * quads + i];
    }
    float2 sums[4] = {};
    add(sums, own);
#pragma unroll
    for (int k = 0; k < kMostRanks; ++k) {
      if (k < world) add(sums, bits[k]);
    }
    y[i] = rounded(sums);
  }
}

// The product stores its rows where they are added up: for the peers' rows it is a batch of products, whose results are
// inboxes in the memory of these peers. So the exchange is over when the product is. The product of the rank's own rows
// needs no link, and runs beside the batch.
//
// There are two sets of inboxes, for odd and even calls, and nothing waits at the end of a call. In call e a rank
// writes inboxes that hold parts of call e - 2. Their owner has read those: before the writer's call e - 1 ended, it
// had seen the owner's flag of call e - 1, which the owner set in a kernel behind that of its call e - 2.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        count_(args.rows * args.hidden),
        flags_(rank, kMostRanks * sizeof(uint32_t)),
        inboxes_(rank, 2 * static_cast<size_t>(world_ * count_) * sizeof(bf16)) {
    fabricbench::check_cublas(cublasCreate(&blas_));
    fabricbench::check_cuda(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    fabricbench::check_cuda(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming));
    fabricbench::check_cuda(cudaEventCreateWithFlags(&ended_, cudaEventDisableTiming));
    // For each set, the factors and the results of the batch. Each rank begins with the one behind it, so that not all
    // send to the same one.
    std::vector<const void*> pointers;
    for (int set = 0; set < 2; ++set) {
      for (int k = 1; k < world_; ++k) pointers.push_back(args.weight);
      for (int k = 1; k < world_; ++k) pointers.push_back(rows_of((rank_ + k) % world_, args));
      for (int k = 1; k < world_; ++k) pointers.push_back(inbox((rank_ + k) % world_, set) + rank_ * count_);
    }
    const size_t bytes = pointers.size() * sizeof(void*);
    fabricbench::check_cuda(cudaMalloc(&pointers_, bytes));
    fabricbench::check_cuda(cudaMemcpy(pointers_, pointers.data(), bytes, cudaMemcpyHostToDevice));
  }
  ~Solution() {
    cudaFree(pointers_);
    cudaEventDestroy(ended_);
    cudaEventDestroy(begun_);
    cudaStreamDestroy(side_);
    cublasDestroy(blas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto set = static_cast<int>(++call_ % 2);
    const auto rows = static_cast<int>(args.rows), hidden = static_cast<int>(args.hidden),
               depth = static_cast<int>(args.depth);
    const void** batch = pointers_ + set * 3 * (world_ - 1);
    const float one = 1, zero = 0;
    fabricbench::check_cuda(cudaEventRecord(begun_, stream));
    // cuBLAS has matrices by columns: what is x weight^T by rows is (weight x^T)^T there.
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    fabricbench::check_cublas(cublasGemmBatchedEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, rows, depth, &one, batch,
                                                  CUDA_R_16BF, depth, batch + (world_ - 1), CUDA_R_16BF, depth, &zero,
                                                  const_cast<void**>(batch + 2 * (world_ - 1)), CUDA_R_16BF, hidden,
                                                  world_ - 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    fabricbench::check_cuda(cudaStreamWaitEvent(side_, begun_, 0));
    fabricbench::check_cublas(cublasSetStream(blas_, side_));
    fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, rows, depth, &one, args.weight,
                                           CUDA_R_16BF, depth, rows_of(rank_, args), CUDA_R_16BF, depth, &zero,
                                           inbox(rank_, set) + rank_ * count_, CUDA_R_16BF, hidden, CUBLAS_COMPUTE_32F,
                                           CUBLAS_GEMM_DEFAULT));
    fabricbench::check_cuda(cudaEventRecord(ended_, side_));
    fabricbench::check_cuda(cudaStreamWaitEvent(stream, ended_, 0));
    const auto blocks = static_cast<int>(std::min<int64_t>(kBlocks, (count_ / 8 + kThreads - 1) / kThreads));
    add_parts<<<blocks, kThreads, 0, stream>>>(flags_.peers<uint32_t>(),
                                               reinterpret_cast<const int4*>(inbox(rank_, set)),
                                               reinterpret_cast<const int4*>(args.residual),
                                               reinterpret_cast<int4*>(args.y), count_ / 8, rank_, world_, call_);
  }

 private:
  const bf16* rows_of(int owner, const Args& args) const { return args.x + owner * args.rows * args.depth; }
  bf16* inbox(int owner, int set) const { return inboxes_.at<bf16>(owner) + set * world_ * count_; }

  int rank_, world_;
  int64_t count_;      // numbers of a rank's rows
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, inboxes_;
  cublasHandle_t blas_ = nullptr;
  cudaStream_t side_ = nullptr;
  cudaEvent_t begun_ = nullptr, ended_ = nullptr;
  const void** pointers_ = nullptr;
};
// [/solution]
