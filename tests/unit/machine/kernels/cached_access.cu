// Loads and stores with a cache operator: the values are those of plain accesses.

// run: cached_access grid=1 block=32 shared=0
// in:  u32[128] = random 51
// out: u32[320]
extern "C" __global__ void cached_access(const unsigned* in, unsigned* out, int n) {
  const int i = int(threadIdx.x);
  __stcs(&out[i], __ldg(&in[i]));
  __stcg(&out[32 + i], __ldcg(&in[32 + i]));
  __stwt(&out[64 + i], __ldca(&in[64 + i]));
  __stwb(&out[96 + i], __ldcs(&in[96 + i]));
  const uint4 v = __ldg(reinterpret_cast<const uint4*>(in) + i);
  __stcs(reinterpret_cast<uint4*>(out + 128) + i, make_uint4(v.w, v.z, v.y, v.x));
  const float f = __ldcv(reinterpret_cast<const float*>(in) + i);
  __stcg(reinterpret_cast<float*>(out) + 256 + i, f);
  const auto byte = __ldg(reinterpret_cast<const unsigned char*>(in) + i);
  const auto pair = __ldg(reinterpret_cast<const ushort2*>(in) + i);
  out[288 + i] = byte + pair.x + pair.y;
}
extern "C" void expect_cached_access(const unsigned* in, unsigned* out, int n) {
  for (int i = 0; i < n; ++i) {
    out[i] = in[i];
    out[128 + i] = in[i / 4 * 4 + 3 - i % 4];
  }
  for (int i = 0; i < 32; ++i) {
    out[256 + i] = in[i];
    out[288 + i] = (in[i / 4] >> 8 * (i % 4) & 255) + (in[i] & 0xffff) + (in[i] >> 16);
  }
}
