// [solution]
#include <fabricbench/cublas.h>
#include <fabricbench/rank_barrier.h>

using fabricbench::Peers;
using bf16 = __nv_bfloat16;
constexpr int kWarp = 32, kThreads = 128;
constexpr int kChunk = 32;  // tokens, those of several ranks where they have fewer

struct Shape {
  int tokens, heads, share, key_dim, value_dim, rank, world;
  __host__ __device__ int sequence() const { return world * tokens; }
  __host__ __device__ int chunks() const { return (sequence() + kChunk - 1) / kChunk; }
  __host__ __device__ int padded() const { return chunks() * kChunk; }
};

// All in float. Heads are those of this rank; tokens those of the sequence, and zeros behind it.
struct Buffers {
  float *q, *k;                 // [head of keys][token][key_dim], of length 1
  float *kk, *qk;               // [head of keys][chunk][token][token]
  float *logs, *strength;       // [head][token]
  float *reads, *backs, *ends;  // [head][token][key_dim]: queries and keys with their factors
  float *values, *results;      // [head][token][value_dim]
  float *inverse, *scores;      // [head][chunk][token][token]
  float* decays;                // [head][chunk]
  float *written, *state;       // [head][token of a chunk][value_dim], [head][key_dim][value_dim]
};

__device__ float sum_of(float value) {
  for (int step = 1; step < kWarp; step *= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

struct Inputs {
  Peers<const bf16> q, k, v, a, b;
  const float *a_log, *dt_bias;
};

// Reads a token and head of keys from its rank, by one warp. Grid: (tokens, heads of keys).
__global__ void pull(Inputs in, Shape shape, Buffers to) {
  const int token = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
  const auto lane = static_cast<int>(threadIdx.x);
  const int owner = token / shape.tokens, all = shape.world * shape.heads;
  const bool there = token < shape.sequence();
  const int64_t row = int64_t{token % shape.tokens} * all + shape.rank * shape.heads + head;
  const int64_t key_at = (int64_t{head} * shape.padded() + token) * shape.key_dim;
  for (int which = 0; which < 2; ++which) {
    const bf16* from = there ? (which == 0 ? in.q : in.k).of[owner] + row * shape.key_dim : nullptr;
    const auto value = [&](int i) { return there ? __bfloat162float(from[i]) : 0.0F; };
    float squares = 0;
    for (int i = lane; i < shape.key_dim; i += kWarp) squares += value(i) * value(i);
    squares = sum_of(squares) + 1e-6F;
    const float length = 1 / sqrtf(which == 0 ? squares * static_cast<float>(shape.key_dim) : squares);
    for (int i = lane; i < shape.key_dim; i += kWarp) (which == 0 ? to.q : to.k)[key_at + i] = value(i) * length;
  }
  for (int n = 0; n < shape.share; ++n) {
    const int64_t at = row * shape.share + n, mine = int64_t{head * shape.share + n} * shape.padded() + token;
    const int whole = (shape.rank * shape.heads + head) * shape.share + n;  // the head's number in the layer
    float log_decay = 0, strength = 0;
    if (there) {
      const float x = __bfloat162float(in.a.of[owner][at]) + in.dt_bias[whole];
      log_decay = -expf(in.a_log[whole]) * log1pf(expf(x));
      strength = 1 / (1 + expf(-__bfloat162float(in.b.of[owner][at])));
    }
    if (lane == 0) {
      to.logs[mine] = log_decay;
      to.strength[mine] = strength;
    }
    for (int i = lane; i < shape.value_dim; i += kWarp) {
      const float value = there ? __bfloat162float(in.v.of[owner][at * shape.value_dim + i]) : 0;
      to.values[mine * shape.value_dim + i] = strength * value;
    }
  }
}

// What does not depend on the state, of a chunk and a head of values, by one warp: lane t has row t. Grid: (chunks,
// heads of values).
__global__ void prepare(Shape shape, Buffers of) {
  __shared__ float logs[kChunk], rows[kChunk][kChunk + 1];
  const int chunk = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y),
            t = static_cast<int>(threadIdx.x);
  const int64_t token = int64_t{head} * shape.padded() + chunk * kChunk;
  const int64_t square = (int64_t{head} * shape.chunks() + chunk) * kChunk * kChunk;
  const int64_t of_keys = (int64_t{head / shape.share} * shape.chunks() + chunk) * kChunk * kChunk;
  if (t == 0) {
    float sum = 0;
    for (int s = 0; s < kChunk; ++s) logs[s] = sum += of.logs[token + s];
    of.decays[head * shape.chunks() + chunk] = expf(sum);
  }
  __syncwarp();
  const float strength = of.strength[token + t];
  for (int s = 0; s < kChunk; ++s) {
    const float by = s <= t ? expf(logs[t] - logs[s]) : 0;
    rows[t][s] = s < t ? strength * by * of.kk[of_keys + t * kChunk + s] : 0;
    of.scores[square + t * kChunk + s] = by * of.qk[of_keys + t * kChunk + s];
  }
  __syncwarp();
  // Column t of the inverse, which this lane alone reads again.
  for (int i = 0; i < kChunk; ++i) {
    float value = i == t ? 1 : 0;
    for (int s = 0; s < i; ++s) value -= rows[i][s] * of.inverse[square + s * kChunk + t];
    of.inverse[square + i * kChunk + t] = value;
  }
  const int64_t keys = (int64_t{head / shape.share} * shape.padded() + chunk * kChunk) * shape.key_dim;
  for (int s = 0; s < kChunk; ++s) {
    const float decay = expf(logs[s]), rest = expf(logs[kChunk - 1] - logs[s]), b = of.strength[token + s];
    for (int i = t; i < shape.key_dim; i += kWarp) {
      const float q = of.q[keys + s * shape.key_dim + i], k = of.k[keys + s * shape.key_dim + i];
      const int64_t at = (token + s) * shape.key_dim + i;
      of.reads[at] = decay * q;
      of.backs[at] = b * decay * k;
      of.ends[at] = rest * k;
    }
  }
}

// Grid: (columns, heads of values).
__global__ void decay_state(Shape shape, Buffers of, int chunk) {
  const int64_t head = blockIdx.y, count = int64_t{shape.key_dim} * shape.value_dim;
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) of.state[head * count + i] *= of.decays[head * shape.chunks() + chunk];
}

// to[token][head] = results[head][token]. Grid: (tokens, heads of values).
__global__ void round_results(Shape shape, Buffers of, bf16* to) {
  const int64_t token = blockIdx.x, head = blockIdx.y, heads = gridDim.y;
  for (int i = static_cast<int>(threadIdx.x); i < shape.value_dim; i += static_cast<int>(blockDim.x)) {
    to[(token * heads + head) * shape.value_dim + i] =
        __float2bfloat16(of.results[(head * shape.padded() + token) * shape.value_dim + i]);
  }
}

// Reads the results of all heads for this rank's tokens. Grid: (tokens, world).
__global__ void pull_back(Peers<const uint4> from, uint4* to, int64_t quads, int rank) {
  const int64_t token = blockIdx.x, tokens = gridDim.x, source = blockIdx.y, world = gridDim.y;
  for (int64_t i = threadIdx.x; i < quads; i += blockDim.x)
    to[(token * world + source) * quads + i] = from.of[source][(rank * tokens + token) * quads + i];
}

// Each rank reads what it needs from its peers, between barriers. All products are cuBLAS's, in float, in chunks of 32
// tokens of the whole sequence.
class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : shape_{static_cast<int>(args.tokens),
               static_cast<int>(args.heads),
               static_cast<int>(args.share),
               static_cast<int>(args.key_dim),
               static_cast<int>(args.value_dim),
               rank.rank(),
               rank.world()},
        words_(rank, 64 * sizeof(uint32_t)),
        q_(rank, args.q),
        k_(rank, args.k),
        v_(rank, args.v),
        a_(rank, args.a),
        b_(rank, args.b),
        results_(rank,
                 static_cast<size_t>(shape_.sequence() * args.heads * args.share * args.value_dim) * sizeof(bf16)) {
    const int64_t heads = args.heads * args.share, tokens = shape_.padded();
    const int64_t keys = args.heads * tokens * args.key_dim, scaled = heads * tokens * args.key_dim;
    const int64_t values = heads * tokens * args.value_dim, pairs = tokens * kChunk;
    const auto make = [&](float*& to, int64_t count) {
      fabricbench::check_cuda(cudaMalloc(&to, static_cast<size_t>(count) * sizeof(float)));
      all_[count_++] = to;
    };
    make(of_.q, keys);
    make(of_.k, keys);
    make(of_.kk, args.heads * pairs);
    make(of_.qk, args.heads * pairs);
    make(of_.logs, heads * tokens);
    make(of_.strength, heads * tokens);
    make(of_.reads, scaled);
    make(of_.backs, scaled);
    make(of_.ends, scaled);
    make(of_.values, values);
    make(of_.results, values);
    make(of_.inverse, heads * pairs);
    make(of_.scores, heads * pairs);
    make(of_.decays, heads * shape_.chunks());
    make(of_.written, heads * kChunk * args.value_dim);
    make(of_.state, heads * args.key_dim * args.value_dim);
    fabricbench::check_cublas(cublasCreate(&blas_));
  }
  ~Solution() {
    cublasDestroy(blas_);
    for (int i = 0; i < count_; ++i) cudaFree(all_[i]);
  }

  void run(const Args& args, cudaStream_t stream) {
    const auto heads = static_cast<int>(args.heads * args.share), chunks = shape_.chunks(), tokens = shape_.padded();
    const int dim = shape_.key_dim, width = shape_.value_dim, pairs = kChunk * kChunk;
    const auto grid = [](int64_t x, int64_t y) { return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y)); };
    const auto barrier = [&] {
      fabricbench::rank_barrier_kernel<<<1, kWarp, 0, stream>>>(words_.peers<uint32_t>(), shape_.rank, shape_.world,
                                                                ++round_);
    };
    fabricbench::check_cublas(cublasSetStream(blas_, stream));
    barrier();  // all inputs are there
    const Inputs in = {q_.peers<const bf16>(),
                       k_.peers<const bf16>(),
                       v_.peers<const bf16>(),
                       a_.peers<const bf16>(),
                       b_.peers<const bf16>(),
                       args.a_log,
                       args.dt_bias};
    pull<<<grid(tokens, args.heads), kWarp, 0, stream>>>(in, shape_, of_);
    const int squares = static_cast<int>(args.heads) * chunks;
    multiply(true, kChunk, kChunk, dim, 1, {of_.k, dim, kChunk * dim}, {of_.k, dim, kChunk * dim}, 0,
             {of_.kk, kChunk, pairs}, squares);
    multiply(true, kChunk, kChunk, dim, 1, {of_.q, dim, kChunk * dim}, {of_.k, dim, kChunk * dim}, 0,
             {of_.qk, kChunk, pairs}, squares);
    prepare<<<grid(chunks, heads), kWarp, 0, stream>>>(shape_, of_);
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
      decay_state<<<grid((dim * width + kThreads - 1) / kThreads, heads), kThreads, 0, stream>>>(shape_, of_, chunk);
      add_outer(keys(of_.ends), written, state, heads);
    }
    round_results<<<grid(shape_.sequence(), heads), 64, 0, stream>>>(shape_, of_, results_.mine<bf16>());
    barrier();  // all results are there, and all inputs have been read
    pull_back<<<grid(args.tokens, shape_.world), 64, 0, stream>>>(
        results_.peers<const uint4>(), reinterpret_cast<uint4*>(args.out), int64_t{heads} * width / 8, shape_.rank);
    // The next call's first barrier is behind this: results are written again when all have read them.
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

  Shape shape_;
  uint32_t round_ = 0;
  fabricbench::PeerMemory words_, q_, k_, v_, a_, b_, results_;
  cublasHandle_t blas_ = nullptr;
  Buffers of_ = {};
  float* all_[16] = {};
  int count_ = 0;
};
// [/solution]
