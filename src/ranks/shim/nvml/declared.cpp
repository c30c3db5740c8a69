// The functions that are declared and not real. No header of NVML here: one shape serves all of them. The second table
// makes the linker ask for every real one.

#define FB_API extern "C" __attribute__((visibility("default")))
#define GROUP(title)

#define REAL(name)
#define DECLARED(name) \
  FB_API int name();   \
  FB_API int name() { return 3; /* NVML_ERROR_NOT_SUPPORTED */ }
#include "common/api/nvml.def"
#undef DECLARED
#undef REAL

extern "C" {
#define REAL(name) void name();
#define DECLARED(name)
#include "common/api/nvml.def"
#undef REAL
}

namespace {
[[gnu::used]] void (*const kReal[])() = {
#define REAL(name) &name,
#include "common/api/nvml.def"
#undef REAL
};
}  // namespace
