// The language: attributes, templates, lambdas, memory spaces.

// construct: dynamic_shared
__device__ int value(unsigned t) { extern __shared__ int words[]; words[t] = t; __syncwarp(); return words[31 - t]; }

// construct: static_shared_alignas
__device__ int value(unsigned t) { __shared__ alignas(16) int words[32]; words[t] = t * t; __syncwarp(); return words[t ^ 1]; }

// construct: shared_align_attribute
__device__ int value(unsigned t) { __shared__ __align__(16) float4 v[32]; v[t] = make_float4(t, 1, 2, 3); __syncwarp(); return v[31 - t].x; }

// construct: constant_memory
__constant__ int table[4] = {3, 5, 7, 11};
__device__ int value(unsigned t) { return table[t & 3]; }

// construct: device_variable
__device__ int counter = 41;
__device__ int value(unsigned) { return counter + 1; }

// construct: device_array_of_structs
struct Item { int key; float weight; };
__device__ Item items[3] = {{1, 0.5f}, {2, 1.5f}, {3, 2.5f}};
__device__ int value(unsigned t) { return items[t % 3].key * 10 + int(items[t % 3].weight * 2); }

// construct: constexpr_function_on_both_sides
constexpr int cube(int x) { return x * x * x; }
__device__ int value(unsigned t) { return cube(t) + cube(3); }

// construct: relaxed_constexpr_of_the_library
#include <algorithm>
__device__ int value(unsigned t) { return std::max<int>(t, 7) + std::min<int>(t, 3); }

// construct: numeric_limits
#include <limits>
__device__ long long value(unsigned) { return std::numeric_limits<int>::max() - std::numeric_limits<short>::min(); }

// construct: climits_without_include
__device__ long long value(unsigned) { return INT_MAX + (long long)UINT_MAX + CHAR_BIT; }

// construct: template_kernel_argument
template <int kFactor> __device__ int scaled(int x) { return kFactor * x; }
__device__ int value(unsigned t) { return scaled<3>(t); }

// construct: variadic_template
template <class... T> __device__ int sum(T... x) { return (x + ... + 0); }
__device__ int value(unsigned t) { return sum(t, 1, 2, 3); }

// construct: if_constexpr
template <class T> __device__ int size() { if constexpr (sizeof(T) == 4) return 4; else return 8; }
__device__ int value(unsigned) { return size<float>() * 10 + size<double>(); }

// construct: device_lambda_local
__device__ int value(unsigned t) { auto twice = [=](int x) { return 2 * x + int(t); }; return twice(4); }

// construct: lambda_by_reference
__device__ int value(unsigned t) { int sum = 0; auto add = [&](int x) { sum += x; }; for (unsigned i = 0; i <= t; ++i) add(i); return sum; }

// construct: generic_lambda
__device__ int value(unsigned t) { auto add = [](auto a, auto b) { return a + b; }; return int(add(1.5f, 2.5f)) + add(int(t), 1); }

// construct: structured_binding
struct Pair { int a, b; };
__device__ int value(unsigned t) { auto [a, b] = Pair{int(t), 2}; return a * b; }

// construct: inline_variable
struct Limits { static constexpr int kMost = 12; };
__device__ int value(unsigned t) { return Limits::kMost + t; }

// construct: virtual_function
struct Shape { __device__ virtual int area() const { return 1; } };
struct Square : Shape { int side; __device__ int area() const override { return side * side; } };
__device__ int value(unsigned t) { Square s; s.side = t; const Shape* shape = &s; return shape->area(); }

// construct: function_pointer
__device__ int plus(int a, int b) { return a + b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ int value(unsigned t) { int (*f)(int, int) = t & 1 ? plus : minus; return f(10, t); }

// construct: recursion
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ int value(unsigned t) { return fibonacci(t & 7); }

// construct: placement_new
#include <new>
struct Point { int x; __device__ Point(int v) : x(v + 1) {} };
__device__ int value(unsigned t) { alignas(Point) char space[sizeof(Point)]; return (new (space) Point(t))->x; }

// construct: device_new_and_delete
__device__ int value(unsigned t) { int* p = new int[2]; p[1] = t; int v = p[1]; delete[] p; return v; }

// construct: device_malloc
__device__ int value(unsigned t) { int* p = static_cast<int*>(malloc(8)); p[0] = t + 5; int v = p[0]; free(p); return v; }

// construct: union_of_bits
__device__ unsigned value(unsigned t) { union { float f; unsigned u; } x; x.f = t + 0.5f; return x.u; }

// construct: bit_fields
struct Bits { unsigned a : 3, b : 5; };
__device__ int value(unsigned t) { Bits x; x.a = t; x.b = t * 3; return x.a * 100 + x.b; }

// construct: static_in_device_function
__device__ int value(unsigned t) { static const int primes[] = {2, 3, 5, 7}; return primes[t & 3]; }

// construct: switch_and_goto
__device__ int value(unsigned t) { switch (t % 3) { case 0: return 5; case 1: goto out; default: break; } return 6; out: return 7; }

// construct: unroll_pragma
__device__ int value(unsigned t) { int s = 0;
#pragma unroll 4
  for (int i = 0; i < 16; ++i) s += i * t;
  return s; }

// construct: nv_diag_pragmas
#pragma nv_diag_suppress 177
#pragma nv_diagnostic push
#pragma nv_diagnostic pop
__device__ int value(unsigned t) { int unused; return t; }

// construct: launch_bounds
__global__ void __launch_bounds__(128, 2) kernel(int* p) { *p = 1; }
__device__ int value(unsigned) { return 1; }

// construct: launch_bounds_with_clusters
__global__ void __launch_bounds__(128, 2, 1) kernel(int* p) { *p = 1; }
__device__ int value(unsigned) { return 1; }

// construct: cluster_dims
__global__ void __cluster_dims__(2, 1, 1) kernel(int* p) { *p = 1; }
__device__ int value(unsigned) { return 1; }

// construct: grid_constant
struct Big { int words[64]; };
__global__ void kernel(const __grid_constant__ Big big, int* p) { *p = big.words[threadIdx.x]; }
__device__ int value(unsigned) { return 1; }

// construct: restrict_pointers
__device__ void add(const int* __restrict__ a, int* __restrict__ b) { *b += *a; }
__device__ int value(unsigned t) { int a = t, b = 3; add(&a, &b); return b; }

// construct: forceinline_and_noinline
__device__ __forceinline__ int near(int x) { return x + 1; }
__device__ __noinline__ int far(int x) { return x + 2; }
__device__ int value(unsigned t) { return near(t) * far(t); }

// construct: kernel_template_launch
template <class T> __global__ void fill(T* p, T v) { p[threadIdx.x] = v; }
inline void launch(float* p, cudaStream_t s) { fill<float><<<1, 32, 0, s>>>(p, 1.0f); fill<<<dim3(1), dim3(32)>>>(p, 2.0f); }
__device__ int value(unsigned) { return 1; }

// construct: braced_launch
__global__ void kernel(int* p) { *p = 1; }
inline void launch(int* p) { dim3 grid(1); kernel<<<grid, {8, 4, 1}>>>(p); }
__device__ int value(unsigned) { return 1; }

// construct: host_device_function
__host__ __device__ int twice(int x) {
#ifdef __CUDA_ARCH__
  return 2 * x;
#else
  return x + x;
#endif
}
__device__ int value(unsigned t) { return twice(t); }

// construct: arch_at_least_900
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error
#endif
__device__ int value(unsigned) { return 1; }

// construct: nvcc_and_cudacc_defined
#if !defined(__NVCC__) || !defined(__CUDACC__) || __CUDACC_VER_MAJOR__ != 13 || CUDART_VERSION != 13000
#error
#endif
__device__ int value(unsigned) { return __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__; }

// construct: arch_list_defined
#ifndef __CUDA_ARCH_LIST__
#error
#endif
__device__ int value(unsigned) { return 1; }

// construct: guards_of_nvidias_headers
#if !defined(__CUDA_RUNTIME_H__) || !defined(__DRIVER_TYPES_H__) || !defined(__VECTOR_TYPES_H__) || !defined(__CUDA_RUNTIME_API_H__)
#error
#endif
__device__ int value(unsigned) { return 1; }

// construct: assert_in_kernel
__device__ int value(unsigned t) { assert(t < 32); return t; }

// construct: printf_in_kernel
__global__ void say(int x) { if (x > 1000) printf("%d %s %f\n", x, "text", 1.5); }
__device__ int value(unsigned) { return 1; }

// construct: int128
__device__ long long value(unsigned t) { __int128 x = (__int128)t << 70; return (long long)(x >> 68); }

// construct: long_long_division
__device__ long long value(unsigned t) { return 1000000007LL * (t + 1) / 13 % 97; }

// construct: volatile_pointer
__device__ int flag = 3;
__device__ int value(unsigned) { return *(volatile int*)&flag; }

// construct: nested_class_template
template <class T> struct Outer { template <int N> struct Inner { T x[N]; __device__ int size() const { return N * sizeof(T); } }; };
__device__ int value(unsigned) { Outer<double>::Inner<3> i{}; return i.size() + int(i.x[2]); }

// construct: operator_overloading_of_vectors
__device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ int value(unsigned t) { float3 s = make_float3(t, 1, 2) + make_float3(1, 1, 1); return int(s.x + s.z); }

// construct: vector_type_aggregates
__device__ int value(unsigned t) { int4 v = {1, 2, 3, int(t)}; uchar4 c{1, 2, 3, 4}; return v.w + c.z + sizeof(double4) + alignof(float4); }

// construct: dim3_arithmetic
__device__ int value(unsigned) { dim3 d(4, 5); uint3 u = d; return d.x * d.y * d.z + u.z + blockDim.x + gridDim.y; }

// construct: type_traits
#include <type_traits>
__device__ int value(unsigned) { return std::is_same<std::decay_t<const int&>, int>::value + std::is_trivially_copyable_v<float4>; }

// construct: utility_move_and_tuple
#include <tuple>
#include <utility>
__device__ int value(unsigned t) { auto p = std::make_pair(int(t), 2); auto x = std::make_tuple(1, p.first); return std::get<1>(std::move(x)) + p.second; }

// construct: std_array
#include <array>
__device__ int value(unsigned t) { std::array<int, 4> a{1, 2, 3, 4}; return a[t & 3] + int(a.size()); }

// construct: enum_class
enum class Color : unsigned char { red = 3, blue = 9 };
__device__ int value(unsigned t) { return static_cast<int>(t & 1 ? Color::red : Color::blue); }

// construct: extended_lambda_to_kernel
template <class F> __global__ void apply(F f, int* p) { *p = f(*p); }
inline void launch(int* p) { int k = 3; apply<<<1, 1>>>([=] __device__(int x) { return x + k; }, p); }
__device__ int value(unsigned) { return 1; }

// construct: host_device_lambda
template <class F> __host__ __device__ int call(F f) { return f(2); }
inline int host() { return call([] __host__ __device__(int x) { return x * 3; }); }
__device__ int value(unsigned) { return call([] __host__ __device__(int x) { return x * 3; }); }

// construct: managed_variable
__managed__ int shared_by_all = 5;
__global__ void kernel(int* p) { *p = shared_by_all; }
__device__ int value(unsigned) { return 1; }

// construct: warp_size_constant
__device__ int value(unsigned) { return warpSize; }

// construct: alloca
__device__ int value(unsigned t) { int* p = static_cast<int*>(__builtin_alloca(16)); p[t & 3] = t; return p[t & 3]; }

// construct: concepts
// std: c++20
template <class T> concept Small = sizeof(T) <= 4;
template <Small T> __device__ int of(T) { return 1; }
template <class T> requires(!Small<T>) __device__ int of(T) { return 2; }
__device__ int value(unsigned) { return of(1) * 10 + of(1.0); }

// construct: designated_initialisers
// std: c++20
struct Options { int a = 1, b = 2; };
__device__ int value(unsigned t) { Options o{.b = int(t)}; return o.a * 100 + o.b; }

// construct: template_lambda
// std: c++20
__device__ int value(unsigned t) { auto size = []<class T>(T x) { return int(sizeof(T)) + int(x); }; return size(t) + size(1.0); }

// construct: consteval_and_constinit
// std: c++20
consteval int square(int x) { return x * x; }
__device__ int value(unsigned t) { return square(5) + t; }

// construct: spaceship
// std: c++20
#include <compare>
__device__ int value(unsigned t) { return (int(t) <=> 5) < 0 ? 1 : 2; }

// construct: bit_cast
// std: c++20
#include <bit>
__device__ unsigned value(unsigned t) { return std::bit_cast<unsigned>(float(t)) + std::popcount(t); }
