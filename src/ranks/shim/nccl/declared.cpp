// The functions that are declared and not real. No header of NCCL here: one shape serves all of them. The second table
// makes the linker ask for every real one.

#include "ranks/shim/nccl/not_modelled.h"

#define FB_API extern "C" __attribute__((visibility("default")))
#define GROUP(title)

#define REAL(name)
#define DECLARED(name)                                       \
  FB_API int p##name();                                      \
  FB_API __attribute__((weak, alias("p" #name))) int name(); \
  FB_API int p##name() { return fb::shim::nccl::not_modelled(#name); }
#include "common/api/nccl.def"
#undef DECLARED
#undef REAL

extern "C" {
#define REAL(name) \
  void name();     \
  void p##name();
#define DECLARED(name)
#include "common/api/nccl.def"
#undef REAL
}

namespace {
[[gnu::used]] void (*const kReal[])() = {
#define REAL(name) &name, &p##name,
#include "common/api/nccl.def"
#undef REAL
};
}  // namespace
