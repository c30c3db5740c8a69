#include <algorithm>

#include "ranks/shim/cuda/core/error_report.h"
#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/modules/launch.h"

namespace shim = fb::shim;
using shim::record;

namespace {

constexpr unsigned int kNoCluster[3] = {0, 0, 0};

cudaError_t blocks_per_multiprocessor(int* blocks, const void* symbol, int block_size, size_t shared_bytes) {
  if (!blocks || block_size <= 0) return cudaErrorInvalidValue;
  const auto function = shim::find_kernel(symbol);
  if (!function) return function.error();
  const auto result = shim::occupancy(*function, static_cast<unsigned int>(block_size), shared_bytes, kNoCluster);
  if (!result) return result.error();
  *blocks = result->blocks_per_multiprocessor;
  return cudaSuccess;
}

// The most dynamic shared memory with which `blocks` blocks still fit: found by halving, for occupancy only falls.
cudaError_t available_shared(size_t* bytes, const void* symbol, int blocks, int block_size) {
  if (!bytes || blocks <= 0 || block_size <= 0) return cudaErrorInvalidValue;
  size_t fits = 0, too_much = 0;
  int at_none = 0;
  if (const auto e = blocks_per_multiprocessor(&at_none, symbol, block_size, 0); e != cudaSuccess) return e;
  if (at_none < blocks) return cudaErrorInvalidValue;
  too_much = shim::Session::get().device(shim::thread().device).shared_per_multiprocessor + 1u;
  while (too_much - fits > 1) {
    const size_t middle = fits + (too_much - fits) / 2;
    int there = 0;
    if (blocks_per_multiprocessor(&there, symbol, block_size, middle) == cudaSuccess && there >= blocks) {
      fits = middle;
    } else {
      too_much = middle;
    }
  }
  *bytes = fits;
  return cudaSuccess;
}

shim::Expected<shim::Occupancy> cluster_occupancy(const void* symbol, const cudaLaunchConfig_t* config) {
  if (!config) return shim::failure(cudaErrorInvalidValue);
  shim::LaunchShape shape{.grid = config->gridDim, .block = config->blockDim, .shared_bytes = config->dynamicSmemBytes};
  if (const auto e = shim::read_attributes(config->attrs, config->numAttrs, shape); e != cudaSuccess)
    return shim::failure(e);
  const auto function = shim::find_kernel(symbol);
  if (!function) return shim::failure(function.error());
  return shim::occupancy(*function, shape.block.x * shape.block.y * shape.block.z, shape.shared_bytes, shape.cluster);
}

}  // namespace

FB_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                                                 size_t shared_bytes) {
  return record(blocks_per_multiprocessor(blocks, function, block_size, shared_bytes));
}
FB_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                          int block_size, size_t shared_bytes,
                                                                          unsigned int flags) {
  if (flags > cudaOccupancyDisableCachingOverride) return record(cudaErrorInvalidValue);
  return record(blocks_per_multiprocessor(blocks, function, block_size, shared_bytes));
}
FB_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks,
                                                             int block_size) {
  return record(available_shared(bytes, function, blocks, block_size));
}
FB_API cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                  const cudaLaunchConfig_t* config) {
  if (!clusters) return record(cudaErrorInvalidValue);
  const auto result = cluster_occupancy(function, config);
  if (!result) return record(result.error());
  *clusters = result->clusters;
  return cudaSuccess;
}
FB_API cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                        const cudaLaunchConfig_t* config) {
  if (!size) return record(cudaErrorInvalidValue);
  const auto result = cluster_occupancy(function, config);
  if (!result) return record(result.error());
  *size = result->largest_cluster;
  return cudaSuccess;
}
