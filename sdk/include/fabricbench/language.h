// The CUDA language on top of clang: spelling of attributes and the macros nvcc predefines.
#pragma once
#pragma clang system_header

#if !defined(__CUDA__)

// A host compiler: the API and its types without the kernel language.
#define __host__
#define __device__
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define CUDART_VERSION 13000
#define CUDARTAPI
#define CUDAAPI
#define CUDART_CB
#define CUDA_CB

#else

// What nvcc 13.0 predefines and programs test for. __NVCC__ stays undefined: this is not nvcc.
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 88
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define CUDART_VERSION 13000

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __maxnreg__(count) __attribute__((maxnreg(count)))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define CUDARTAPI
#define CUDAAPI
#define CUDART_CB
#define CUDA_CB

// clang 19 has no grid_constant: the parameter is copied to local memory where its address is taken, which reads the
// same values.
#define __grid_constant__

// clang 19 has no cluster_dims either. The annotation survives in its IR, from where fb::toolchain carries it into the
// PTX as .reqnctapercluster.
#define __cluster_dims__(...) __attribute__((annotate("fabricbench.cluster_dims", __VA_ARGS__)))

// nvcc takes `__shared__ alignas(16) int x;`, clang 19 takes no alignas behind another attribute. So alignas becomes
// such an attribute itself; of a type it means that type's alignment, as the keyword does.
namespace fabricbench {
template <class T>
constexpr __SIZE_TYPE__ alignment() {
  return alignof(T);
}
template <__SIZE_TYPE__ kBytes>
constexpr __SIZE_TYPE__ alignment() {
  return kBytes;
}
}  // namespace fabricbench
#define alignas(...) __attribute__((aligned(::fabricbench::alignment<__VA_ARGS__>())))

// Every small function of these headers: inlined, so that the PTX holds the instruction and not a call.
#define FABRICBENCH_DEVICE __attribute__((nodebug)) __device__ __forceinline__
#define FABRICBENCH_BOTH __attribute__((nodebug)) __host__ __device__ __forceinline__

// Picks the device's or the host's way to do one thing inside a function of both sides.
#if defined(__CUDA_ARCH__)
#define FABRICBENCH_SIDE(device, host) device
#else
#define FABRICBENCH_SIDE(device, host) host
#endif

#endif  // __CUDA__
