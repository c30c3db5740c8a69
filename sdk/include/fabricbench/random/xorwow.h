// XORWOW (Marsaglia: Xorshift RNGs): 160 bits of linear state and a counter.
#pragma once
#include "cuda_runtime.h"
#include "fabricbench/random/states.h"

namespace fabricbench {
namespace random {

FABRICBENCH_BOTH void step(unsigned int (&v)[5]) {
  const unsigned int t = v[0] ^ (v[0] >> 2);
  v[0] = v[1];
  v[1] = v[2];
  v[2] = v[3];
  v[3] = v[4];
  v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
}

// A jump by n steps multiplies the state by the n-th power of the step's matrix. That power is a polynomial in the
// matrix: x^n modulo the characteristic polynomial, over the field of two elements, 160 coefficients.
struct Polynomial {
  unsigned int word[5];
};
FABRICBENCH_BOTH Polynomial product(const Polynomial& a, const Polynomial& b) {
  const unsigned int characteristic[5] = {0x00060001u, 0x08610030u, 0x00062121u, 0x0f3c0035u, 0x00000f0eu};
  Polynomial result = {};
  for (int i = 159; i >= 0; --i) {
    const unsigned int carry = 0u - (result.word[4] >> 31);
    for (int k = 4; k > 0; --k) result.word[k] = result.word[k] << 1 | result.word[k - 1] >> 31;
    result.word[0] <<= 1;
    const unsigned int take = 0u - (b.word[i / 32] >> (i % 32) & 1);
    for (int k = 0; k < 5; ++k) result.word[k] ^= (characteristic[k] & carry) ^ (a.word[k] & take);
  }
  return result;
}
FABRICBENCH_BOTH void jump(unsigned int (&v)[5], Polynomial base, unsigned long long n) {
  if (n == 0) return;
  Polynomial power = {{1, 0, 0, 0, 0}};
  for (; n != 0; n >>= 1) {
    if (n & 1) power = product(power, base);
    if (n > 1) base = product(base, base);
  }
  unsigned int sum[5] = {};
  for (int i = 0; i < 160; ++i) {
    const unsigned int take = 0u - (power.word[i / 32] >> (i % 32) & 1);
    for (int k = 0; k < 5; ++k) sum[k] ^= v[k] & take;
    step(v);
  }
  for (int k = 0; k < 5; ++k) v[k] = sum[k];
}

}  // namespace random
}  // namespace fabricbench

FABRICBENCH_BOTH unsigned int curand(curandStateXORWOW_t* s) {
  fabricbench::random::step(s->v);
  s->d += 362437;
  return s->v[4] + s->d;
}
FABRICBENCH_BOTH void skipahead(unsigned long long n, curandStateXORWOW_t* s) {
  fabricbench::random::jump(s->v, {{2, 0, 0, 0, 0}}, n);
  s->d += 362437u * static_cast<unsigned int>(n);
}
// Sequences are 2^67 numbers apart; the counter is the same after that many steps.
FABRICBENCH_BOTH void skipahead_sequence(unsigned long long n, curandStateXORWOW_t* s) {
  fabricbench::random::jump(s->v, {{0x26294934u, 0x77bbc248u, 0x1a87dad0u, 0x930052d4u, 0x947e6dd2u}}, n);
}
FABRICBENCH_BOTH void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                                  curandStateXORWOW_t* s) {
  const unsigned int low = 1099087573u * (static_cast<unsigned int>(seed) ^ 0xaad26b49u);
  const unsigned int high = 2591861531u * (static_cast<unsigned int>(seed >> 32) ^ 0xf7dcefddu);
  s->d = 6615241u + high + low;
  s->v[0] = 123456789u + low;
  s->v[1] = 362436069u ^ low;
  s->v[2] = 521288629u + high;
  s->v[3] = 88675123u ^ high;
  s->v[4] = 5783321u + low;
  skipahead_sequence(subsequence, s);
  skipahead(offset, s);
  s->boxmuller_flag = s->boxmuller_flag_double = 0;
  s->boxmuller_extra = 0;
  s->boxmuller_extra_double = 0;
}
