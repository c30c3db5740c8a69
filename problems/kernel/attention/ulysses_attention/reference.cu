#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <fabricbench/peer_memory.h>
#include <fabricbench/rank.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cuda/atomic>

#include "args.h"

// [solution]
using fabricbench::Peers;
using bf16 = __nv_bfloat16;

constexpr int kMostBlocks = 16;  // all resident at once: they wait for their peers; larger sizes gain by more
constexpr int kWarp = 32, kMostRanks = 8, kRows = 16, kDim = 64;

struct Flags {
  uint32_t arrived[kMostRanks][kMostBlocks];  // by rank and its block: the call whose pieces it has written here
  unsigned long long finished;                // blocks that have written their results into `out` here, in all calls
};

struct Shape {
  int64_t tokens, heads;
  int rank, world;
};

// d += a b: a has 16 rows of 16, b has 8 columns of 16.
__device__ __forceinline__ void multiply(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                         uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ __forceinline__ uint32_t packed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

__device__ __forceinline__ uint32_t word(const uint4& bits, int e) {
  return e < 2 ? bits.x : e < 4 ? bits.y : e < 6 ? bits.z : bits.w;
}

// 16 queries in the registers of a warp, and their attention over the keys that it has seen. A lane has rows lane / 4
// and lane / 4 + 8 of what mma multiplies. Which number of a head stands for which index of a product is free, as long
// as both factors agree: it is chosen so that a lane loads 16 bytes at a time.
struct Rows {
  uint4 q[2][kDim / 32];
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {};
  float out[kDim / 8][4] = {};

  // Scores of 16 keys, of which the first `left` are there, become exponentials; what was summed up is scaled to the
  // new maximum.
  __device__ __forceinline__ void exponentials(float (&s)[2][4], int64_t left, float scale) {
    const int member = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float most = top[r];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        float& value = s[n / 2][2 * r + n % 2];
        value = n / 2 * 8 + member * 2 + n % 2 < left ? value * scale : -INFINITY;
        most = fmaxf(most, value);
      }
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      const float old = exp2f(top[r] - most);
      top[r] = most;
      sum[r] *= old;
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        float& value = s[n / 2][2 * r + n % 2];
        value = exp2f(value - most);
        sum[r] += value;  // of this lane's keys
      }
#pragma unroll
      for (auto& tile : out) {
        tile[2 * r] *= old;
        tile[2 * r + 1] *= old;
      }
    }
  }
};

// Adds 16 keys and values, of which the first `left` are there, to the attention of a warp's rows. A row is kDim / 8
// units of 16 bytes.
__device__ __forceinline__ void add(Rows& rows, const uint4* k, const uint4* v, int64_t left, float scale) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, group = lane / 4, member = lane % 4;
  const auto& q = rows.q;
  float s[2][4] = {};
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int key = h * 8 + group;
#pragma unroll
    for (int c = 0; c < kDim / 32; ++c) {
      const uint4 b = key < left ? k[key * (kDim / 8) + c * 4 + member] : uint4{};
      multiply(s[h], q[0][c].x, q[1][c].x, q[0][c].y, q[1][c].y, b.x, b.y);
      multiply(s[h], q[0][c].z, q[1][c].z, q[0][c].w, q[1][c].w, b.z, b.w);
    }
  }
  rows.exponentials(s, left, scale);
  const uint32_t p[4] = {packed(s[0][0], s[0][1]), packed(s[0][2], s[0][3]), packed(s[1][0], s[1][1]),
                         packed(s[1][2], s[1][3])};
  uint4 value[4];  // of keys 2 member, 2 member + 1, and 8 behind these
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const int key = n / 2 * 8 + member * 2 + n % 2;
    value[n] = key < left ? v[key * (kDim / 8) + group] : uint4{};
  }
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const unsigned which = e % 2 == 0 ? 0x5410 : 0x7632;
    multiply(rows.out[e], p[0], p[1], p[2], p[3], __byte_perm(word(value[0], e), word(value[1], e), which),
             __byte_perm(word(value[2], e), word(value[3], e), which));
  }
}

// Merges the partial results of the block's warps, each over the keys of one rank, and stores the first `count` of the
// 16 rows, `stride` numbers apart.
__device__ __forceinline__ void merge_and_store(Rows& part, bf16* out, int64_t count, int64_t stride, int world) {
  __shared__ float tops[kMostRanks][kRows], sums[kMostRanks][kRows];
  __shared__ __align__(16) float values[kMostRanks][kRows][kDim + 4];  // 4 more: rows in different banks
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int group = lane / 4, member = lane % 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    part.sum[r] += __shfl_xor_sync(~0u, part.sum[r], 1);
    part.sum[r] += __shfl_xor_sync(~0u, part.sum[r], 2);
    if (member == 0) {
      tops[warp][group + 8 * r] = part.top[r];
      sums[warp][group + 8 * r] = part.sum[r];
    }
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float top = -INFINITY, sum = 0;
    for (int s = 0; s < world; ++s) top = fmaxf(top, tops[s][group + 8 * r]);
    for (int s = 0; s < world; ++s) sum += sums[s][group + 8 * r] * exp2f(tops[s][group + 8 * r] - top);
    const float factor = exp2f(part.top[r] - top) / sum;
#pragma unroll
    for (auto& tile : part.out) {
      tile[2 * r] *= factor;
      tile[2 * r + 1] *= factor;
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int e = 0; e < 16; e += 4) {
      const auto* tiles = &part.out[e % 8];
      const int n = 2 * r + e / 8;
      *reinterpret_cast<float4*>(&values[warp][group + 8 * r][member * 16 + e]) = {tiles[0][n], tiles[1][n],
                                                                                   tiles[2][n], tiles[3][n]};
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kDim / 8; i += static_cast<int>(blockDim.x)) {
    const int row = i / (kDim / 8), at = i % (kDim / 8) * 8;
    if (row >= count) continue;
    float4 low = {}, high = {};
    for (int s = 0; s < world; ++s) {
      const float4 a = *reinterpret_cast<const float4*>(&values[s][row][at]);
      const float4 b = *reinterpret_cast<const float4*>(&values[s][row][at + 4]);
      low = {low.x + a.x, low.y + a.y, low.z + a.z, low.w + a.w};
      high = {high.x + b.x, high.y + b.y, high.z + b.z, high.w + b.w};
    }
    *reinterpret_cast<uint4*>(out + row * stride + at) = {packed(low.x, low.y), packed(low.z, low.w),
                                                          packed(high.x, high.y), packed(high.z, high.w)};
  }
  __syncthreads();  // before shared memory is written again
}

// Sends what `peer` needs of this rank's tokens: its heads, [q, k, v][head][token of the sequence] there. Some blocks
// share the work.
__device__ void send(const uint4* q, const uint4* k, const uint4* v, uint4* inbox, const Shape& shape, int64_t row,
                     int peer, int64_t part, int64_t parts) {
  const int64_t piece = shape.heads * row, pieces = 3 * shape.tokens;
  for (int64_t i = part * blockDim.x + threadIdx.x; i < pieces * piece; i += parts * blockDim.x) {
    const int64_t token = i / piece % shape.tokens, which = i / piece / shape.tokens, at = i % piece;
    const uint4* from = which == 0 ? q : which == 1 ? k : v;
    const int64_t head = which * shape.heads + at / row;
    inbox[((head * shape.world + shape.rank) * shape.tokens + token) * row + at % row] =
        __ldg(from + (token * shape.world + peer) * piece + at);
  }
}

// One kernel does it all. Block b belongs to one peer: it sends queries, keys and values for this peer's heads, and
// computes attention of this peer's queries, which goes straight into the peer's `out`. Warp s of a block looks at the
// keys of rank s, as soon as these are there.
//
// Inboxes have two sets, used in turn. What a rank writes in call e overwrites what was read in call e - 2. All reading
// of it has ended: the writer has ended call e - 1, so it has got results of the reader's kernel of call e - 1, which
// came behind that of call e - 2.
__global__ void __launch_bounds__(kMostRanks* kWarp)
    attend(Peers<Flags> flags, const uint4* q, const uint4* k, const uint4* v, Peers<uint4> inbox, Peers<bf16> out,
           Shape shape, float scale, uint32_t call) {
  using Word = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;
  using Count = cuda::atomic_ref<unsigned long long, cuda::thread_scope_system>;
  constexpr int64_t kRow = kDim / 8;  // units of 16 bytes
  const int rank = shape.rank, world = shape.world;
  const int peer = (rank + static_cast<int>(blockIdx.x)) % world;
  const int part = static_cast<int>(blockIdx.x) / world, parts = static_cast<int>(gridDim.x) / world;
  const int64_t sequence = world * shape.tokens, tensor = shape.heads * sequence * kRow;
  const int64_t set = call % 2 * 3 * tensor;

  send(q, k, v, inbox.of[peer] + set, shape, kRow, peer, part, parts);
  __syncthreads();  // orders the stores of all threads before the release
  if (threadIdx.x == 0) Word(flags.of[peer]->arrived[rank][part]).store(call, cuda::memory_order_release);

  // A warp needs the keys of its rank and the queries of the peer. That the peer has sent something in this call also
  // says that its `out` may be written.
  const int source = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int i = lane; i < parts; i += kWarp) {
    while (Word(flags.of[rank]->arrived[source][i]).load(cuda::memory_order_acquire) < call) {
    }
    while (Word(flags.of[rank]->arrived[peer][i]).load(cuda::memory_order_acquire) < call) {
    }
  }
  __syncwarp();  // what a lane has acquired is there for all

  const int64_t tiles = (shape.tokens + kRows - 1) / kRows;  // of the peer's queries, for each head
  for (int64_t tile = part; tile < shape.heads * tiles; tile += parts) {
    const int64_t head = tile / tiles, first = tile % tiles * kRows, count = shape.tokens - first;
    const uint4* mine = inbox.of[rank] + set + head * sequence * kRow;
    const uint4* queries = mine + (peer * shape.tokens + first) * kRow;
    const uint4* keys = mine + tensor + source * shape.tokens * kRow;
    Rows rows;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int64_t row = lane / 4 + 8 * r;
#pragma unroll
      for (int c = 0; c < kDim / 32; ++c) rows.q[r][c] = row < count ? queries[row * kRow + c * 4 + lane % 4] : uint4{};
    }
    for (int64_t key = 0; key < shape.tokens; key += kRows)
      add(rows, keys + key * kRow, keys + tensor + key * kRow, shape.tokens - key, scale);
    const int64_t stride = world * shape.heads * kDim;
    merge_and_store(rows, out.of[peer] + first * stride + (rank * shape.heads + head) * kDim, count, stride, world);
  }

  // The last barrier of merge_and_store orders the stores of all threads before the release. Counts of all calls add
  // up: no rank begins the next call's attention before this one has sent something in it.
  if (threadIdx.x == 0) Count(flags.of[peer]->finished).fetch_add(1, cuda::memory_order_release);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    while (Count(flags.of[rank]->finished).load(cuda::memory_order_acquire) < uint64_t{call} * gridDim.x) {
    }
  }
}

class Solution {
 public:
  Solution(const fabricbench::Rank& rank, const Args& args)
      : shape_{args.tokens, args.heads, rank.rank(), rank.world()},
        flags_(rank, sizeof(Flags)),
        inboxes_(rank, static_cast<size_t>(2 * 3 * shape_.world * args.tokens * args.heads * kDim) * sizeof(bf16)),
        outputs_(rank, args.out) {}

  void run(const Args& args, cudaStream_t stream) {
    // The same on all ranks. Every block has at least one tile.
    const int64_t tiles = args.heads * ((args.tokens + kRows - 1) / kRows);
    const auto blocks = shape_.world * std::min<int64_t>(tiles, kMostBlocks / shape_.world);
    const auto quads = [](const bf16* p) { return reinterpret_cast<const uint4*>(p); };
    const float scale = 1.44269504F / std::sqrt(static_cast<float>(kDim));  // exponentials are powers of 2
    attend<<<static_cast<unsigned>(blocks), shape_.world * kWarp, 0, stream>>>(
        flags_.peers<Flags>(), quads(args.q), quads(args.k), quads(args.v), inboxes_.peers<uint4>(),
        outputs_.peers<bf16>(), shape_, scale, ++call_);
  }

 private:
  Shape shape_;
  uint32_t call_ = 0;  // the flags of fresh memory are 0
  fabricbench::PeerMemory flags_, inboxes_, outputs_;
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
