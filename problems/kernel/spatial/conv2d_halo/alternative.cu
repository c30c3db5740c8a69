// [solution]
#include <fabricbench/cublas.h>

using fabricbench::Peers;

constexpr int kThreads = 256;
constexpr int kBlocks = 128;  // all resident at once: some of them wait for their peers

using Flag = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

// Everything goes by 4 filters, a quad. A row has width * quads of them, and kThreads of these are a slice.
struct Sizes {
  int rows, width, quads, slices;
};

__device__ void add(float4& sum, float4 value) {
  sum.x += value.x;
  sum.y += value.y;
  sum.z += value.z;
  sum.w += value.w;
}

// parts[3 p + q][pixel] is what a pixel adds to the output at the place from which it is seen at (p, q). This is what
// the three pixels of `row` around `column` add to an output that sees that row at p.
__device__ float4 seen_in_row(const float4* parts, Sizes n, int p, int row, int column, int quad) {
  float4 sum = {};
#pragma unroll
  for (int q = 0; q < 3; ++q) {
    const int j = column + q - 1;
    if (j < 0 || j >= n.width) continue;
    add(sum, __ldg(parts + (int64_t{(3 * p + q) * n.rows + row} * n.width + j) * n.quads + quad));
  }
  return sum;
}

// What this rank's edge adds to the neighbour's: its last row is seen at p = 0 from the rank behind it (side 0), its
// first one at p = 2 from the rank before it (side 1). It goes into the neighbour's inbox.
__device__ void push(const Peers<float4>& inbox, const Peers<uint32_t>& arrived, const float4* parts, Sizes n, int side,
                     int slice, int rank, int world, uint32_t call) {
  const int target = side == 0 ? rank + 1 : rank - 1;
  if (target < 0 || target >= world) return;
  const int item = slice * kThreads + static_cast<int>(threadIdx.x);
  if (item < n.width * n.quads) {
    inbox.of[target][side * n.width * n.quads + item] =
        seen_in_row(parts, n, 2 * side, side == 0 ? n.rows - 1 : 0, item / n.quads, item % n.quads);
  }
  __syncthreads();  // orders the stores of all threads before the release of one
  if (threadIdx.x == 0) Flag(arrived.of[target][side * n.slices + slice]).store(call, cuda::memory_order_release);
}

__device__ void wait(uint32_t& flag, uint32_t call) {
  while (Flag(flag).load(cuda::memory_order_acquire) < call) {
  }
}

// A slice of a row of the output: what this rank's rows add, and the neighbours' part where the row is an edge.
__device__ void finish(const float4* inbox, uint32_t* arrived, const float4* parts, uint2* y, Sizes n, int row,
                       int slice, int rank, int world, uint32_t call) {
  const bool above = row == 0 && rank > 0, below = row == n.rows - 1 && rank < world - 1;
  if (above || below) {
    if (threadIdx.x == 0 && above) wait(arrived[slice], call);
    if (threadIdx.x == 0 && below) wait(arrived[n.slices + slice], call);
    __syncthreads();  // what one thread has acquired is there for all
  }
  const int item = slice * kThreads + static_cast<int>(threadIdx.x), items = n.width * n.quads;
  if (item >= items) return;
  float4 sum = {};
#pragma unroll
  for (int p = 0; p < 3; ++p) {
    const int i = row + p - 1;
    if (i >= 0 && i < n.rows) add(sum, seen_in_row(parts, n, p, i, item / n.quads, item % n.quads));
  }
  if (above) add(sum, inbox[item]);
  if (below) add(sum, inbox[items + item]);
  const __nv_bfloat162 low = __floats2bfloat162_rn(sum.x, sum.y), high = __floats2bfloat162_rn(sum.z, sum.w);
  y[int64_t{row} * items + item] = {*reinterpret_cast<const uint32_t*>(&low),
                                    *reinterpret_cast<const uint32_t*>(&high)};
}

// Sends first, adds up the rows that need nothing from others while the edges are on their way, then the edges.
//
// There are two inboxes, used in turn, and no rank asks for permission to write. What a rank overwrites in call e was
// read in call e - 2: neighbours send to each other, so in call e - 1 the writer has waited for the reader's edge,
// which the reader sent in a kernel behind that of its call e - 2.
__global__ void __launch_bounds__(kThreads) add_up(Peers<float4> inbox, Peers<uint32_t> arrived, const float4* parts,
                                                   uint2* y, Sizes n, int rank, int world, uint32_t call) {
  const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
  const int last = blocks - 1 - block;  // edges are given out from the last block on
  for (int k = last; k < 2 * n.slices; k += blocks)
    push(inbox, arrived, parts, n, k / n.slices, k % n.slices, rank, world, call);
  for (int k = block; k < (n.rows - 2) * n.slices; k += blocks)
    finish(nullptr, nullptr, parts, y, n, 1 + k / n.slices, k % n.slices, rank, world, call);
  const int edges = min(n.rows, 2);
  for (int k = last; k < edges * n.slices; k += blocks)
    finish(inbox.of[rank], arrived.of[rank], parts, y, n, k < n.slices ? 0 : n.rows - 1, k % n.slices, rank, world,
           call);
}

// The product comes first: it needs no halo. It is a batch of nine, what each pixel adds to the nine outputs that see
// it. So ranks exchange sums of an edge instead of its inputs, and nothing is unfolded.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        sizes_{static_cast<int>(args.rows), static_cast<int>(args.width), static_cast<int>(args.filters / 4),
               static_cast<int>((args.width * args.filters / 4 + kThreads - 1) / kThreads)},
        inboxes_(rank, 2 * inbox_bytes(args)),
        arrived_(rank, static_cast<size_t>(2 * sizes_.slices) * sizeof(uint32_t)) {
    fabricbench::check_cublas(cublasCreate(&cublas_));
    const auto sums = static_cast<size_t>(9 * args.rows * args.width * args.filters);
    fabricbench::check_cuda(cudaMalloc(&parts_, sums * sizeof(float)), "cudaMalloc");
  }
  ~Solution() {
    cudaFree(parts_);
    cublasDestroy(cublas_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto pixels = static_cast<int>(args.rows * args.width), channels = static_cast<int>(args.channels),
               filters = static_cast<int>(args.filters);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(cublas_, stream));
    // cuBLAS has matrices by columns: what is x w^T by rows is (w x^T)^T there. All nine have the same x.
    fabricbench::check_cublas(cublasGemmStridedBatchedEx(
        cublas_, CUBLAS_OP_T, CUBLAS_OP_N, filters, pixels, channels, &one, args.w, CUDA_R_16BF, 9 * channels, channels,
        args.x, CUDA_R_16BF, channels, 0, &zero, parts_, CUDA_R_32F, filters, int64_t{pixels} * filters, 9,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    ++call_;
    add_up<<<std::min(kBlocks, sizes_.rows * sizes_.slices), kThreads, 0, stream>>>(
        inboxes_.peers<float4>(call_ % 2 * inbox_bytes(args)), arrived_.peers<uint32_t>(),
        reinterpret_cast<const float4*>(parts_), reinterpret_cast<uint2*>(args.y), sizes_, rank_, world_, call_);
  }

 private:
  static size_t inbox_bytes(const Args& args) {  // from both sides
    return static_cast<size_t>(2 * args.width * args.filters) * sizeof(float);
  }

  int rank_, world_;
  Sizes sizes_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory inboxes_, arrived_;
  cublasHandle_t cublas_ = nullptr;
  float* parts_ = nullptr;  // [9][pixels][filters]
};
// [/solution]
