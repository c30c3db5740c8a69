// Vector types: whole-vector loads and stores, members, make_ functions.

// run: float4_reverse grid=1 block=16 shared=0
// in:  f32[64] = iota
// out: f32[64]
extern "C" __global__ void float4_reverse(const float* in, float* out, int n) {
  const int i = int(threadIdx.x);
  if (4 * i >= n) return;
  const float4 v = reinterpret_cast<const float4*>(in)[i];
  reinterpret_cast<float4*>(out)[i] = make_float4(v.w, v.z, v.y, v.x);
}
extern "C" void expect_float4_reverse(const float* in, float* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i / 4 * 4 + 3 - i % 4];
}

// run: mixed_vectors grid=1 block=32 shared=0
// in:  u32[64] = random 11
// out: u32[64]
extern "C" __global__ void mixed_vectors(const unsigned* in, unsigned* out, int n) {
  const int i = int(threadIdx.x);
  if (2 * i >= n) return;
  const uint2 v = reinterpret_cast<const uint2*>(in)[i];
  const uchar4 bytes = reinterpret_cast<const uchar4*>(in)[2 * i];
  const short2 shorts = reinterpret_cast<const short2*>(in)[2 * i + 1];
  const ushort4 sums = make_ushort4(bytes.x, bytes.y, bytes.z, bytes.w);
  const int3 three = make_int3(shorts.x, shorts.y, int(v.x));
  reinterpret_cast<uint2*>(out)[i] = make_uint2(unsigned(sums.x + sums.y + sums.z + sums.w),
                                                unsigned(three.x * 3 + three.y) + unsigned(three.z) + v.y);
}
extern "C" void expect_mixed_vectors(const unsigned* in, unsigned* out, int n) {
  for (int i = 0; i < n / 2; ++i) {
    const unsigned x = in[2 * i], y = in[2 * i + 1];
    out[2 * i] = (x & 255) + (x >> 8 & 255) + (x >> 16 & 255) + (x >> 24);
    out[2 * i + 1] = unsigned(short(y & 0xffff) * 3 + short(y >> 16)) + x + y;
  }
}

static_assert(sizeof(float3) == 12 && alignof(float3) == 4);
static_assert(sizeof(double2) == 16 && alignof(double2) == 16);
static_assert(sizeof(longlong2) == 16 && alignof(longlong2) == 16);
static_assert(sizeof(char4) == 4 && alignof(char4) == 4);
static_assert(sizeof(uint3) == 12 && sizeof(ushort3) == 6 && alignof(ushort4) == 8);
