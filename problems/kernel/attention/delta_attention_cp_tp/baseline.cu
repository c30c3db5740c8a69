#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/nccl.h>
#include <nccl.h>

using bf16 = __nv_bfloat16;

constexpr int kWarp = 32, kThreads = 128, kWarps = kThreads / kWarp;
constexpr int kTokens = 16;   // of a chunk
constexpr int kColumns = 16;  // of values, of a warp
constexpr int kAcross = 8;    // units of 16 bytes of the values of a block
constexpr int kUnit = 8;      // numbers of 16 bytes
constexpr int kPad = 8;       // rows in different banks
constexpr int kWidest = 128;  // the largest key_dim
constexpr int kStride = kWidest + kPad;
constexpr int kRows = kThreads * kUnit / kWidest;  // of keys that a block loads at a time

// Within a chunk the update is solved for all tokens at once. With D_t for the decays of each channel from the chunk's
// begin to token t, the state S before it, and T the inverse of the triangle 1 + b_t ((k_t D_t) (k_s / D_s)) (s < t):
//
//   w = T (b_t v_t - b_t (k_t D_t) S)                      what each token writes
//   out_t = (q_t D_t) S + sum over s <= t of ((q_t D_t) (k_s / D_s)) w_s
//   S = D_last S + sum over s of (k_s D_last / D_s) w_s
//
// D is at least exp(-5 * 16), so that its inverse is finite. This is what does not depend on the state, of a head and a
// chunk, behind its rows q D, k D and k D_last / D; tokens that are not there have zeros.
struct Head {
  float strength[kTokens];
  bf16 inverse[kTokens][kTokens], scores[kTokens][kTokens];
  float decay[kWidest];  // D_last
};
constexpr int kHeadUnits = sizeof(Head) / 16;

struct Shape {
  int tokens, heads, key, value;  // of a rank; the last two in units of 16 bytes
  __host__ __device__ int chunks() const { return (tokens + kTokens - 1) / kTokens; }
  __host__ __device__ int rows() const { return kTokens * key; }
  __host__ __device__ int record() const { return 3 * rows() + kHeadUnits; }
};

__device__ uint32_t packed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ float low(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ float high(uint32_t pair) { return __uint_as_float(pair & 0xFFFF0000); }

// d += a b: a has 16 rows of 16, b has 8 columns of 16.
__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A 16 x 16 matrix of shared memory, as four of 8 x 8: rows 0 to 7 with columns 0 to 7 and 8 to 15, then rows 8 to 15.
// A lane gets two adjacent numbers of row lane / 4 of each.
__device__ __forceinline__ void load_matrix(uint32_t (&to)[4], const bf16* from, int stride) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bf16* row = from + (lane / 16 * 8 + lane % 8) * stride + lane / 8 % 2 * 8;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}
// The same, each of the four transposed.
__device__ __forceinline__ void load_transposed(uint32_t (&to)[4], const bf16* from, int stride) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bf16* row = from + (lane / 16 * 8 + lane % 8) * stride + lane / 8 % 2 * 8;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

// Rows, inverse and scores of a chunk and a head. A thread for each channel. Grid: (chunks, heads).
__global__ void __launch_bounds__(kThreads) prepare(Args args, Shape shape, uint4* records) {
  enum { kReads, kBacks, kEnds, kInverse };  // q D, k D, k D_last / D, k / D
  __shared__ __align__(16) bf16 rows[4][kTokens][kStride];
  __shared__ __align__(16) float triangle[kTokens][kTokens];
  __shared__ float lengths[2][kTokens];
  __shared__ __align__(16) Head head;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int chunk = static_cast<int>(blockIdx.x), first = chunk * kTokens, h = static_cast<int>(blockIdx.y);
  const int64_t row = int64_t{first} * shape.heads + h;  // of token t: t * heads further
  const int count = min(kTokens, shape.tokens - first);

  // Half a warp for each row: its length, and the row as it is.
  const int which = lane / 16, unit = lane % 16;
  uint4 bits[kTokens / kWarps];
#pragma unroll
  for (int i = 0; i < kTokens / kWarps; ++i) {
    const int t = i * kWarps + warp;
    const auto* from = reinterpret_cast<const uint4*>(which == 0 ? args.q : args.k);
    bits[i] = from[(row + min(t, count - 1) * shape.heads) * shape.key + min(unit, shape.key - 1)];
    if (t >= count || unit >= shape.key) bits[i] = uint4{};
  }
#pragma unroll
  for (int i = 0; i < kTokens / kWarps; ++i) {
    const int t = i * kWarps + warp;
    reinterpret_cast<uint4*>(rows[which][t])[unit] = bits[i];
    float sum = 0;
    for (const uint32_t pair : {bits[i].x, bits[i].y, bits[i].z, bits[i].w})
      sum += low(pair) * low(pair) + high(pair) * high(pair);
#pragma unroll
    for (int step = 1; step < 16; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
    sum += 1e-6F;
    if (unit == 0) lengths[which][t] = rsqrtf(which == 0 ? sum * static_cast<float>(shape.key * kUnit) : sum);
  }
  if (thread < kTokens) {
    head.strength[thread] = thread < count ? 1 / (1 + expf(-__bfloat162float(args.b[row + thread * shape.heads]))) : 0;
  }
  __syncthreads();

  const int channels = shape.key * kUnit, channel = min(thread, channels - 1);
  const float slope = expf(args.a_log[h]), bias = args.dt_bias[h * channels + channel];
  bf16 gates[kTokens];
#pragma unroll
  for (int t = 0; t < kTokens; ++t) gates[t] = args.g[(row + min(t, count - 1) * shape.heads) * channels + channel];
  float logs[kTokens], sum = 0;
#pragma unroll
  for (int t = 0; t < kTokens; ++t) {
    const float log_decay = 5 / (1 + expf(-slope * (__bfloat162float(gates[t]) + bias)));
    sum -= t < count ? log_decay : 0;
    logs[t] = sum;
  }
  head.decay[thread] = expf(sum);
#pragma unroll
  for (int t = 0; t < kTokens; ++t) {
    const float q = __bfloat162float(rows[0][t][thread]) * lengths[0][t];
    const float k = __bfloat162float(rows[1][t][thread]) * lengths[1][t];
    const float decay = expf(logs[t]);
    rows[kReads][t][thread] = __float2bfloat16(q * decay);
    rows[kBacks][t][thread] = __float2bfloat16(k * decay);
    rows[kEnds][t][thread] = __float2bfloat16(k * expf(sum - logs[t]));
    rows[kInverse][t][thread] = __float2bfloat16(k * expf(-logs[t]));
  }
  __syncthreads();

  uint4* to = records + (int64_t{chunk} * shape.heads + h) * shape.record();
  if (warp < 2) {  // the triangle, and the scores
    float sums[2][4] = {};
    for (int i = 0; i < channels; i += 16) {
      uint32_t left[4], right[4];
      load_matrix(left, &rows[warp == 0 ? kBacks : kReads][0][i], kStride);
      load_matrix(right, &rows[kInverse][0][i], kStride);
      const uint32_t a[4] = {left[0], left[2], left[1], left[3]};
      multiply(sums[0], a, right[0], right[1]);
      multiply(sums[1], a, right[2], right[3]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int t = lane / 4 + i / 2 % 2 * 8, s = i / 4 * 8 + lane % 4 * 2 + i % 2;
      if (warp == 0) {
        triangle[t][s] = s < t ? head.strength[t] * sums[i / 4][i % 4] : 0;
      } else {
        head.scores[t][s] = __float2bfloat16(s <= t ? sums[i / 4][i % 4] : 0);
      }
    }
    __syncwarp();
    if (thread < kTokens) {
      float column[kTokens];  // of the inverse
#pragma unroll
      for (int i = 0; i < kTokens; ++i) {
        float value = i == thread ? 1 : 0;
#pragma unroll
        for (int s = 0; s < i; s += 4) {
          const float4 by = *reinterpret_cast<const float4*>(&triangle[i][s]);
          value -= by.x * column[s];
          if (s + 1 < i) value -= by.y * column[s + 1];
          if (s + 2 < i) value -= by.z * column[s + 2];
          if (s + 3 < i) value -= by.w * column[s + 3];
        }
        column[i] = value;
        head.inverse[i][thread] = __float2bfloat16(value);
      }
    }
  } else {  // meanwhile the rows
#pragma unroll
    for (int t = thread / 16 % 4; t < kTokens; t += 4) {
      if (unit >= shape.key) continue;
#pragma unroll
      for (int n = 0; n < 3; ++n)
        to[n * shape.rows() + t * shape.key + unit] = reinterpret_cast<const uint4*>(rows[n][t])[unit];
    }
  }
  __syncthreads();
  if (thread < kHeadUnits) to[3 * shape.rows() + thread] = reinterpret_cast<const uint4*>(&head)[thread];
}

// A chunk in shared memory, of 64 columns of a head of values.
template <int kWidth>
struct Stage {
  bf16 reads[kTokens][kWidth + kPad], backs[kTokens][kWidth + kPad], ends[kTokens][kWidth + kPad];
  bf16 values[kTokens][kAcross * kUnit + kPad];
  Head head;
};

__device__ __forceinline__ void copy_async(void* to, const uint4* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}

// Begins to load a chunk: its record, and columns of its values from unit `column` on.
template <int kWidth>
__device__ __forceinline__ void load(Stage<kWidth>& to, const uint4* records, const uint4* values, const Shape& shape,
                                     int chunk, int head, int column) {
  const int thread = static_cast<int>(threadIdx.x), unit = thread % (kWidest / kUnit);
  const uint4* record = records + (int64_t{chunk} * shape.heads + head) * shape.record();
  if (unit < shape.key) {
#pragma unroll
    for (int round = 0; round < kTokens; round += kRows) {
      const int t = round + thread / (kWidest / kUnit);
      const uint4* from = record + t * shape.key + unit;
      copy_async(&to.reads[t][unit * kUnit], from);
      copy_async(&to.backs[t][unit * kUnit], from + shape.rows());
      copy_async(&to.ends[t][unit * kUnit], from + 2 * shape.rows());
    }
  }
  // What is left in rows of tokens that are not there counts nothing: they have no strength.
  const int t = thread / kAcross, i = thread % kAcross;
  if (const int64_t token = int64_t{chunk} * kTokens + t; token < shape.tokens && column + i < shape.value)
    copy_async(&to.values[t][i * kUnit], values + (token * shape.heads + head) * shape.value + column + i);
  if (thread < kHeadUnits) copy_async(reinterpret_cast<uint4*>(&to.head) + thread, record + 3 * shape.rows() + thread);
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// 16 columns of the state of a head, transposed, in the registers of a warp: a lane has columns lane / 4 and lane / 4 +
// 8, and of each 8 channels two. So are values, results and what is written: [column][token].
template <int kWidth>
struct State {
  float of[kWidth / 8][4] = {};

  __device__ __forceinline__ static void pack(uint32_t (&to)[4], const float (&first)[4], const float (&second)[4]) {
    to[0] = packed(first[0], first[1]);
    to[1] = packed(first[2], first[3]);
    to[2] = packed(second[0], second[1]);
    to[3] = packed(second[2], second[3]);
  }

  // The update and the results of 16 tokens. `column`: the first of the warp's columns in the stage.
  __device__ __forceinline__ void step(const Stage<kWidth>& stage, int column, float (&result)[2][4]) {
    constexpr int kRow = kWidth + kPad;
    const int pair = static_cast<int>(threadIdx.x) % 4 * 2;
    float seen[2][4] = {}, written[2][4] = {};
    uint32_t a[4], b[4];
#pragma unroll
    for (auto& tile : result) tile[0] = tile[1] = tile[2] = tile[3] = 0;
#pragma unroll
    for (int i = 0; i < kWidth / 16; ++i) {
      pack(a, of[2 * i], of[2 * i + 1]);
      load_matrix(b, &stage.backs[0][i * 16], kRow);
      multiply(seen[0], a, b[0], b[1]);
      multiply(seen[1], a, b[2], b[3]);
      load_matrix(b, &stage.reads[0][i * 16], kRow);
      multiply(result[0], a, b[0], b[1]);
      multiply(result[1], a, b[2], b[3]);
    }
    load_transposed(b, &stage.values[0][column], kAcross * kUnit + kPad);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float value = i % 2 == 0 ? low(b[i / 2]) : high(b[i / 2]);
      float& x = seen[i / 4][i % 4];
      x = stage.head.strength[i / 4 * 8 + pair + i % 2] * (value - x);
    }
    pack(a, seen[0], seen[1]);
    load_matrix(b, &stage.head.inverse[0][0], kTokens);
    multiply(written[0], a, b[0], b[1]);
    multiply(written[1], a, b[2], b[3]);
    pack(a, written[0], written[1]);
    load_matrix(b, &stage.head.scores[0][0], kTokens);
    multiply(result[0], a, b[0], b[1]);
    multiply(result[1], a, b[2], b[3]);
#pragma unroll
    for (int i = 0; i < kWidth / 16; ++i) {
      load_transposed(b, &stage.ends[0][i * 16], kRow);
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        float(&tile)[4] = of[2 * i + n];
        const float2 decay = *reinterpret_cast<const float2*>(&stage.head.decay[i * 16 + n * 8 + pair]);
#pragma unroll
        for (int x = 0; x < 4; ++x) tile[x] *= x % 2 == 0 ? decay.x : decay.y;
        multiply(tile, a, b[n], b[n + 2]);
      }
    }
  }
};

// The scan of 64 columns of a head over this rank's chunks, the next of which is on its way. `before` is the state of
// the place before, or null, `after` that behind this one, both as warps have them. Grid: (heads, blocks of columns).
template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    scan(Shape shape, const uint4* records, const uint4* values, const float4* before, float4* after, uint4* results) {
  __shared__ __align__(16) Stage<kWidth> stages[2];
  __shared__ __align__(16) bf16 rows[kTokens][kAcross * kUnit + kPad];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int head = static_cast<int>(blockIdx.x), column = static_cast<int>(blockIdx.y) * kAcross;
  // Behind key_dim and value_dim there are zeros.
  for (int i = thread; i < static_cast<int>(sizeof(stages) / 16); i += kThreads)
    reinterpret_cast<uint4*>(stages)[i] = uint4{};
  __syncthreads();
  load(stages[0], records, values, shape, 0, head, column);

  State<kWidth> state;
  const int64_t warps = int64_t{gridDim.y} * kWarps, at = (head * warps + blockIdx.y * kWarps + warp) * (kWidth / 8);
  if (before != nullptr) {
#pragma unroll
    for (int i = 0; i < kWidth / 8; ++i) {
      const float4 tile = before[(at + i) * kWarp + lane];
      state.of[i][0] = tile.x;
      state.of[i][1] = tile.y;
      state.of[i][2] = tile.z;
      state.of[i][3] = tile.w;
    }
  }
  for (int chunk = 0; chunk < shape.chunks(); ++chunk) {
    if (chunk + 1 < shape.chunks()) {
      load(stages[(chunk + 1) % 2], records, values, shape, chunk + 1, head, column);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    if (column + warp * 2 < shape.value) {
      float result[2][4];
      state.step(stages[chunk % 2], warp * kColumns, result);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int token = i / 4 * 8 + lane % 4 * 2 + i % 2;
        rows[token][warp * kColumns + lane / 4 + i / 2 % 2 * 8] = __float2bfloat16(result[i / 4][i % 4]);
      }
      __syncwarp();
      const int token = chunk * kTokens + lane / 2, unit = column + warp * 2 + lane % 2;
      if (token < shape.tokens && unit < shape.value) {
        results[(int64_t{token} * shape.heads + head) * shape.value + unit] =
            reinterpret_cast<const uint4*>(rows[lane / 2])[warp * 2 + lane % 2];
      }
    }
    __syncthreads();  // before the stage is filled again
  }
#pragma unroll
  for (int i = 0; i < kWidth / 8; ++i)
    after[(at + i) * kWarp + lane] = {state.of[i][0], state.of[i][1], state.of[i][2], state.of[i][3]};
}

// The state goes from place to place; then the product, and the sum over the group.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : shape_{static_cast<int>(args.tokens), static_cast<int>(args.heads), static_cast<int>(args.key_dim / kUnit),
               static_cast<int>(args.value_dim / kUnit)},
        place_(rank.rank() / static_cast<int>(args.tp)),
        places_(rank.world() / static_cast<int>(args.tp)),
        across_(static_cast<unsigned>((shape_.value + kAcross - 1) / kAcross)),
        state_(static_cast<size_t>(args.heads) * across_ * kAcross * kUnit * (args.key_dim <= 32 ? 32 : kWidest)),
        comm_(rank) {
    const int inner = rank.rank() % static_cast<int>(args.tp);
    fabricbench::check_nccl(ncclCommSplit(comm_, inner, place_, &cp_, nullptr));
    fabricbench::check_nccl(ncclCommSplit(comm_, place_, inner, &tp_, nullptr));
    fabricbench::check_cuda(
        cudaMalloc(&records_, static_cast<size_t>(shape_.chunks() * shape_.heads * shape_.record()) * sizeof(uint4)));
    fabricbench::check_cuda(cudaMalloc(&before_, state_ * sizeof(float)));
    fabricbench::check_cuda(cudaMalloc(&after_, state_ * sizeof(float)));
    fabricbench::check_cuda(
        cudaMalloc(&context_, static_cast<size_t>(args.tokens * args.heads * args.value_dim) * sizeof(bf16)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    cudaFree(records_);
    cudaFree(before_);
    cudaFree(after_);
    cudaFree(context_);
    ncclCommDestroy(cp_);
    ncclCommDestroy(tp_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto heads = static_cast<unsigned>(args.heads);
    prepare<<<dim3(static_cast<unsigned>(shape_.chunks()), heads), kThreads, 0, stream>>>(args, shape_, records_);
    if (place_ > 0) fabricbench::check_nccl(ncclRecv(before_, state_, ncclFloat, place_ - 1, cp_, stream));
    const auto kernel = args.key_dim <= 32 ? scan<32> : scan<kWidest>;
    kernel<<<dim3(heads, across_), kThreads, 0, stream>>>(shape_, records_, reinterpret_cast<const uint4*>(args.v),
                                                          place_ > 0 ? before_ : nullptr, after_,
                                                          reinterpret_cast<uint4*>(context_));
    if (place_ + 1 < places_) fabricbench::check_nccl(ncclSend(after_, state_, ncclFloat, place_ + 1, cp_, stream));

    // cuBLAS has matrices by columns: what is context weight^T by rows is (weight context^T)^T there.
    const auto hidden = static_cast<int>(args.hidden), depth = static_cast<int>(args.heads * args.value_dim);
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    fabricbench::check_cublas(cublasGemmEx(blas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, shape_.tokens, depth, &one,
                                           args.weight, CUDA_R_16BF, depth, context_, CUDA_R_16BF, depth, &zero,
                                           args.out, CUDA_R_16BF, hidden, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    fabricbench::check_nccl(ncclAllReduce(args.out, args.out, static_cast<size_t>(args.tokens * args.hidden),
                                          ncclBfloat16, ncclSum, tp_, stream));
  }

 private:
  Shape shape_;
  int place_, places_;
  unsigned across_;  // blocks of columns
  size_t state_;     // numbers of this rank's states
  fabricbench::NcclCommunicator comm_;
  ncclComm_t cp_ = nullptr, tp_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  uint4* records_ = nullptr;
  float4 *before_ = nullptr, *after_ = nullptr;
  bf16* context_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the scan, the product and the sum
//|   }
//| };
// [/solution]
