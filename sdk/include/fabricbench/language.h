// The CUDA language: spelling of attributes and the macros nvcc predefines, on top of clang; and what of it a host
// compiler (g++, clang++, also of C) needs to read the API.
#ifndef __HOST_DEFINES_H__
#define __HOST_DEFINES_H__
#pragma GCC system_header

#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __thread__ __thread
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDAAPI
#define CUDART_CB
#define CUDA_CB
#define CUDART_VERSION 13000
#define __CUDART_API_VERSION 13000
// Attributes of NVIDIA's declarations, which programs copy.
#define __device_builtin__
#define __cudart_builtin__
#define __nv_pure__
#define __inline_hint__

// Declarations that C and C++ share.
#if defined(__cplusplus)
#define FABRICBENCH_C extern "C"
#define FABRICBENCH_C_BEGIN extern "C" {
#define FABRICBENCH_C_END }
#define FABRICBENCH_DEFAULT(value) = value
#else
#define FABRICBENCH_C
#define FABRICBENCH_C_BEGIN
#define FABRICBENCH_C_END
#define FABRICBENCH_DEFAULT(value)
#endif

#if !defined(__CUDA__)

// A host compiler: the API and its types without the kernel language.
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(count)
#define __block_size__(...)
#define __cluster_dims__(...)
#if defined(__cplusplus)
#define FABRICBENCH_BOTH inline __attribute__((always_inline))
#else
#define FABRICBENCH_BOTH static __inline__ __attribute__((always_inline))
#endif
#define FABRICBENCH_SIDE(device, host) host

#else

// What nvcc 13.0 predefines and programs test for. __clang__ stays defined: where the two differ, programs can tell.
#define __NVCC__ 1
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 88
#define __CUDACC_VER__ \
  "__CUDACC_VER__ is no longer supported. Use __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__ and __CUDACC_VER_BUILD__."
#define __CUDA_API_VER_MAJOR__ 13
#define __CUDA_API_VER_MINOR__ 0
#define __NVCC_DIAG_PRAGMA_SUPPORT__ 1
#define __CUDACC_DEVICE_ATOMIC_BUILTINS__ 1
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define CUDA_DOUBLE_MATH_FUNCTIONS 1
// fb::toolchain passes another list when the program is compiled for another architecture.
#if !defined(__CUDA_ARCH_LIST__)
#define __CUDA_ARCH_LIST__ 900
#endif
#define __CUDA_ARCH_HAS_FEATURE__(feature) __CUDA_ARCH_FEAT_##feature

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#if defined(__CUDACC_RDC__)
// Told from constants that clang moves here by itself: other files declare those as __device__ (fb::toolchain).
#define __constant__ __attribute__((constant)) __attribute__((annotate("fabricbench.constant")))
#else
#define __constant__ __attribute__((constant))
#endif
#if defined(__FABRICBENCH_JUDGED__)
#define __managed__ __attribute__((managed))  // fb::toolchain refuses it
#else
// A device variable at the address of the host's variable: fb::toolchain says so in the PTX.
#define __managed__ __attribute__((device)) __attribute__((used)) __attribute__((annotate("fabricbench.managed")))
#endif
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __maxnreg__(count) __attribute__((maxnreg(count)))

// clang 19 has no grid_constant. The annotation survives in its IR, where fb::toolchain makes the mark of it that the
// code generator knows.
#define __grid_constant__ __attribute__((annotate("fabricbench.grid_constant")))
#define __inline_hint__

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

// nvcc's questions about lambdas. The host side of clang knows the result type of every lambda, so none needs the care
// that libcu++ takes of nvcc's.
#define __nv_is_extended_device_lambda_closure_type(...) false
#define __nv_is_extended_host_device_lambda_closure_type(...) false
#define __nv_is_extended_device_lambda_with_preserved_return_type(...) false

// What fb::toolchain makes of a shared variable with a constructor or destructor: neither runs, as with nvcc.
namespace fabricbench {
template <class T>
struct __attribute__((aligned(__alignof__(T)))) RawShared {
  unsigned char bytes[sizeof(T)];
  __attribute__((device)) __inline__ __attribute__((always_inline)) T& object() { return reinterpret_cast<T&>(bytes); }
};
}  // namespace fabricbench

// Every small function of these headers: inlined, so that the PTX holds the instruction and not a call.
#define FABRICBENCH_DEVICE __attribute__((nodebug)) __device__ __forceinline__
#define FABRICBENCH_BOTH __attribute__((nodebug)) __host__ __device__ __forceinline__
// … and every lambda in them, behind its parameters: reports name the line of the program that called.
#define FABRICBENCH_UNSEEN __attribute__((nodebug))

// Picks the device's or the host's way to do one thing inside a function of both sides.
#if defined(__CUDA_ARCH__)
#define FABRICBENCH_SIDE(device, host) device
#else
#define FABRICBENCH_SIDE(device, host) host
#endif

#endif  // __CUDA__
#endif
