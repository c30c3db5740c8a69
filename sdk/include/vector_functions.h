// make_char1 … make_double4.
#pragma once
#include "vector_types.h"

#define VECTORS(base, element, align2, align4)                                                   \
  FABRICBENCH_BOTH base##1 make_##base##1(element x) { return {x}; }                             \
  FABRICBENCH_BOTH base##2 make_##base##2(element x, element y) { return {x, y}; }               \
  FABRICBENCH_BOTH base##3 make_##base##3(element x, element y, element z) { return {x, y, z}; } \
  FABRICBENCH_BOTH base##4 make_##base##4(element x, element y, element z, element w) { return {x, y, z, w}; }
#include "fabricbench/vector_types.def"

#define WIDE_VECTOR(base, element)                                                                                     \
  FABRICBENCH_BOTH base##4_16a make_##base##4_16a(element x, element y, element z, element w) { return {x, y, z, w}; } \
  FABRICBENCH_BOTH base##4_32a make_##base##4_32a(element x, element y, element z, element w) { return {x, y, z, w}; }
#include "fabricbench/wide_vector_types.def"
