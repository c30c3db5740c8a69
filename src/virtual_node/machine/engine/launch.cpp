#include "virtual_node/machine/engine/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "virtual_node/machine/engine/sm_slots.h"
#include "virtual_node/simt/branch_ways.h"

namespace fb::machine {
namespace {

using Kind = LaunchProblem::Kind;

std::unexpected<LaunchProblem> problem(Kind kind, std::string message) {
  return std::unexpected(LaunchProblem{kind, std::move(message)});
}

}  // namespace

std::expected<simt::Grid, LaunchProblem> make_grid(const LoadedModule& module, const LaunchRequest& request,
                                                   const DeviceLimits& limits) {
  const simt::FunctionInfo* kernel = module.program().find(request.kernel, request.of_driver);
  if (!kernel || !kernel->source->entry)
    return problem(Kind::no_kernel, fmt::format("there is no kernel {}", request.kernel));
  if (const auto& ways = module.program().branch_ways) (*ways)[kernel->entry->origin] |= simt::kLaunched;
  simt::Grid grid;
  grid.program = &module.program();
  grid.kernel = kernel;
  grid.grid = request.grid;
  grid.block = request.block;
  grid.cluster = request.cluster;
  const ptx::LaunchBounds& bounds = kernel->source->bounds;
  if (bounds.cluster[0] != 0) {
    grid.cluster = {bounds.cluster[0], std::max(bounds.cluster[1], 1u), std::max(bounds.cluster[2], 1u)};
    grid.explicit_cluster = true;
  }
  grid.explicit_cluster |= grid.cluster.count() > 1;
  if (grid.grid.count() == 0 || grid.block.count() == 0 || grid.cluster.count() == 0) {
    return problem(Kind::configuration, "a grid, a block and a cluster need at least one thread");
  }
  if (grid.grid.x > INT32_MAX || grid.grid.y > UINT16_MAX || grid.grid.z > UINT16_MAX || grid.block.x > 1024 ||
      grid.block.y > 1024 || grid.block.z > 64 || grid.cluster.x > 64 || grid.cluster.y > 64 || grid.cluster.z > 64) {
    return problem(Kind::configuration, "a dimension of the grid, block or cluster is larger than any device takes");
  }
  uint64_t most_threads = limits.threads_per_block;
  if (bounds.max_threads[0] != 0) {
    most_threads =
        uint64_t{bounds.max_threads[0]} * std::max(bounds.max_threads[1], 1u) * std::max(bounds.max_threads[2], 1u);
  }
  if (grid.block.count() > std::min<uint64_t>(most_threads, limits.threads_per_block)) {
    return problem(Kind::configuration,
                   fmt::format("{} threads in a block; {} takes at most {}", grid.block.count(), kernel->name,
                               std::min<uint64_t>(most_threads, limits.threads_per_block)));
  }
  if (const uint32_t registers = kernel->source->assembled.registers;
      registers != 0 && !registers_fit(registers, grid.block.count(), limits)) {
    return problem(Kind::resources, fmt::format("{} registers for each of {} threads; a multiprocessor has {}",
                                                registers, grid.block.count(), limits.registers_per_sm));
  }
  if (request.dynamic_shared_bytes > limits.shared_per_block ||
      uint64_t{kernel->static_shared_bytes} + request.dynamic_shared_bytes > limits.shared_per_block) {
    return problem(
        Kind::shared_memory,
        fmt::format("{} bytes of shared memory; a block has at most {}",
                    uint64_t{kernel->static_shared_bytes} + request.dynamic_shared_bytes, limits.shared_per_block));
  }
  if (grid.cluster.count() > limits.blocks_per_cluster) {
    return problem(Kind::cluster, fmt::format("{} blocks in a cluster; at most {} are possible", grid.cluster.count(),
                                              limits.blocks_per_cluster));
  }
  if (grid.grid.x % grid.cluster.x != 0 || grid.grid.y % grid.cluster.y != 0 || grid.grid.z % grid.cluster.z != 0) {
    return problem(Kind::cluster, "the grid is not a multiple of the cluster");
  }
  if (request.params.size() != kernel->param_bytes) {
    return problem(Kind::params, fmt::format("{} takes {} bytes of parameters, not {}", kernel->name,
                                             kernel->param_bytes, request.params.size()));
  }
  grid.dynamic_shared_bytes = static_cast<uint32_t>(request.dynamic_shared_bytes);
  grid.params = request.params;
  grid.cooperative = request.cooperative;
  if (grid.cooperative) {
    const uint64_t capacity = SmSlots(limits).capacity(needs_of(grid, limits));
    if (grid.grid.count() > capacity) {
      return problem(Kind::cooperative,
                     fmt::format("{} blocks can't be resident together, as a cooperative launch needs: at most {}",
                                 grid.grid.count(), capacity));
    }
  }
  return grid;
}

}  // namespace fb::machine
