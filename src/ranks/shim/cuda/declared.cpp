// The functions of both APIs that are declared and not real. Callers' arguments are of no interest, so that one shape
// serves all of them; with CUDA's headers it would contradict their declarations.

#include "ranks/shim/cuda/declared.h"

#include "ranks/shim/cuda/core/export.h"

#define GROUP(title)
#define ALIAS(name, symbol)
#define OLDER(name, below)
#define REAL(...)

#define DECLARED(name) \
  FB_API int name();   \
  FB_API int name() { return fb::shim::answer_runtime(#name); }
#include "common/api/cuda_runtime.def"
#undef DECLARED

#define DECLARED(name, ...)       \
  FB_API int name##__VA_ARGS__(); \
  FB_API int name##__VA_ARGS__() { return fb::shim::answer_driver(#name); }
#include "common/api/cuda_driver.def"
