// Uniform, normal and log-normal numbers from the words of a generator. Uniform ones are in (0, 1]; normal ones are
// made in pairs (Box and Muller), of which the state keeps the second.
#pragma once
#include "fabricbench/random/philox.h"
#include "fabricbench/random/xorwow.h"

namespace fabricbench {
namespace random {

FABRICBENCH_BOTH float uniform(unsigned int x) { return x * 2.3283064e-10f + (2.3283064e-10f / 2.0f); }
FABRICBENCH_BOTH double uniform_double(unsigned int x, unsigned int y) {
  const unsigned long long z = static_cast<unsigned long long>(x) ^ (static_cast<unsigned long long>(y) << (53 - 32));
  return z * 1.1102230246251565e-16 + (1.1102230246251565e-16 / 2.0);
}
FABRICBENCH_DEVICE float2 normal_pair(unsigned int x, unsigned int y) {
  const float angle = y * (2.3283064e-10f * 6.2831855f) + (2.3283064e-10f * 6.2831855f / 2);
  const float radius = sqrtf(-2.0f * logf(uniform(x)));
  float2 pair;
  __sincosf(angle, &pair.x, &pair.y);
  return make_float2(pair.x * radius, pair.y * radius);
}
FABRICBENCH_DEVICE double2 normal_pair_double(unsigned int x0, unsigned int x1, unsigned int y0, unsigned int y1) {
  const double u = uniform_double(x0, x1);
  const unsigned long long z = static_cast<unsigned long long>(y0) ^ (static_cast<unsigned long long>(y1) << (53 - 32));
  const double angle = z * (1.1102230246251565e-16 * 2.0) + 1.1102230246251565e-16;
  const double radius = sqrt(-2.0 * log(u));
  double2 pair;
  sincospi(angle, &pair.x, &pair.y);
  return make_double2(pair.x * radius, pair.y * radius);
}

}  // namespace random
}  // namespace fabricbench

#define FABRICBENCH_DISTRIBUTIONS(State)                                                              \
  FABRICBENCH_BOTH float curand_uniform(State* s) { return fabricbench::random::uniform(curand(s)); } \
  FABRICBENCH_DEVICE float2 curand_normal2(State* s) {                                                \
    const unsigned int x = curand(s);                                                                 \
    return fabricbench::random::normal_pair(x, curand(s));                                            \
  }                                                                                                   \
  FABRICBENCH_DEVICE float curand_normal(State* s) {                                                  \
    if (s->boxmuller_flag != 0) {                                                                     \
      s->boxmuller_flag = 0;                                                                          \
      return s->boxmuller_extra;                                                                      \
    }                                                                                                 \
    const float2 pair = curand_normal2(s);                                                            \
    s->boxmuller_extra = pair.y;                                                                      \
    s->boxmuller_flag = 1;                                                                            \
    return pair.x;                                                                                    \
  }                                                                                                   \
  FABRICBENCH_DEVICE double2 curand_normal2_double(State* s) {                                        \
    const unsigned int a = curand(s), b = curand(s), c = curand(s);                                   \
    return fabricbench::random::normal_pair_double(a, b, c, curand(s));                               \
  }                                                                                                   \
  FABRICBENCH_DEVICE double curand_normal_double(State* s) {                                          \
    if (s->boxmuller_flag_double != 0) {                                                              \
      s->boxmuller_flag_double = 0;                                                                   \
      return s->boxmuller_extra_double;                                                               \
    }                                                                                                 \
    const double2 pair = curand_normal2_double(s);                                                    \
    s->boxmuller_extra_double = pair.y;                                                               \
    s->boxmuller_flag_double = 1;                                                                     \
    return pair.x;                                                                                    \
  }                                                                                                   \
  FABRICBENCH_DEVICE float curand_log_normal(State* s, float mean, float deviation) {                 \
    return expf(mean + deviation * curand_normal(s));                                                 \
  }                                                                                                   \
  FABRICBENCH_DEVICE double curand_log_normal_double(State* s, double mean, double deviation) {       \
    return exp(mean + deviation * curand_normal_double(s));                                           \
  }
FABRICBENCH_DISTRIBUTIONS(curandStateXORWOW_t)
FABRICBENCH_DISTRIBUTIONS(curandStatePhilox4_32_10_t)
#undef FABRICBENCH_DISTRIBUTIONS

// 53 random bits of XORWOW, 32 of Philox.
FABRICBENCH_BOTH double curand_uniform_double(curandStateXORWOW_t* s) {
  const unsigned int x = curand(s);
  return fabricbench::random::uniform_double(x, curand(s));
}
FABRICBENCH_BOTH double curand_uniform_double(curandStatePhilox4_32_10_t* s) {
  return curand(s) * 2.3283064365386963e-10 + 2.3283064365386963e-10;
}

FABRICBENCH_BOTH float4 curand_uniform4(curandStatePhilox4_32_10_t* s) {
  const uint4 r = curand4(s);
  return make_float4(fabricbench::random::uniform(r.x), fabricbench::random::uniform(r.y),
                     fabricbench::random::uniform(r.z), fabricbench::random::uniform(r.w));
}
FABRICBENCH_BOTH double2 curand_uniform2_double(curandStatePhilox4_32_10_t* s) {
  const uint4 r = curand4(s);
  return make_double2(fabricbench::random::uniform_double(r.x, r.y), fabricbench::random::uniform_double(r.z, r.w));
}
FABRICBENCH_DEVICE float4 curand_normal4(curandStatePhilox4_32_10_t* s) {
  const uint4 r = curand4(s);
  const float2 a = fabricbench::random::normal_pair(r.x, r.y), b = fabricbench::random::normal_pair(r.z, r.w);
  return make_float4(a.x, a.y, b.x, b.y);
}
