#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cmath>
#include <cstdint>
#include <cuda/atomic>
#include <vector>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
using fabricbench::post;
using fabricbench::wait;
using bf16 = __nv_bfloat16;
constexpr int kThreads = 128, kWarp = 32, kDim = 128;
constexpr int kStreams = 4;           // chunks that are computed at a time
constexpr int64_t kQuads = kDim / 8;  // units of 16 bytes of a head

// Flags are words with the last call of which they are true: arrived[chunk][source], then done[source]. The number of
// the call is in device memory, because the launches are recorded once for all calls.
//
// Writes what each peer needs into its inbox, [chunk][source][token][heads of q, k, v]. A block sends one chunk to one
// peer, and says so, without any waiting. Grid: (world, chunks): the first chunk leaves first.
//
// Inboxes have two sets, used in turn. What is written in call e was read by the owner's products of call e - 2. They
// have ended: the writer has ended call e - 1 and heard there of the owner's last kernel, which came behind them.
__global__ void __launch_bounds__(kThreads)
    send(Peers<uint32_t> flags, const int4* q, const int4* k, const int4* v, Peers<int4> inbox, int64_t tokens,
         int64_t share, int rank, const uint32_t* number) {
  const uint32_t call = *number;
  const int64_t chunks = gridDim.y, chunk = blockIdx.y, world = gridDim.x, queries = share * kQuads;
  const int64_t length = queries + 2 * kQuads;
  const int64_t peer = (rank + blockIdx.x) % world;  // every rank begins with itself: no two with the same one
  int4* to = inbox.of[peer] + ((call % 2 * chunks + chunk) * world + rank) * tokens * length;
  for (int64_t i = threadIdx.x; i < tokens * length; i += kThreads) {
    const int64_t at = i % length, place = (chunk * tokens + i / length) * world + peer;  // of a head of keys
    to[i] = __ldg(at < queries            ? q + place * queries + at
                  : at < queries + kQuads ? k + place * kQuads + at - queries
                                          : v + place * kQuads + at - queries - kQuads);
  }
  __syncthreads();  // orders the stores of all threads before the release
  if (threadIdx.x == 0) post(flags.of[peer][chunk * world + rank], call);
}

// Ends when the pieces of all ranks are there, of all chunks up to this one. A rank that has sent something has begun
// the call, so its `out` may be written, too.
__global__ void await(uint32_t* arrived, int64_t pieces, const uint32_t* number) {
  const uint32_t call = *number;
  for (int64_t i = threadIdx.x; i < pieces; i += kWarp) wait(arrived[i], call);
}

// weights[row] = softmax(scores[row]), a warp for each row. `scores` are in units of log 2.
__global__ void softmax(const float* scores, bf16* weights, int64_t rows, int64_t keys) {
  const int64_t row = int64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (row >= rows) return;
  const auto lane = static_cast<int64_t>(threadIdx.x % kWarp);
  const float* from = scores + row * keys;
  float top = -INFINITY, sum = 0;
  for (int64_t j = lane; j < keys; j += kWarp) top = fmaxf(top, from[j]);
  for (int step = 1; step < kWarp; step *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
  for (int64_t j = lane; j < keys; j += kWarp) sum += exp2f(from[j] - top);
  for (int step = 1; step < kWarp; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
  for (int64_t j = lane; j < keys; j += kWarp) weights[row * keys + j] = __float2bfloat16(exp2f(from[j] - top) / sum);
}

// Behind all products, whose results are in the memory of their owners: tells them, and waits until all have told.
__global__ void finish(Peers<uint32_t> flags, int64_t first, int rank, int world, uint32_t* number) {
  const auto peer = static_cast<int>(threadIdx.x);
  const uint32_t call = *number;
  if (peer < world) {
    post(flags.of[peer][first + rank], call);
    wait(flags.of[rank][first + peer], call);
  }
  __syncwarp();  // all have read the number
  if (threadIdx.x == 0) *number = call + 1;
}

// Chunks are on streams of their own. Each waits for its pieces, and computes while others are on their way; its last
// product stores results where they belong, in the memory of the ranks that have the tokens. At these sizes the host
// would take longer to launch all this than the GPU to do it: it is recorded as a graph, one for each set of inboxes.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        row_((args.share + 2) * kDim),
        queries_(world_ * args.tokens),
        pairs_(args.share * queries_ * args.chunks * queries_),
        flags_(rank, static_cast<size_t>((args.chunks + 1) * world_) * sizeof(uint32_t)),
        inboxes_(rank, static_cast<size_t>(2 * args.chunks * queries_ * row_) * sizeof(bf16)),
        outputs_(rank, args.out) {
    fabricbench::check_cublas(cublasCreate(&blas_));
    fabricbench::check_cuda(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming));
    for (auto& lane : lanes_) {
      fabricbench::check_cuda(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
      fabricbench::check_cuda(cudaEventCreateWithFlags(&lane.ended, cudaEventDisableTiming));
      fabricbench::check_cuda(cudaMalloc(&lane.scores, static_cast<size_t>(pairs_) * sizeof(float)));
      fabricbench::check_cuda(cudaMalloc(&lane.weights, static_cast<size_t>(pairs_) * sizeof(bf16)));
    }
    // Values, weights and result of each head and owner, for both sets of inboxes and all chunks.
    std::vector<const void*> factors;
    for (int64_t set = 0; set < 2; ++set) {
      for (int64_t c = 0; c < args.chunks; ++c) {
        for (int64_t i = 0; i < args.share * world_; ++i) factors.push_back(inbox(set, args) + (args.share + 1) * kDim);
        for (int64_t i = 0; i < args.share * world_; ++i) {
          const int64_t query = i / world_ * queries_ + owner(i) * args.tokens;
          factors.push_back(lanes_[c % kStreams].weights + query * (c + 1) * queries_);
        }
        for (int64_t i = 0; i < args.share * world_; ++i) {
          const int64_t head = rank_ * args.share + i / world_;
          factors.push_back(outputs_.at<bf16>(owner(i)) + (c * args.tokens * world_ * args.share + head) * kDim);
        }
      }
    }
    const size_t bytes = factors.size() * sizeof(void*);
    fabricbench::check_cuda(cudaMalloc(&pointers_, bytes));
    fabricbench::check_cuda(cudaMemcpy(pointers_, factors.data(), bytes, cudaMemcpyHostToDevice));
    const uint32_t first = 1;
    fabricbench::check_cuda(cudaMalloc(&number_, sizeof first));
    fabricbench::check_cuda(cudaMemcpy(number_, &first, sizeof first, cudaMemcpyHostToDevice));
    cudaStream_t recorder = nullptr;
    fabricbench::check_cuda(cudaStreamCreateWithFlags(&recorder, cudaStreamNonBlocking));
    for (int64_t set = 0; set < 2; ++set) {
      cudaGraph_t graph = nullptr;
      fabricbench::check_cuda(cudaStreamBeginCapture(recorder, cudaStreamCaptureModeThreadLocal));
      enqueue(args, set, recorder);
      fabricbench::check_cuda(cudaStreamEndCapture(recorder, &graph));
      fabricbench::check_cuda(cudaGraphInstantiate(&calls_[set], graph, 0), "cudaGraphInstantiate");
      cudaGraphDestroy(graph);
    }
    cudaStreamDestroy(recorder);
  }
  ~Solution() {
    for (cudaGraphExec_t call : calls_) cudaGraphExecDestroy(call);
    cudaFree(number_);
    cudaFree(pointers_);
    for (auto& lane : lanes_) {
      cudaFree(lane.weights);
      cudaFree(lane.scores);
      cudaEventDestroy(lane.ended);
      cudaStreamDestroy(lane.stream);
    }
    cudaEventDestroy(begun_);
    cublasDestroy(blas_);
  }

  void run(const Args&, cudaStream_t stream) { fabricbench::check_cuda(cudaGraphLaunch(calls_[++call_ % 2], stream)); }

 private:
  struct Lane {
    cudaStream_t stream = nullptr;
    cudaEvent_t ended = nullptr;
    float* scores = nullptr;
    bf16* weights = nullptr;
  };

  // Everything of one call, with one set of inboxes.
  void enqueue(const Args& args, int64_t set, cudaStream_t stream) {
    const auto quads = [](const bf16* p) { return reinterpret_cast<const int4*>(p); };
    fabricbench::check_cuda(cudaEventRecord(begun_, stream));
    send<<<dim3(static_cast<unsigned>(world_), static_cast<unsigned>(args.chunks)), kThreads, 0, stream>>>(
        flags_.peers<uint32_t>(), quads(args.q), quads(args.k), quads(args.v), inboxes_.peers<int4>(), args.tokens,
        args.share, rank_, number_);
    const int used = static_cast<int>(args.chunks < kStreams ? args.chunks : kStreams);
    for (int i = 0; i < used; ++i) fabricbench::check_cuda(cudaStreamWaitEvent(lanes_[i].stream, begun_));
    for (int64_t c = 0; c < args.chunks; ++c) compute(args, set, c, lanes_[c % kStreams]);
    for (int i = 0; i < used; ++i) {
      fabricbench::check_cuda(cudaEventRecord(lanes_[i].ended, lanes_[i].stream));
      fabricbench::check_cuda(cudaStreamWaitEvent(stream, lanes_[i].ended));
    }
    finish<<<1, kWarp, 0, stream>>>(flags_.peers<uint32_t>(), args.chunks * world_, rank_, world_, number_);
  }
  void compute(const Args& args, int64_t set, int64_t c, const Lane& lane) {
    const auto n = static_cast<int>(queries_), keys = static_cast<int>(c + 1) * n, step = static_cast<int>(row_);
    const auto share = static_cast<int>(args.share), batch = share * world_;
    const bf16* qkv = inbox(set, args);
    const float scale = 1.44269504F / std::sqrt(static_cast<float>(kDim)), one = 1, zero = 0;
    await<<<1, kWarp, 0, lane.stream>>>(flags_.mine<uint32_t>(), (c + 1) * world_, number_);
    fabricbench::check_cublas(cublasSetStream(blas_, lane.stream));
    // cuBLAS has columns where these matrices have rows. Scores are [head][query][key].
    fabricbench::check_cublas(cublasGemmStridedBatchedEx(
        blas_, CUBLAS_OP_T, CUBLAS_OP_N, keys, n, kDim, &scale, qkv + share * kDim, CUDA_R_16BF, step, 0,
        qkv + c * queries_ * row_, CUDA_R_16BF, step, kDim, &zero, lane.scores, CUDA_R_32F, keys, queries_ * keys,
        share, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    const int64_t rows = args.share * queries_;
    softmax<<<static_cast<unsigned>((rows * kWarp + kThreads - 1) / kThreads), kThreads, 0, lane.stream>>>(
        lane.scores, lane.weights, rows, keys);
    const void** first = pointers_ + (set * args.chunks + c) * 3 * batch;
    fabricbench::check_cublas(cublasGemmBatchedEx(blas_, CUBLAS_OP_N, CUBLAS_OP_N, kDim, static_cast<int>(args.tokens),
                                                  keys, &one, first, CUDA_R_16BF, step, first + batch, CUDA_R_16BF,
                                                  keys, &zero, const_cast<void**>(first + 2 * batch), CUDA_R_16BF,
                                                  batch * kDim, batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }
  const bf16* inbox(int64_t set, const Args& args) const {
    return inboxes_.mine<bf16>() + set * args.chunks * queries_ * row_;
  }
  int owner(int64_t i) const { return static_cast<int>((rank_ + i) % world_); }

  int rank_, world_;
  int64_t row_, queries_, pairs_;  // numbers of a token in an inbox; queries of a chunk; scores of the last chunk
  int64_t call_ = 0;
  uint32_t* number_ = nullptr;  // of the call, in device memory: from 1 up, since the flags of fresh memory are 0
  cudaGraphExec_t calls_[2] = {};
  fabricbench::PeerMemory flags_, inboxes_, outputs_;
  cublasHandle_t blas_ = nullptr;
  cudaEvent_t begun_ = nullptr;
  Lane lanes_[kStreams];
  const void** pointers_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the exchanges and the attention
//|   }
//| };
// [/solution]
