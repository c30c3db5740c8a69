#pragma once

// Attention of a warp to tiles of keys, of the baselines that gather all keys.

using bf16 = __nv_bfloat16;

constexpr int kWarp = 32, kRows = 16, kTile = 16;  // queries of a warp, and keys that it looks at together
constexpr int kMostRanks = 8;
constexpr int kDim = 128;           // numbers of a head
constexpr int kHalf = 64;           // numbers of a head that are merged at a time
constexpr float kNothing = -1e30F;  // the maximum of no scores

// d += a b: a has 16 rows of 16, b has 8 columns of 16.
__device__ __forceinline__ void multiply(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                         uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ uint32_t packed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

__device__ __forceinline__ float power_of_two(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ __forceinline__ float across_row(float value, bool maximum) {
  for (int step = 1; step < 4; step *= 2) {
    const float other = __shfl_xor_sync(~0u, value, step);
    value = maximum ? fmaxf(value, other) : value + other;
  }
  return value;
}

// Attention of 16 queries over some keys, in the registers of a warp. A lane has rows lane / 4 and lane / 4 + 8. Which
// numbers of a head stand for which index of a product is free, as long as both factors agree: it is chosen so that a
// lane loads 16 bytes at a time.
struct Attention {
  uint4 q[2][kDim / 32];
  float top[2] = {kNothing, kNothing}, sum[2] = {};
  float out[kDim / 8][4] = {};

  // 16 keys and values, `stride` units of 16 bytes apart. `left`: how many of them there are; `seen`: how many of them
  // each row sees.
  __device__ __forceinline__ void add(const uint4* k, const uint4* v, int64_t stride, int left, const int (&seen)[2],
                                      float scale) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, group = lane / 4, member = lane % 4;
    // Behind the last key it stands for those that are not there: no row sees them. All loads are under way before the
    // first is used.
    uint4 keys[2][kDim / 32], values[kDim / kHalf][4];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int c = 0; c < kDim / 32; ++c) keys[h][c] = k[min(h * 8 + group, left - 1) * stride + c * 4 + member];
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) {  // keys 2 member, 2 member + 1, and 8 behind these
      const int64_t row = min(n / 2 * 8 + member * 2 + n % 2, left - 1) * stride;
#pragma unroll
      for (int j = 0; j < kDim / kHalf; ++j) values[j][n] = v[row + j * 8 + group];
    }
    float s[2][4] = {};
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int c = 0; c < kDim / 32; ++c) {
        const uint4 b = keys[h][c];
        multiply(s[h], q[0][c].x, q[1][c].x, q[0][c].y, q[1][c].y, b.x, b.y);
        multiply(s[h], q[0][c].z, q[1][c].z, q[0][c].w, q[1][c].w, b.z, b.w);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float most = top[r];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        float& value = s[n / 2][2 * r + n % 2];
        value = n / 2 * 8 + member * 2 + n % 2 < seen[r] ? value * scale : kNothing;
        most = fmaxf(most, value);
      }
      most = across_row(most, true);
      const float old = power_of_two(top[r] - most);
      top[r] = most;
      sum[r] *= old;
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        float& value = s[n / 2][2 * r + n % 2];
        value = value == kNothing ? 0 : power_of_two(value - most);
        sum[r] += value;  // of this lane's keys
      }
#pragma unroll
      for (auto& tile : out) {
        tile[2 * r] *= old;
        tile[2 * r + 1] *= old;
      }
    }
    const uint32_t p[4] = {packed(s[0][0], s[0][1]), packed(s[0][2], s[0][3]), packed(s[1][0], s[1][1]),
                           packed(s[1][2], s[1][3])};
#pragma unroll
    for (int j = 0; j < kDim / kHalf; ++j) {
      const auto& rows = values[j];
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const unsigned which = e % 2 == 0 ? 0x5410 : 0x7632;
        multiply(out[j * 8 + e], p[0], p[1], p[2], p[3], __byte_perm(word(rows[0], e), word(rows[1], e), which),
                 __byte_perm(word(rows[2], e), word(rows[3], e), which));
      }
    }
  }

  __device__ static uint32_t word(const uint4& bits, int e) {
    return e < 2 ? bits.x : e < 4 ? bits.y : e < 6 ? bits.z : bits.w;
  }
};

// Where this rank's tokens are in the sequence, and how many of another rank's keys the token at a position sees: their
// positions ascend, so these are the first ones.
struct Sequence {
  int tokens, world;
  __device__ int position(int rank, int t) const {
    return t < tokens ? rank * tokens + t : (2 * world - 1 - rank) * tokens + t - tokens;
  }
  __device__ int seen(int position, int source) const {
    const int first = position + 1 - source * tokens, second = position + 1 - (2 * world - 1 - source) * tokens;
    return min(max(first, 0), tokens) + min(max(second, 0), tokens);
  }
};
