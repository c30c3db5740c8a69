#include <cstring>

#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/declared.h"

namespace fb::shim {
namespace {

// NVIDIA's runtime asks for undocumented tables when it starts; one of them wants proof that this is NVIDIA's driver.
// It starts only where its functions could not be made ours (libfabricbench_redirect.so).
constexpr const char* kRuntimeStarts =
    "NVIDIA's CUDA runtime is inside this program or a library of it, and no symbol table says where (it was stripped, "
    "or loaded by dlopen): link with -cudart shared";

}  // namespace

int answer_runtime(const char* function) { return record(not_supported(function)); }
int answer_driver(const char* function) {
  if (std::strcmp(function, "cuGetExportTable") == 0) (void)tell_problem(kRuntimeStarts, cudaErrorNotSupported);
  return not_supported(function);
}

}  // namespace fb::shim
