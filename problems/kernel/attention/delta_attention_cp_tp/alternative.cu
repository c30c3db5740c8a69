// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
using bf16 = __nv_bfloat16;
constexpr int kWarp = 32, kThreads = 128;
constexpr int kChunk = 16;  // tokens, those of several places where they have fewer

struct Shape {
  int tokens, heads, key_dim, value_dim, inner, place, tp;
  // Tokens up to the last one of this place, and as chunks have them.
  __host__ __device__ int sequence() const { return (place + 1) * tokens; }
  __host__ __device__ int chunks() const { return (sequence() + kChunk - 1) / kChunk; }
  __host__ __device__ int padded() const { return chunks() * kChunk; }
};

// All in float; tokens those of the sequence, and zeros behind it.
struct Buffers {
  float *q, *k, *logs;                     // [head][token][key_dim]: of length 1; logarithms of decays
  float* strength;                         // [head][token]
  float *reads, *backs, *ends, *inverses;  // [head][token][key_dim]: queries and keys with their factors
  float *triangles, *scores, *inverse;     // [head][chunk][token][token]
  float* decays;                           // [head][chunk][key_dim]
  float *values, *results;                 // [head][token][value_dim]
  float *written, *state;                  // [head][token of a chunk][value_dim], [head][key_dim][value_dim]
};

struct Inputs {
  Peers<const bf16> q, k, v, g, b;
  const float *a_log, *dt_bias;
};

// Reads a token and head from the rank that has it, by one warp. Grid: (tokens, heads).
__global__ void pull(Inputs in, Shape shape, Buffers to) {
  const int token = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y), dim = shape.key_dim;
  const auto lane = static_cast<int>(threadIdx.x);
  const int owner = token / shape.tokens * shape.tp + shape.inner;
  const bool there = token < shape.sequence();
  const int64_t row = int64_t{token % shape.tokens} * shape.heads + head;
  const int64_t mine = int64_t{head} * shape.padded() + token;
  for (int which = 0; which < 2; ++which) {
    const bf16* from = there ? (which == 0 ? in.q : in.k).of[owner] + row * dim : nullptr;
    const auto value = [&](int i) { return there ? __bfloat162float(from[i]) : 0.0F; };
    float squares = 0;
    for (int i = lane; i < dim; i += kWarp) squares += value(i) * value(i);
    for (int step = 1; step < kWarp; step *= 2) squares += __shfl_xor_sync(~0u, squares, step);
    squares += 1e-6F;
    const float length = 1 / sqrtf(which == 0 ? squares * static_cast<float>(dim) : squares);
    for (int i = lane; i < dim; i += kWarp) (which == 0 ? to.q : to.k)[mine * dim + i] = value(i) * length;
  }
  const float slope = expf(in.a_log[head]);
  for (int i = lane; i < dim; i += kWarp) {
    float log_decay = 0;
    if (there)
      log_decay =
          -5 / (1 + expf(-slope * (__bfloat162float(in.g.of[owner][row * dim + i]) + in.dt_bias[head * dim + i])));
    to.logs[mine * dim + i] = log_decay;
  }
  const float strength = there ? 1 / (1 + expf(-__bfloat162float(in.b.of[owner][row]))) : 0;
  if (lane == 0) to.strength[mine] = strength;
  for (int i = lane; i < shape.value_dim; i += kWarp) {
    const float value = there ? __bfloat162float(in.v.of[owner][row * shape.value_dim + i]) : 0;
    to.values[mine * shape.value_dim + i] = strength * value;
  }
}

// Queries and keys with the decays of a chunk. A thread for each channel. Grid: (chunks, heads).
__global__ void scale_rows(Shape shape, Buffers of) {
  const int chunk = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y), dim = shape.key_dim;
  const auto i = static_cast<int>(threadIdx.x);
  if (i >= dim) return;
  const int64_t token = int64_t{head} * shape.padded() + chunk * kChunk;
  float all = 0, sum = 0;
  for (int t = 0; t < kChunk; ++t) all += of.logs[(token + t) * dim + i];
  for (int t = 0; t < kChunk; ++t) {
    const int64_t at = (token + t) * dim + i;
    sum += of.logs[at];
    of.reads[at] = of.q[at] * expf(sum);
    of.backs[at] = of.k[at] * expf(sum) * of.strength[token + t];
    of.inverses[at] = of.k[at] * expf(-sum);
    of.ends[at] = of.k[at] * expf(all - sum);
  }
  of.decays[(int64_t{head} * shape.chunks() + chunk) * dim + i] = expf(all);
}

// Cuts off what is above the diagonal, and inverts 1 + triangle, a lane for each column. Grid: (chunks, heads).
__global__ void invert(Shape shape, Buffers of) {
  const int64_t square = (int64_t{blockIdx.y} * shape.chunks() + blockIdx.x) * kChunk * kChunk;
  const auto t = static_cast<int>(threadIdx.x);
  for (int s = 0; s < t; ++s) of.scores[square + s * kChunk + t] = 0;  // row s, column t
  for (int i = 0; i < kChunk; ++i) {
    float value = i == t ? 1 : 0;
    for (int s = 0; s < i; ++s) value -= of.triangles[square + i * kChunk + s] * of.inverse[square + s * kChunk + t];
    of.inverse[square + i * kChunk + t] = value;
  }
}

// Four numbers for each thread. Grid: (blocks, heads).
__global__ void decay_state(Shape shape, Buffers of, int chunk) {
  const int64_t head = blockIdx.y, i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, row = shape.value_dim / 4;
  if (i >= shape.key_dim * row) return;
  const float decay = of.decays[(head * shape.chunks() + chunk) * shape.key_dim + i / row];
  float4& x = reinterpret_cast<float4*>(of.state)[head * shape.key_dim * row + i];
  x = {x.x * decay, x.y * decay, x.z * decay, x.w * decay};
}

// to[token][head] = results[head][token], for this place's tokens. Grid: (tokens, heads).
__global__ void round_results(Shape shape, Buffers of, bf16* to) {
  const int64_t token = blockIdx.x, head = blockIdx.y, heads = gridDim.y;
  const int64_t from = head * shape.padded() + shape.place * shape.tokens + token;
  for (int i = static_cast<int>(threadIdx.x); i < shape.value_dim; i += static_cast<int>(blockDim.x)) {
    to[(token * heads + head) * shape.value_dim + i] = __float2bfloat16(of.results[from * shape.value_dim + i]);
  }
}

// Adds the parts of the group's ranks, from `first` on.
__global__ void add(Peers<const float> parts, bf16* out, int64_t count, int first, int ranks) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
  for (int n = 0; n < ranks; ++n) sum += parts.of[first + n][i];
  out[i] = __float2bfloat16(sum);
}

// No state travels: each rank reads what the places before it have of its heads, and computes all of it, in float, with
// products by cuBLAS.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : rank_(rank.rank()),
        world_(rank.world()),
        shape_{static_cast<int>(args.tokens),    static_cast<int>(args.heads),      static_cast<int>(args.key_dim),
               static_cast<int>(args.value_dim), rank_ % static_cast<int>(args.tp), rank_ / static_cast<int>(args.tp),
               static_cast<int>(args.tp)},
        words_(rank, 64 * sizeof(uint32_t)),
        q_(rank, args.q),
        k_(rank, args.k),
        v_(rank, args.v),
        g_(rank, args.g),
        b_(rank, args.b),
        parts_(rank, static_cast<size_t>(args.tokens * args.hidden) * sizeof(float)) {
    const int64_t all = args.heads * shape_.padded(), keys = all * args.key_dim, values = all * args.value_dim;
    const auto make = [&](float*& to, int64_t count) {
      fabricbench::check_cuda(cudaMalloc(&to, static_cast<size_t>(count) * sizeof(float)));
      all_[count_++] = to;
    };
    for (float** to : {&of_.q, &of_.k, &of_.logs, &of_.reads, &of_.backs, &of_.ends, &of_.inverses}) make(*to, keys);
    for (float** to : {&of_.triangles, &of_.scores, &of_.inverse}) make(*to, all * kChunk);
    for (float** to : {&of_.values, &of_.results}) make(*to, values);
    make(of_.strength, all);
    make(of_.decays, keys / kChunk);
    make(of_.written, args.heads * kChunk * args.value_dim);
    make(of_.state, args.heads * args.key_dim * args.value_dim);
    fabricbench::check_cuda(
        cudaMalloc(&context_, static_cast<size_t>(args.tokens * args.heads * args.value_dim) * sizeof(bf16)));
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    for (int i = 0; i < count_; ++i) cudaFree(all_[i]);
    cudaFree(context_);
  }

  void run(const Args& args, cudaStream_t stream) {
    const int heads = shape_.heads, chunks = shape_.chunks(), tokens = shape_.padded(), pairs = kChunk * kChunk;
    const int dim = shape_.key_dim, width = shape_.value_dim;
    const auto grid = [](int64_t x, int64_t y) { return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y)); };
    const auto barrier = [&] {
      fabricbench::rank_barrier_kernel<<<1, kWarp, 0, stream>>>(words_.peers<uint32_t>(), rank_, world_, ++round_);
    };
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    barrier();  // all inputs are there
    const Inputs in = {q_.peers<const bf16>(),
                       k_.peers<const bf16>(),
                       v_.peers<const bf16>(),
                       g_.peers<const bf16>(),
                       b_.peers<const bf16>(),
                       args.a_log,
                       args.dt_bias};
    pull<<<grid(tokens, heads), kWarp, 0, stream>>>(in, shape_, of_);
    scale_rows<<<grid(chunks, heads), kThreads, 0, stream>>>(shape_, of_);
    const auto rows = [&](float* base) { return Matrix{base, dim, int64_t{kChunk} * dim}; };
    multiply(true, kChunk, kChunk, dim, 1, rows(of_.backs), rows(of_.inverses), 0, {of_.triangles, kChunk, pairs},
             heads * chunks);
    multiply(true, kChunk, kChunk, dim, 1, rows(of_.reads), rows(of_.inverses), 0, {of_.scores, kChunk, pairs},
             heads * chunks);
    invert<<<grid(chunks, heads), kChunk, 0, stream>>>(shape_, of_);
    fabricbench::check_cuda(
        cudaMemsetAsync(of_.state, 0, static_cast<size_t>(heads) * dim * width * sizeof(float), stream));
    const Matrix state = {of_.state, width, int64_t{dim} * width};
    const Matrix written = {of_.written, width, int64_t{kChunk} * width};
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const auto keys = [&](float* base) {
        return Matrix{base + int64_t{chunk} * kChunk * dim, dim, int64_t{tokens} * dim};
      };
      const auto values = [&](float* base) {
        return Matrix{base + int64_t{chunk} * kChunk * width, width, int64_t{tokens} * width};
      };
      const auto square = [&](float* base) {
        return Matrix{base + int64_t{chunk} * pairs, kChunk, int64_t{chunks} * pairs};
      };
      multiply(false, kChunk, width, dim, -1, keys(of_.backs), state, 1, values(of_.values), heads);
      multiply(false, kChunk, width, kChunk, 1, square(of_.inverse), values(of_.values), 0, written, heads);
      multiply(false, kChunk, width, dim, 1, keys(of_.reads), state, 0, values(of_.results), heads);
      multiply(false, kChunk, width, kChunk, 1, square(of_.scores), written, 1, values(of_.results), heads);
      decay_state<<<grid((dim * width / 4 + kThreads - 1) / kThreads, heads), kThreads, 0, stream>>>(shape_, of_,
                                                                                                     chunk);
      add_outer(keys(of_.ends), written, state, heads);
    }
    round_results<<<grid(args.tokens, heads), 64, 0, stream>>>(shape_, of_, context_);

    // cuBLAS has matrices by columns: what is context weight^T by rows is (weight context^T)^T there.
    const auto hidden = static_cast<int>(args.hidden), depth = heads * width;
    const float one = 1, zero = 0;
    fabricbench::check_cublas(cublasGemmEx(
        blas_, CUBLAS_OP_T, CUBLAS_OP_N, hidden, shape_.tokens, depth, &one, args.weight, CUDA_R_16BF, depth, context_,
        CUDA_R_16BF, depth, &zero, parts_.mine<float>(), CUDA_R_32F, hidden, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    barrier();  // all parts are there, and all inputs have been read
    const int64_t count = args.tokens * args.hidden;
    add<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        parts_.peers<const float>(), args.out, count, shape_.place * shape_.tp, shape_.tp);
    // The next call's first barrier is behind this: parts are written again when all have read them.
  }

 private:
  struct Matrix {  // by rows
    float* at;
    int row;
    int64_t next;  // from one of the batch to the next
  };
  // c = alpha a b + beta c, or alpha a b^T. cuBLAS has columns where these have rows, so that it multiplies b^T a^T.
  void multiply(bool transposed, int m, int n, int k, float alpha, Matrix a, Matrix b, float beta, Matrix c,
                int batch) {
    fabricbench::check_cublas(cublasSgemmStridedBatched(blas_, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, n,
                                                        m, k, &alpha, b.at, b.row, b.next, a.at, a.row, a.next, &beta,
                                                        c.at, c.row, c.next, batch));
  }
  // state += keys^T written
  void add_outer(Matrix keys, Matrix written, Matrix state, int batch) {
    const float one = 1;
    fabricbench::check_cublas(cublasSgemmStridedBatched(
        blas_, CUBLAS_OP_N, CUBLAS_OP_T, shape_.value_dim, shape_.key_dim, kChunk, &one, written.at, written.row,
        written.next, keys.at, keys.row, keys.next, &one, state.at, state.row, state.next, batch));
  }

  int rank_, world_;
  Shape shape_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, q_, k_, v_, g_, b_, parts_;
  cublasHandle_t blas_ = nullptr;
  Buffers of_ = {};
  float* all_[16] = {};
  int count_ = 0;
  bf16* context_ = nullptr;
};
// [/solution]
