// char1 … double4 and dim3: plain structs whose alignment makes whole-vector loads and stores possible.
#ifndef __VECTOR_TYPES_H__
#define __VECTOR_TYPES_H__
#pragma GCC system_header
#include "fabricbench/language.h"

#define FABRICBENCH_VECTORS(base, element, align2, align4)         \
  typedef struct base##1 { element x; }                            \
  base##1;                                                         \
  typedef struct __align__(align2) base##2 { element x, y; }       \
  base##2;                                                         \
  typedef struct base##3 { element x, y, z; }                      \
  base##3;                                                         \
  typedef struct __align__(align4) base##4 { element x, y, z, w; } \
  base##4;
#include "fabricbench/vector_types.def"

#define FABRICBENCH_WIDE_VECTOR(base, element)                     \
  typedef struct __align__(16) base##4_16a { element x, y, z, w; } \
  base##4_16a;                                                     \
  typedef struct __align__(32) base##4_32a { element x, y, z, w; } \
  base##4_32a;
#include "fabricbench/wide_vector_types.def"

typedef struct dim3 {
  unsigned int x, y, z;
#if defined(__cplusplus)
  __host__ __device__ constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
      : x(vx), y(vy), z(vz) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
#endif
} dim3;
#endif
