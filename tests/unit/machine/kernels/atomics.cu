// atomicAdd and its family, in global and in shared memory, at all scopes.

// run: atomic_integers grid=4 block=64 shared=0
// in:  i32[256] = iota
// out: i32[13]
extern "C" __global__ void atomic_integers(const int* in, int* out, int n) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  const int v = in[i];
  auto* u = reinterpret_cast<unsigned*>(out);
  atomicAdd(&out[0], v);
  atomicSub(&out[1], v);
  atomicMax(&out[2], v);
  atomicMin(&out[3], -v);
  atomicOr(&out[4], v);
  atomicXor(&out[5], v * v);
  atomicInc(&u[6], 99);
  atomicDec(&u[7], 99);
  atomicAdd_system(&out[8], 1);
  atomicMax_system(&u[9], unsigned(v) * 3);
  atomicAnd_system(&out[10], v);
  for (int old = 0, seen; (seen = atomicCAS(&out[11], old, old + v)) != old; old = seen) continue;
  if (v == n - 1) atomicExch(&out[12], v);
}
extern "C" void expect_atomic_integers(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    out[0] += in[i];
    out[1] -= in[i];
    if (in[i] > out[2]) out[2] = in[i];
    if (-in[i] < out[3]) out[3] = -in[i];
    out[4] |= in[i];
    out[5] ^= in[i] * in[i];
    out[6] = unsigned(out[6]) >= 99 ? 0 : out[6] + 1;
    out[7] = out[7] == 0 || unsigned(out[7]) > 99 ? 99 : out[7] - 1;
    out[8] += 1;
    if (unsigned(in[i]) * 3 > unsigned(out[9])) out[9] = in[i] * 3;
    out[11] += in[i];
  }
  out[12] = n - 1;
}

// run: atomic_wide grid=2 block=64 shared=0
// in:  u64[128] = random 9
// out: u64[7]
extern "C" __global__ void atomic_wide(const unsigned long long* in, unsigned long long* out, int n) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&out[0], in[i]);
  atomicMax(&out[1], in[i]);
  atomicMax(reinterpret_cast<long long*>(&out[2]), (long long)in[i]);
  atomicOr(&out[3], in[i] & 0x1111111111111111ull);
  atomicXor_system(&out[4], in[i]);
  if (i == n - 1) atomicExch(&out[5], in[i]);
  for (unsigned long long old = 0, seen; (seen = atomicCAS(&out[6], old, old ^ (in[i] >> 1))) != old; old = seen)
    continue;
}
extern "C" void expect_atomic_wide(const unsigned long long* in, unsigned long long* out, int n) {
  for (int i = 0; i < n; ++i) {
    out[0] += in[i];
    if (in[i] > out[1]) out[1] = in[i];
    if ((long long)in[i] > (long long)out[2]) out[2] = in[i];
    out[3] |= in[i] & 0x1111111111111111ull;
    out[4] ^= in[i];
    out[6] ^= in[i] >> 1;
  }
  out[5] = in[n - 1];
}

// run: atomic_floats grid=1 block=64 shared=0
// in:  f32[64] = iota
// out: f32[8]
// expect: list 2016 4032 7 64 128 192 256 2016
extern "C" __global__ void atomic_floats(const float* in, float* out, int n) {
  const float v = in[threadIdx.x];
  atomicAdd(&out[0], v);
  atomicAdd_system(&out[1], 2 * v);
  if (threadIdx.x == 7) atomicExch(&out[2], v);
  atomicAdd(&out[3], 1.0f);
  atomicAdd(&out[4], 2.0f);
  atomicAdd_block(&out[5], 3.0f);
  atomicAdd(&out[6], 4.0f);
  __shared__ double sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, double(v));
  __syncthreads();
  if (threadIdx.x == 0) out[7] = float(sum);
}

// run: atomic_vectors grid=1 block=64 shared=0
// in:  f32[64] = const 0.5
// out: f32[8]
// expect: list 32 64 0 0 32 64 96 128
extern "C" __global__ void atomic_vectors(const float* in, float* out, int n) {
  const float v = in[threadIdx.x];
  atomicAdd(reinterpret_cast<float2*>(out), make_float2(v, 2 * v));
  atomicAdd(reinterpret_cast<float4*>(out + 4), make_float4(v, 2 * v, 3 * v, 4 * v));
}

// run: histogram grid=4 block=128 shared=0
// in:  u32[512] = random 21
// out: u32[16]
extern "C" __global__ void histogram(const unsigned* in, unsigned* out, int n) {
  __shared__ unsigned bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[in[blockIdx.x * blockDim.x + threadIdx.x] % 16], 1u);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
extern "C" void expect_histogram(const unsigned* in, unsigned* out, int n) {
  for (int i = 0; i < n; ++i) ++out[in[i] % 16];
}

// run: last_block grid=8 block=32 shared=0
// in:  i32[256] = iota
// out: i32[10]
extern "C" __global__ void last_block(const int* in, int* out, int n) {
  __shared__ bool last;
  int sum = in[blockIdx.x * blockDim.x + threadIdx.x];
  sum = __reduce_add_sync(0xffffffff, sum);
  if (threadIdx.x == 0) {
    out[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(&out[8], 1) == int(gridDim.x) - 1;
    __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int total = 0;
    for (int b = 0; b < int(gridDim.x); ++b) total += __ldcg(&out[b]);
    out[9] = total;
  }
}
extern "C" void expect_last_block(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    out[i / 32] += in[i];
    out[9] += in[i];
  }
  out[8] = 8;
}

// run: compare_and_swap_16 grid=1 block=32 shared=0
// in:  u16[32] = iota 1
// out: u16[2]
// expect: list 528 0
extern "C" __global__ void compare_and_swap_16(const unsigned short* in, unsigned short* out, int n) {
  unsigned short old = 0, seen;
  while ((seen = atomicCAS(out, old, (unsigned short)(old + in[threadIdx.x]))) != old) old = seen;
}

// run: atomic_scopes grid=2 block=64 shared=0
// in:  i32[128] = iota 1
// out: i32[8]
// out[7] stays 0: a counter that only falls was never positive.
extern "C" __global__ void atomic_scopes(const int* in, int* out, int n) {
  const int v = in[blockIdx.x * blockDim.x + threadIdx.x];
  auto* u = reinterpret_cast<unsigned*>(out);
  if (atomicSub_system(&out[0], v) > 0) atomicAdd(&out[7], 1);
  atomicSub_system(&u[1], unsigned(v));
  if (blockIdx.x == 0) atomicSub_block(&out[2], v);
  atomicOr_system(&u[3], unsigned(v));
  if (v == n) atomicExch_system(&out[4], v);
  for (int old = 0, seen; (seen = atomicCAS_system(&out[5], old, old + v)) != old; old = seen) continue;
  atomicMin_system(&out[6], -v);
}
extern "C" void expect_atomic_scopes(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    out[0] -= in[i];
    out[1] -= in[i];
    if (i < 64) out[2] -= in[i];
    out[3] |= in[i];
    out[5] += in[i];
  }
  out[4] = n;
  out[6] = -n;
}
