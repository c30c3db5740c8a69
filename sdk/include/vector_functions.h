// make_char1 … make_double4.
#ifndef __VECTOR_FUNCTIONS_H__
#define __VECTOR_FUNCTIONS_H__
#pragma GCC system_header
#include "vector_types.h"

#if defined(__cplusplus)
#define FABRICBENCH_MAKE(type, ...) \
  {                                 \
    return type{__VA_ARGS__};       \
  }
#else
#define FABRICBENCH_MAKE(type, ...)  \
  {                                  \
    const type made = {__VA_ARGS__}; \
    return made;                     \
  }
#endif

#define FABRICBENCH_VECTORS(base, element, align2, align4)                                                           \
  FABRICBENCH_BOTH base##1 make_##base##1(element x)FABRICBENCH_MAKE(base##1, x)                                     \
      FABRICBENCH_BOTH base##2 make_##base##2(element x, element y)FABRICBENCH_MAKE(base##2, x, y)                   \
          FABRICBENCH_BOTH base##3 make_##base##3(element x, element y, element z)FABRICBENCH_MAKE(base##3, x, y, z) \
              FABRICBENCH_BOTH base##4 make_##base##4(element x, element y, element z, element w)FABRICBENCH_MAKE(   \
                  base##4, x, y, z, w)
#include "fabricbench/vector_types.def"

#define FABRICBENCH_WIDE_VECTOR(base, element)                                                                     \
  FABRICBENCH_BOTH base##4_16a make_##base##4_16a(element x, element y, element z, element w)FABRICBENCH_MAKE(     \
      base##4_16a, x, y, z, w)                                                                                     \
      FABRICBENCH_BOTH base##4_32a make_##base##4_32a(element x, element y, element z, element w)FABRICBENCH_MAKE( \
          base##4_32a, x, y, z, w)
#include "fabricbench/wide_vector_types.def"
#undef FABRICBENCH_MAKE
#endif
