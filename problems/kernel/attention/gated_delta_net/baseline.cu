// [solution]
#include <fabricbench/nccl.h>
#include <nccl.h>

using bf16 = __nv_bfloat16;

constexpr int kWarp = 32, kThreads = 128, kWarps = kThreads / kWarp;
constexpr int kTokens = 16;                        // of a chunk
constexpr int kColumns = 16;                       // of values, of a warp
constexpr int kAcross = 8;                         // units of 16 bytes of the values of a block
constexpr int kUnit = 8;                           // numbers of 16 bytes
constexpr int kPad = 8;                            // rows in different banks
constexpr int kWidest = 128;                       // the largest key_dim
constexpr int kRows = kThreads * kUnit / kWidest;  // of keys that a block loads at a time

// Within a chunk the update is solved for all tokens at once. With decays D_t from the chunk's begin to token t, the
// state S before it, T the inverse of the triangle 1 + b_t (k_t k_s) D_t / D_s (s < t) and lengths in all factors:
//
//   w = T (b_t v_t - b_t D_t k_t S)                        what each token writes
//   out_t = D_t q_t S + sum over s <= t of (q_t k_s) D_t / D_s w_s
//   S = D_last S + sum over s of D_last / D_s k_s w_s
//
// T, the scores (q k) D / D and the factors do not depend on the state. This is what there is of them for a head of
// values, in a chunk; tokens that are not there have zeros.
struct Head {
  float4 factors[kTokens];  // b, b D c, r D, c D_last / D; c = 1 / |k|, r = 1 / (sqrt(key_dim) |q|)
  bf16 inverse[kTokens][kTokens], scores[kTokens][kTokens];
  float decay, unused[3];  // D_last
};
constexpr int kHeadUnits = sizeof(Head) / 16;

// What a rank needs of a chunk and a head of keys is a record: queries, keys, values [head][token], and `Head`s. Sizes
// in units of 16 bytes.
struct Shape {
  int tokens, heads, share, key, value, world;  // of a rank
  __host__ __device__ int chunks() const { return (tokens + kTokens - 1) / kTokens; }
  __host__ __device__ int values_at() const { return 2 * kTokens * key; }
  __host__ __device__ int heads_at() const { return values_at() + share * kTokens * value; }
  __host__ __device__ int record() const { return heads_at() + share * kHeadUnits; }
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

// One warp: decays, inverse and scores of a head of values, from the products of queries and keys.
struct Workspace {
  float logs[kTokens], lengths[kTokens], triangle[kTokens][kTokens];
  Head head;
};
__device__ __forceinline__ void prepare(const Args& args, const Shape& shape, const float (*dots)[kTokens][kTokens],
                                        int first, int head, Workspace& work) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, t = lane % kTokens, half = lane / kTokens;
  float log_decay = 0, beta = 0;
  if (first + t < shape.tokens) {
    const int64_t at = int64_t{first + t} * shape.world * shape.heads * shape.share + head;
    log_decay = -expf(args.a_log[head]) * log1pf(expf(__bfloat162float(args.a[at]) + args.dt_bias[head]));
    beta = 1 / (1 + expf(-__bfloat162float(args.b[at])));
  }
  float sum = log_decay;  // of the logarithms up to token t
#pragma unroll
  for (int step = 1; step < kTokens; step *= 2) {
    const float before = __shfl_up_sync(~0u, sum, step, kTokens);
    if (t >= step) sum += before;
  }
  const float all = __shfl_sync(~0u, sum, kTokens - 1, kTokens), decay = expf(sum);
  const float c = rsqrtf(dots[0][t][t] + 1e-6F);
  const float r = rsqrtf((dots[2][t][t] + 1e-6F) * static_cast<float>(shape.key * kUnit));
  if (half == 0) {
    work.logs[t] = sum;
    work.lengths[t] = c;
    work.head.factors[t] = {beta, beta * decay * c, r * decay, c * expf(all - sum)};
  }
  if (lane == 0) work.head.decay = expf(all);
  __syncwarp();
  // Row t, half of it: what the tokens before t, and for the scores t itself, contribute.
  uint32_t scores[4];
#pragma unroll
  for (int i = 0; i < kTokens / 2; i += 2) {
    float score[2];
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const int s = half * (kTokens / 2) + i + n;
      const float by = s <= t ? expf(sum - work.logs[s]) * work.lengths[s] : 0;
      work.triangle[t][s] = s < t ? beta * c * by * dots[0][t][s] : 0;
      score[n] = r * by * dots[1][t][s];
    }
    scores[i / 2] = packed(score[0], score[1]);
  }
  *reinterpret_cast<uint4*>(&work.head.scores[t][half * (kTokens / 2)]) = {scores[0], scores[1], scores[2], scores[3]};
  __syncwarp();
  if (half != 0) return;
  float column[kTokens];  // t of the inverse
#pragma unroll
  for (int i = 0; i < kTokens; ++i) {
    float value = i == t ? 1 : 0;
#pragma unroll
    for (int s = 0; s < i; s += 4) {
      const float4 by = *reinterpret_cast<const float4*>(&work.triangle[i][s]);
      value -= by.x * column[s];
      if (s + 1 < i) value -= by.y * column[s + 1];
      if (s + 2 < i) value -= by.z * column[s + 2];
      if (s + 3 < i) value -= by.w * column[s + 3];
    }
    column[i] = value;
    work.head.inverse[i][t] = __float2bfloat16(value);
  }
}

// A block writes the record of a chunk and a head of keys.
__device__ __forceinline__ void encode(const Args& args, const Shape& shape, int chunk, int head, uint4* to) {
  constexpr int kStride = kWidest + kPad;
  __shared__ __align__(16) bf16 rows[2][kTokens][kStride];
  __shared__ float dots[3][kTokens][kTokens];  // keys and keys, queries and keys, queries and queries
  __shared__ __align__(16) Workspace work[kWarps];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int first = chunk * kTokens, all = shape.world * shape.heads;

  const int unit = thread % (kWidest / kUnit);
#pragma unroll
  for (int round = 0; round < kTokens; round += kRows) {
    const int t = round + thread / (kWidest / kUnit);
    const int64_t from = (int64_t{first + t} * all + head) * shape.key + unit;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const auto* source = reinterpret_cast<const uint4*>(n == 0 ? args.q : args.k);
      uint4 bits = {};
      if (first + t < shape.tokens && unit < shape.key) bits = source[from];
      *reinterpret_cast<uint4*>(&rows[n][t][unit * kUnit]) = bits;
      if (unit < shape.key) to[(n * kTokens + t) * shape.key + unit] = bits;
    }
  }
  const auto* values = reinterpret_cast<const uint4*>(args.v);
#pragma unroll 2
  for (int i = thread; i < shape.share * kTokens * shape.value; i += kThreads) {
    const int row = i / shape.value, n = row / kTokens, t = row % kTokens;
    uint4 bits = {};
    if (first + t < shape.tokens)
      bits = values[((int64_t{first + t} * all + head) * shape.share + n) * shape.value + i % shape.value];
    to[shape.values_at() + i] = bits;
  }
  __syncthreads();

  if (warp < 3) {
    float sums[2][4] = {};
    for (int i = 0; i < shape.key * kUnit; i += 16) {
      uint32_t left[4], right[4];
      load_matrix(left, &rows[warp == 0 ? 1 : 0][0][i], kStride);
      load_matrix(right, &rows[warp == 2 ? 0 : 1][0][i], kStride);
      const uint32_t a[4] = {left[0], left[2], left[1], left[3]};
      multiply(sums[0], a, right[0], right[1]);
      multiply(sums[1], a, right[2], right[3]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
      dots[warp][lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i / 4][i % 4];
  }
  __syncthreads();
  if (warp < shape.share) {  // a warp for each head of values
    prepare(args, shape, dots, first, head * shape.share + warp, work[warp]);
    __syncwarp();
    const auto* from = reinterpret_cast<const uint4*>(&work[warp].head);
    for (int i = lane; i < kHeadUnits; i += kWarp) to[shape.heads_at() + warp * kHeadUnits + i] = from[i];
  }
}

// A chunk in shared memory, of 64 columns of a head of values.
template <int kWidth>
struct Stage {
  bf16 queries[kTokens][kWidth + kPad], keys[kTokens][kWidth + kPad], values[kTokens][kAcross * kUnit + kPad];
  Head head;
};

__device__ __forceinline__ void copy_async(void* to, const uint4* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}

// Begins to load a chunk from its record: head n of its values, columns from unit `column` on.
template <int kWidth>
__device__ __forceinline__ void load(Stage<kWidth>& to, const uint4* record, const Shape& shape, int n, int column) {
  const int thread = static_cast<int>(threadIdx.x), unit = thread % (kWidest / kUnit);
  if (unit < shape.key) {
#pragma unroll
    for (int round = 0; round < kTokens; round += kRows) {
      const int t = round + thread / (kWidest / kUnit);
      copy_async(&to.queries[t][unit * kUnit], record + t * shape.key + unit);
      copy_async(&to.keys[t][unit * kUnit], record + (kTokens + t) * shape.key + unit);
    }
  }
  const int t = thread / kAcross, i = thread % kAcross;
  if (column + i < shape.value) {
    copy_async(&to.values[t][i * kUnit], record + shape.values_at() + (n * kTokens + t) * shape.value + column + i);
  }
  if (thread < kHeadUnits)
    copy_async(reinterpret_cast<uint4*>(&to.head) + thread, record + shape.heads_at() + n * kHeadUnits + thread);
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// 16 columns of the state of a head of values, transposed, in the registers of a warp: a lane has columns lane / 4 and
// lane / 4 + 8, and of each 8 numbers of a key two. So are values, results and what is written: [column][token].
template <int kWidth>
struct State {
  float of[kWidth / 8][4] = {};

  __device__ __forceinline__ static void scale_tokens(float (&x)[2][4], const float (&by)[2][2]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i / 4][i % 4] *= by[i / 4][i % 2];
  }
  __device__ __forceinline__ static void pack(uint32_t (&to)[4], const float (&first)[4], const float (&second)[4]) {
    to[0] = packed(first[0], first[1]);
    to[1] = packed(first[2], first[3]);
    to[2] = packed(second[0], second[1]);
    to[3] = packed(second[2], second[3]);
  }

  // The update and the results of 16 tokens. `column`: the first of the warp's columns in the stage.
  __device__ __forceinline__ void step(const Stage<kWidth>& stage, int column, float (&result)[2][4]) {
    constexpr int kStride = kWidth + kPad;
    const int pair = static_cast<int>(threadIdx.x) % 4 * 2;
    float strength[2][2], back[2][2], read[2][2], last[2][2];  // of this lane's tokens
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float4 by = stage.head.factors[i / 2 * 8 + pair + i % 2];
      strength[i / 2][i % 2] = by.x;
      back[i / 2][i % 2] = by.y;
      read[i / 2][i % 2] = by.z;
      last[i / 2][i % 2] = by.w;
    }
    float seen[2][4] = {};
    uint32_t a[4], b[4];
#pragma unroll
    for (auto& tile : result) tile[0] = tile[1] = tile[2] = tile[3] = 0;
#pragma unroll
    for (int i = 0; i < kWidth / 16; ++i) {
      pack(a, of[2 * i], of[2 * i + 1]);
      load_matrix(b, &stage.keys[0][i * 16], kStride);
      multiply(seen[0], a, b[0], b[1]);
      multiply(seen[1], a, b[2], b[3]);
      load_matrix(b, &stage.queries[0][i * 16], kStride);
      multiply(result[0], a, b[0], b[1]);
      multiply(result[1], a, b[2], b[3]);
    }
    scale_tokens(result, read);
    scale_tokens(seen, back);
    load_transposed(b, &stage.values[0][column], kAcross * kUnit + kPad);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float value = i % 2 == 0 ? low(b[i / 2]) : high(b[i / 2]);
      float& x = seen[i / 4][i % 4];
      x = strength[i / 4][i % 2] * value - x;
    }
    pack(a, seen[0], seen[1]);
    float written[2][4] = {};
    load_matrix(b, &stage.head.inverse[0][0], kTokens);
    multiply(written[0], a, b[0], b[1]);
    multiply(written[1], a, b[2], b[3]);
    pack(a, written[0], written[1]);
    load_matrix(b, &stage.head.scores[0][0], kTokens);
    multiply(result[0], a, b[0], b[1]);
    multiply(result[1], a, b[2], b[3]);
    scale_tokens(written, last);
    pack(a, written[0], written[1]);
    const float decay = stage.head.decay;
#pragma unroll
    for (int i = 0; i < kWidth / 16; ++i) {
      load_transposed(b, &stage.keys[0][i * 16], kStride);
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        float(&tile)[4] = of[2 * i + n];
#pragma unroll
        for (float& x : tile) x *= decay;
        multiply(tile, a, b[n], b[n + 2]);
      }
    }
  }
};

// records[peer][chunk][head] is the record for head `peer * heads + head`. A block for each. Grid: (chunks, all heads).
__global__ void __launch_bounds__(kThreads) pack(Args args, Shape shape, uint4* records) {
  const int chunk = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
  const int64_t slot = (int64_t{head / shape.heads} * shape.chunks() + chunk) * shape.heads + head % shape.heads;
  encode(args, shape, chunk, head, records + slot * shape.record());
}

// The scan of 64 columns of a head of values over all chunks, the next of which is on its way.
// Grid: (heads of values, blocks of columns).
template <int kWidth>
__global__ void __launch_bounds__(kThreads) scan(Shape shape, const uint4* records, uint4* results) {
  __shared__ __align__(16) Stage<kWidth> stages[2];
  __shared__ __align__(16) bf16 rows[kTokens][kAcross * kUnit + kPad];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int head = static_cast<int>(blockIdx.x), column = static_cast<int>(blockIdx.y) * kAcross;
  const int chunks = shape.chunks(), all = shape.world * chunks;
  const auto record = [&](int chunk) {
    return records + (int64_t{chunk} * shape.heads + head / shape.share) * shape.record();
  };
  // Behind key_dim and value_dim there are zeros.
  for (int i = thread; i < static_cast<int>(sizeof(stages) / 16); i += kThreads)
    reinterpret_cast<uint4*>(stages)[i] = uint4{};
  __syncthreads();

  State<kWidth> state;
  load(stages[0], record(0), shape, head % shape.share, column);
  for (int chunk = 0; chunk < all; ++chunk) {
    if (chunk + 1 < all) load(stages[(chunk + 1) % 2], record(chunk + 1), shape, head % shape.share, column);
    if (chunk + 1 < all) {
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
      const int token = chunk % chunks * kTokens + lane / 2, unit = column + warp * 2 + lane % 2;
      if (token < shape.tokens && unit < shape.value) {
        const int64_t row = (int64_t{chunk / chunks} * shape.tokens + token) * gridDim.x + head;
        results[row * shape.value + unit] = reinterpret_cast<const uint4*>(rows[lane / 2])[warp * 2 + lane % 2];
      }
    }
    __syncthreads();  // before the stage is filled again
  }
}

// out[token][source] = results[source][token]. Grid: (tokens, world).
__global__ void unpack(const uint4* results, uint4* out, int64_t quads) {
  const int64_t token = blockIdx.x, tokens = gridDim.x, source = blockIdx.y, world = gridDim.y;
  for (int64_t i = threadIdx.x; i < quads; i += blockDim.x)
    out[(token * world + source) * quads + i] = results[(source * tokens + token) * quads + i];
}

// Records to the ranks of their heads, the scan, results to the ranks of their tokens.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : shape_{static_cast<int>(args.tokens),
               static_cast<int>(args.heads),
               static_cast<int>(args.share),
               static_cast<int>(args.key_dim / kUnit),
               static_cast<int>(args.value_dim / kUnit),
               rank.world()},
        message_(static_cast<size_t>(shape_.chunks() * args.heads * shape_.record()) * sizeof(uint4)),
        answer_(static_cast<size_t>(args.tokens * args.heads * args.share * args.value_dim) * sizeof(bf16)),
        comm_(rank) {
    const auto world = static_cast<size_t>(rank.world());
    fabricbench::check_cuda(cudaMalloc(&packed_, world * message_));
    fabricbench::check_cuda(cudaMalloc(&records_, world * message_));
    fabricbench::check_cuda(cudaMalloc(&results_, world * answer_));
    fabricbench::check_cuda(cudaMalloc(&answers_, world * answer_));
  }
  ~Solution() {
    cudaFree(packed_);
    cudaFree(records_);
    cudaFree(results_);
    cudaFree(answers_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto heads = static_cast<unsigned>(args.heads * args.share), world = static_cast<unsigned>(shape_.world);
    pack<<<dim3(static_cast<unsigned>(shape_.chunks()), world * static_cast<unsigned>(args.heads)), kThreads, 0,
           stream>>>(args, shape_, packed_);
    fabricbench::check_nccl(ncclAlltoAll(packed_, records_, message_, ncclChar, comm_, stream));
    const dim3 grid(heads, static_cast<unsigned>((shape_.value + kAcross - 1) / kAcross));
    if (args.key_dim <= 32) {
      scan<32><<<grid, kThreads, 0, stream>>>(shape_, records_, results_);
    } else {
      scan<kWidest><<<grid, kThreads, 0, stream>>>(shape_, records_, results_);
    }
    fabricbench::check_nccl(ncclAlltoAll(results_, answers_, answer_, ncclChar, comm_, stream));
    unpack<<<dim3(static_cast<unsigned>(args.tokens), world), 64, 0, stream>>>(
        answers_, reinterpret_cast<uint4*>(args.out), int64_t{heads} * shape_.value);
  }

 private:
  Shape shape_;
  size_t message_, answer_;  // bytes from one rank to another
  fabricbench::NcclCommunicator comm_;
  uint4 *packed_ = nullptr, *records_ = nullptr, *results_ = nullptr, *answers_ = nullptr;
};
// [template]
//| class Solution {
//|  public:
//|   Solution(const fabricbench::Rank& rank, const Args& args) {
//|     // TODO: set up
//|   }
//|
//|   void run(const Args& args, cudaStream_t stream) {
//|     // TODO: enqueue the exchanges and the scan
//|   }
//| };
// [/solution]
