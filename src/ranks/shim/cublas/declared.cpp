// The functions that are declared and not real. No header of cuBLAS here: one shape serves all of them. The second
// table makes the linker ask for every real one.

#include "ranks/shim/cublas/not_modelled.h"

#define FB_API extern "C" __attribute__((visibility("default")))
#define GROUP(title)

#define REAL(name)
#define DECLARED(name) \
  FB_API int name() { return fb::shim::cublas::not_modelled(#name); }
#include "common/api/cublas.def"
#include "common/api/cublaslt.def"
#undef DECLARED
#undef REAL

extern "C" {
#define REAL(name) void name();
#define DECLARED(name)
#include "common/api/cublas.def"
#include "common/api/cublaslt.def"
#undef REAL
}

namespace {
[[gnu::used]] void (*const kReal[])() = {
#define REAL(name) &name,
#include "common/api/cublas.def"
#include "common/api/cublaslt.def"
#undef REAL
};
}  // namespace
