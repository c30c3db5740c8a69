// Shuffles, votes, matches and reductions within a warp.

// run: shuffles grid=1 block=64 shared=0
// in:  i32[64] = random 5
// out: i32[256]
extern "C" __global__ void shuffles(const int* in, int* out, int n) {
  const int i = int(threadIdx.x);
  const int v = in[i];
  out[4 * i] = __shfl_sync(0xffffffff, v, 5);
  out[4 * i + 1] = __shfl_up_sync(0xffffffff, v, 3, 16);
  out[4 * i + 2] = __shfl_down_sync(0xffffffff, v, 2);
  out[4 * i + 3] = __shfl_xor_sync(0xffffffff, v, 7, 8);
}
extern "C" void expect_shuffles(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    const int warp = i / 32 * 32, lane = i % 32;
    out[4 * i] = in[warp + 5];
    out[4 * i + 1] = lane % 16 >= 3 ? in[i - 3] : in[i];
    out[4 * i + 2] = lane + 2 < 32 ? in[i + 2] : in[i];
    out[4 * i + 3] = in[warp + (lane ^ 7)];
  }
}

// run: shuffle_types grid=1 block=32 shared=0
// in:  f64[32] = random 6
// out: f64[96]
extern "C" __global__ void shuffle_types(const double* in, double* out, int n) {
  const int i = int(threadIdx.x);
  out[i] = __shfl_xor_sync(0xffffffff, in[i], 1);
  out[n + i] = __shfl_down_sync(0xffffffff, float(in[i]), 1);
  out[2 * n + i] = double(__shfl_up_sync(0xffffffff, (long long)(in[i] * 1e15), 1));
}
extern "C" void expect_shuffle_types(const double* in, double* out, int n) {
  for (int i = 0; i < n; ++i) {
    out[i] = in[i ^ 1];
    out[n + i] = float(in[i + 1 < n ? i + 1 : i]);
    out[2 * n + i] = double((long long)(in[i ? i - 1 : 0] * 1e15));
  }
}

// run: warp_sum grid=1 block=32 shared=0
// in:  f32[32] = iota
// out: f32[1]
// expect: list 496
extern "C" __global__ void warp_sum(const float* in, float* out, int n) {
  float sum = in[threadIdx.x];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffff, sum, distance);
  if (threadIdx.x == 0) *out = sum;
}

// run: votes grid=1 block=32 shared=0
// in:  u32[32] = iota
// out: u32[12]
extern "C" __global__ void votes(const unsigned* in, unsigned* out, int n) {
  const unsigned v = in[threadIdx.x];
  const unsigned all = 0xffffffff;
  unsigned r[12];
  int same = 0;
  r[0] = __ballot_sync(all, v % 3 == 0);
  r[1] = unsigned(__any_sync(all, v == 31));
  r[2] = unsigned(__all_sync(all, v < 31));
  r[3] = __activemask();
  r[4] = __match_any_sync(all, v / 8);
  r[5] = __match_all_sync(all, v / 32, &same);
  r[6] = unsigned(same);
  r[7] = __reduce_add_sync(all, v);
  r[8] = __reduce_max_sync(all, v);
  r[9] = unsigned(__reduce_min_sync(all, -int(v)));
  r[10] = __reduce_or_sync(all, v) ^ __reduce_and_sync(all, v | 64);
  r[11] = __reduce_xor_sync(all, v * v);
  if (threadIdx.x == 9) {
    for (int i = 0; i < 12; ++i) out[i] = r[i];
  }
}
extern "C" void expect_votes(const unsigned* in, unsigned* out, int n) {
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 0) out[0] |= 1u << i;
    out[11] ^= in[i] * in[i];
    out[7] += in[i];
  }
  out[1] = 1;
  out[2] = 0;
  out[3] = out[5] = 0xffffffff;
  out[4] = 0xff00;
  out[6] = 1;
  out[8] = 31;
  out[9] = unsigned(-31);
  out[10] = 31 ^ 64;
}

// run: divergent_votes grid=1 block=32 shared=0
// in:  u32[32] = random 8
// out: u32[32]
extern "C" __global__ void divergent_votes(const unsigned* in, unsigned* out, int n) {
  const unsigned v = in[threadIdx.x];
  const unsigned odd = __ballot_sync(0xffffffff, v & 1);
  if (v & 1) {
    out[threadIdx.x] = __ballot_sync(odd, v & 2);
  } else {
    __syncwarp(~odd);
    out[threadIdx.x] = __shfl_sync(~odd, v, __ffs(int(~odd)) - 1);
  }
}
extern "C" void expect_divergent_votes(const unsigned* in, unsigned* out, int n) {
  unsigned ballot = 0, first_even = 0;
  for (int i = n - 1; i >= 0; --i) {
    if ((in[i] & 3) == 3) ballot |= 1u << i;
    if (!(in[i] & 1)) first_even = in[i];
  }
  for (int i = 0; i < n; ++i) out[i] = in[i] & 1 ? ballot : first_even;
}

// run: block_votes grid=1 block=96 shared=0
// in:  i32[96] = iota
// out: i32[3]
// expect: list 48 0 1
extern "C" __global__ void block_votes(const int* in, int* out, int n) {
  const int v = in[threadIdx.x];
  const int count = __syncthreads_count(v % 2 == 0);
  const int all = __syncthreads_and(v > 0);
  const int any = __syncthreads_or(v == 95);
  if (threadIdx.x == 40) {
    out[0] = count;
    out[1] = all != 0;
    out[2] = any != 0;
  }
}
