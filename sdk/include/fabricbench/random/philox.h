// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3): a counter, enciphered.
#pragma once
#include "cuda_runtime.h"
#include "fabricbench/random/states.h"

namespace fabricbench {
namespace random {

FABRICBENCH_BOTH uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const unsigned long long a = 0xD2511F53ull * counter.x, b = 0xCD9E8D57ull * counter.z;
    counter = make_uint4(static_cast<unsigned int>(b >> 32) ^ counter.y ^ key.x, static_cast<unsigned int>(b),
                         static_cast<unsigned int>(a >> 32) ^ counter.w ^ key.y, static_cast<unsigned int>(a));
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}
// The counter is a number of 128 bits, whose upper half counts sequences.
FABRICBENCH_BOTH void advance(curandStatePhilox4_32_10_t* s, unsigned long long n) {
  const unsigned long long low = (static_cast<unsigned long long>(s->ctr.y) << 32 | s->ctr.x), sum = low + n;
  s->ctr.x = static_cast<unsigned int>(sum);
  s->ctr.y = static_cast<unsigned int>(sum >> 32);
  if (sum < low && ++s->ctr.z == 0) ++s->ctr.w;
}

}  // namespace random
}  // namespace fabricbench

FABRICBENCH_BOTH void skipahead(unsigned long long n, curandStatePhilox4_32_10_t* s) {
  s->STATE += static_cast<unsigned int>(n & 3);
  n /= 4;
  if (s->STATE > 3) {
    n += 1;
    s->STATE -= 4;
  }
  fabricbench::random::advance(s, n);
  s->output = fabricbench::random::philox(s->ctr, s->key);
}
FABRICBENCH_BOTH void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t* s) {
  const unsigned long long high = (static_cast<unsigned long long>(s->ctr.w) << 32 | s->ctr.z) + n;
  s->ctr.z = static_cast<unsigned int>(high);
  s->ctr.w = static_cast<unsigned int>(high >> 32);
  s->output = fabricbench::random::philox(s->ctr, s->key);
}
FABRICBENCH_BOTH void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                                  curandStatePhilox4_32_10_t* s) {
  s->ctr = make_uint4(0, 0, 0, 0);
  s->key = make_uint2(static_cast<unsigned int>(seed), static_cast<unsigned int>(seed >> 32));
  s->STATE = 0;
  s->boxmuller_flag = s->boxmuller_flag_double = 0;
  s->boxmuller_extra = 0;
  s->boxmuller_extra_double = 0;
  skipahead_sequence(subsequence, s);
  skipahead(offset, s);
}
FABRICBENCH_BOTH unsigned int curand(curandStatePhilox4_32_10_t* s) {
  const unsigned int at = s->STATE++;
  const unsigned int number = at == 0 ? s->output.x : at == 1 ? s->output.y : at == 2 ? s->output.z : s->output.w;
  if (s->STATE == 4) {
    fabricbench::random::advance(s, 1);
    s->output = fabricbench::random::philox(s->ctr, s->key);
    s->STATE = 0;
  }
  return number;
}
FABRICBENCH_BOTH uint4 curand4(curandStatePhilox4_32_10_t* s) {
  const uint4 before = s->output;
  fabricbench::random::advance(s, 1);
  const uint4 after = s->output = fabricbench::random::philox(s->ctr, s->key);
  switch (s->STATE) {
    case 1:
      return make_uint4(before.y, before.z, before.w, after.x);
    case 2:
      return make_uint4(before.z, before.w, after.x, after.y);
    case 3:
      return make_uint4(before.w, after.x, after.y, after.z);
    default:
      return before;
  }
}
