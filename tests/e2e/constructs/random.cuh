// Random numbers in kernels: the sequences are NVIDIA's.

// construct: curand_xorwow
#include <curand_kernel.h>
__device__ long long value(unsigned t) { curandState s; curand_init(1234, 0, t * 3, &s); unsigned x = 0; for (int i = 0; i < 5; ++i) x = x * 31 + curand(&s); return x + (long long)(curand_uniform(&s) * 1e6f); }

// construct: curand_xorwow_sequences
#include <curand_kernel.h>
__device__ long long value(unsigned t) { curandStateXORWOW_t s; curand_init(0x123456789abcdefull, t, 0, &s); return curand(&s) * 3ll + curand(&s); }

// construct: curand_philox
#include <curand_kernel.h>
__device__ long long value(unsigned t) { curandStatePhilox4_32_10_t s; curand_init(99, t, t * 5, &s); uint4 r = curand4(&s); return r.x + 3ll * r.y + 5ll * r.z + 7ll * r.w + curand(&s) + (long long)(curand_uniform4(&s).z * 1e6f); }

// construct: curand_skip_ahead
#include <curand_kernel.h>
__device__ long long value(unsigned t) { curandStatePhilox4_32_10_t s; curand_init(7, 1, 0, &s); skipahead(t * 1000003ull, &s); curandStateXORWOW_t w; curand_init(7, 1, 0, &w); skipahead(t * 77ull, &w); return curand(&s) + 3ll * curand(&w); }

// construct: curand_uniform_double
#include <curand_kernel.h>
__device__ long long value(unsigned t) { curandState s; curand_init(5, 0, t, &s); curandStatePhilox4_32_10_t p; curand_init(5, 0, t, &p); return (long long)(curand_uniform_double(&s) * 1e15) + (long long)(curand_uniform_double(&p) * 1e15); }

// construct: curand_normal
#include <curand_kernel.h>
__device__ long long value(unsigned t) { curandState s; curand_init(5, 0, t, &s); curandStatePhilox4_32_10_t p; curand_init(5, 0, t, &p); return (long long)(curand_normal(&s) * 100) + (long long)(curand_normal(&s) * 100) + (long long)(curand_normal2(&p).y * 100) + (long long)(curand_normal_double(&p) * 100); }
