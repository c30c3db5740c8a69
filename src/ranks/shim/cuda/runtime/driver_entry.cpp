// Functions of the driver API by name: they are in this same library.

#include "ranks/shim/cuda/api_table.h"
#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"

namespace shim = fb::shim;
using shim::record;

namespace {

cudaError_t entry_point(const char* symbol, void** function, unsigned int version, unsigned long long flags,
                        cudaDriverEntryPointQueryResult* result) {
  if (!symbol || !function || flags > cudaEnablePerThreadDefaultStream) return cudaErrorInvalidValue;
  *function = nullptr;
  if (const auto e = shim::Session::get().connect(); e != cudaSuccess) return e;
  if (version < 2000) {
    if (result) *result = cudaDriverEntryPointVersionNotSufficent;
    return cudaSuccess;
  }
  *function = shim::find_driver_function(symbol, static_cast<int>(version));
  if (result) *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return *function || result ? cudaSuccess : cudaErrorSymbolNotFound;
}

}  // namespace

FB_API cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                           cudaDriverEntryPointQueryResult* result) {
  return record(entry_point(symbol, function, 13000, flags, result));
}
FB_API cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version,
                                                    unsigned long long flags, cudaDriverEntryPointQueryResult* result) {
  return record(entry_point(symbol, function, version, flags, result));
}
