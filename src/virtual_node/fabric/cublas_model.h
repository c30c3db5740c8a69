#pragma once

// How long cuBLAS takes, and what it occupies meanwhile. A product of matrices is cut into tiles, one for a block that
// has a multiprocessor to itself; there are as many waves of blocks as tiles demand, and no wave is faster than memory
// and L2 carry its bytes. The tile is the fastest of cuBLAS's usual ones; products of few tiles are split along k.
// Other functions stream their operands. Constants are those of a platform's section [cublas]; docs/reference/cublas.md
// says how they were fitted and how far modelled times are from measured ones.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/platform/platform.h"
#include "common/platform/time.h"

namespace fb::fabric {

using platform::Time;

// Units that multiply, by what they read.
enum class GemmMath : uint8_t { half, tf32, fp8, int8, f32, f64 };
std::string_view name_of(GemmMath math);  // "half": f16 and bf16
std::optional<GemmMath> gemm_math_from(std::string_view name);

struct GemmQuestion {
  GemmMath math{};
  uint64_t m = 1, n = 1, k = 1, batches = 1;
  uint32_t element_bytes = 2, result_bytes = 2;
  bool reads_result = false;  // beta is not 0
  bool may_split = true;      // there is a workspace for partial sums
};

struct CublasPlan {
  uint32_t tile_m = 0, tile_n = 0;  // 0: no product of matrices
  uint32_t split = 1;               // blocks along k
  uint64_t blocks = 1;
  uint32_t threads = 128;
  Time start = 0;  // before the first block
  Time block = 0;  // of one block, if memory does not hold it up
  Time tail = 0;   // behind the last block: partial sums
  // Of all blocks together: through L2, and from and to memory.
  uint64_t l2_bytes = 0, memory_bytes = 0;

  uint64_t waves(uint32_t multiprocessors) const { return (blocks + multiprocessors - 1) / multiprocessors; }
};

// With the whole device to itself, without the launch.
Time time_of(const platform::Platform& platform, const CublasPlan& plan);

// What cuBLAS would take: the first of gemm_plans().
CublasPlan choose_gemm(const platform::Platform& platform, const GemmQuestion& question);
// All tiles and splits, the fastest first; never empty.
std::vector<CublasPlan> gemm_plans(const platform::Platform& platform, const GemmQuestion& question);

// Functions that read and write each of `bytes` once; `reduces`: to one number.
CublasPlan plan_streaming(const platform::Platform& platform, uint64_t bytes, bool reduces);

// FLOP a second that the data sheet promises, at the platform's clock.
double peak_rate(const platform::Platform& platform, GemmMath math);

}  // namespace fb::fabric
