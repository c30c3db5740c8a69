// char1 … double4 and dim3: plain structs whose alignment makes whole-vector loads and stores possible.
#pragma once
#include "fabricbench/language.h"

#define VECTORS(base, element, align2, align4)        \
  struct base##1 { element x; };                      \
  struct __align__(align2) base##2 { element x, y; }; \
  struct base##3 { element x, y, z; };                \
  struct __align__(align4) base##4 { element x, y, z, w; };
#include "fabricbench/vector_types.def"

#define WIDE_VECTOR(base, element)                          \
  struct __align__(16) base##4_16a { element x, y, z, w; }; \
  struct __align__(32) base##4_32a { element x, y, z, w; };
#include "fabricbench/wide_vector_types.def"

struct dim3 {
  unsigned int x, y, z;
  __host__ __device__ constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
      : x(vx), y(vy), z(vz) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
};
