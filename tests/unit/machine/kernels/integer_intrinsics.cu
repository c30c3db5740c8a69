// Integer intrinsics: counting, permuting, funnel shifts, high products, dot products.

// run: integer_intrinsics grid=1 block=64 shared=0
// in:  u32[64] = random 4
// out: u32[1152]
extern "C" __global__ void integer_intrinsics(const unsigned* in, unsigned* out, int n) {
  const unsigned x = in[threadIdx.x], y = in[(threadIdx.x + 1) % n];
  unsigned* r = out + 18 * threadIdx.x;
  r[0] = __popc(x);
  r[1] = __clz(int(x >> (y & 31)));
  r[2] = __ffs(int(x << (y & 31)));
  r[3] = __brev(x);
  r[4] = __byte_perm(x, y, 0x3715);
  r[5] = __funnelshift_l(x, y, x & 31);
  r[6] = __funnelshift_r(x, y, y & 31);
  r[7] = __funnelshift_rc(x, y, 32);
  r[8] = unsigned(__mulhi(int(x), int(y)));
  r[9] = __umulhi(x, y);
  r[10] = unsigned(__mul24(int(x) >> 8, int(y) >> 8));
  r[11] = __sad(int(x), int(y), 3u);
  r[12] = unsigned(__dp4a(int(x), int(y), 100));
  r[13] = __dp4a(x, y, 100u);
  r[14] = unsigned(__hadd(int(x), int(y)));
  r[15] = __popcll((unsigned long long)x << 32 | y) + __clzll((long long)(y >> (x & 31))) * 100 +
          __ffsll((long long)((unsigned long long)x << 20)) * 10000;
  const unsigned long long a = (unsigned long long)x << 32 | y, b = (unsigned long long)y << 32 | x;
  r[16] = unsigned(__umul64hi(a, b) >> 7);
  r[17] = unsigned(__mul64hi((long long)a, (long long)b) >> 7) ^ unsigned(__brevll(a) >> 5);
}
extern "C" void expect_integer_intrinsics(const unsigned* in, unsigned* out, int n) {
  for (int i = 0; i < n; ++i) {
    const unsigned x = in[i], y = in[(i + 1) % n];
    unsigned* r = out + 18 * i;
    auto leading = [](unsigned long long v, int bits) {
      int count = 0;
      while (count < bits && !(v >> (bits - 1 - count) & 1)) ++count;
      return unsigned(count);
    };
    auto first = [](unsigned long long v) {
      unsigned at = 0;
      while (at < 64 && !(v >> at & 1)) ++at;
      return at == 64 ? 0 : at + 1;
    };
    auto reversed = [](unsigned long long v, int bits) {
      unsigned long long w = 0;
      for (int k = 0; k < bits; ++k) w |= (v >> k & 1) << (bits - 1 - k);
      return w;
    };
    auto ones = [](unsigned long long v) {
      unsigned count = 0;
      for (; v; v &= v - 1) ++count;
      return count;
    };
    const unsigned long long a = (unsigned long long)x << 32 | y, b = (unsigned long long)y << 32 | x;
    const unsigned long long pair = (unsigned long long)y << 32 | x;
    r[0] = ones(x);
    r[1] = leading(x >> (y & 31), 32);
    r[2] = first(x << (y & 31));
    r[3] = unsigned(reversed(x, 32));
    for (int k = 0; k < 4; ++k) r[4] |= unsigned(pair >> (8 * (0x3715 >> 4 * k & 7)) & 255) << 8 * k;
    r[5] = unsigned(pair << (x & 31) >> 32);
    r[6] = unsigned(pair >> (y & 31));
    r[7] = y;
    r[8] = unsigned((long long)(int)x * (int)y >> 32);
    r[9] = unsigned((unsigned long long)x * y >> 32);
    r[10] = unsigned((long long)((int)x >> 8) * ((int)y >> 8));
    r[11] = (int(x) > int(y) ? x - y : y - x) + 3;
    int sum = 100;
    unsigned usum = 100;
    for (int k = 0; k < 4; ++k) {
      sum += (signed char)(x >> 8 * k) * (signed char)(y >> 8 * k);
      usum += (x >> 8 * k & 255) * (y >> 8 * k & 255);
    }
    r[12] = unsigned(sum);
    r[13] = usum;
    r[14] = unsigned(((long long)(int)x + (int)y) >> 1);
    r[15] = ones(a) + leading(y >> (x & 31), 64) * 100 + first((unsigned long long)x << 20) * 10000;
    r[16] = unsigned(((unsigned __int128)a * b >> 64) >> 7);
    r[17] = unsigned((long long)((__int128)(long long)a * (long long)b >> 64) >> 7) ^ unsigned(reversed(a, 64) >> 5);
  }
}
