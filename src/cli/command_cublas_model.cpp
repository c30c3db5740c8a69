#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/text/failure.h"
#include "common/base/output.h"
#include "virtual_node/fabric/cublas_model.h"

namespace fb::cli {
namespace {

struct CublasModelOptions {
  std::string platform = "h100x8", math = "half";
  uint64_t m = 0, n = 0, k = 0, batches = 1;
  bool all = false;
};

struct Sizes {
  uint64_t m = 0, n = 0, k = 0;
};

uint32_t bytes_of(fabric::GemmMath math) {
  switch (math) {
    case fabric::GemmMath::half:
      return 2;
    case fabric::GemmMath::fp8:
    case fabric::GemmMath::int8:
      return 1;
    case fabric::GemmMath::f64:
      return 8;
    default:
      return 4;
  }
}

std::string line_of(const platform::Platform& p, const fabric::CublasPlan& plan, const fabric::GemmQuestion& q) {
  const double seconds = static_cast<double>(time_of(p, plan)) * 1e-12;
  const double flop = 2.0 * static_cast<double>(q.batches) * static_cast<double>(q.m) * static_cast<double>(q.n) *
                      static_cast<double>(q.k);
  const std::string tile = fmt::format("{}x{}", plan.tile_m, plan.tile_n);
  return fmt::format("{:>7} {:>7} {:>7} {:>11.2f} {:>8.1f} {:>6.1f} %  {:<8} {:>5} {:>8} {:>6}\n", q.m, q.n, q.k,
                     seconds * 1e6, flop / seconds * 1e-12, 100 * flop / seconds / peak_rate(p, q.math), tile,
                     plan.split, plan.blocks, plan.waves(p.device.sms));
}

Result<std::string> table_of(const CublasModelOptions& o) {
  const auto platform = platform::load_platform(o.platform);
  if (!platform) return std::unexpected(platform.error());
  const auto math = fabric::gemm_math_from(o.math);
  if (!math) return error(fmt::format("there are no products of '{}'", o.math));
  fabric::GemmQuestion q;
  q.math = *math;
  q.batches = o.batches;
  q.element_bytes = bytes_of(*math);
  // Results of bytes are wider.
  q.result_bytes = q.element_bytes != 1 ? q.element_bytes : *math == fabric::GemmMath::int8 ? 4 : 2;
  std::vector<Sizes> sizes;
  if (o.m != 0 || o.n != 0 || o.k != 0) {
    const uint64_t any = std::max({o.m, o.n, o.k});
    sizes.push_back({o.m != 0 ? o.m : any, o.n != 0 ? o.n : any, o.k != 0 ? o.k : any});
  } else {
    for (uint64_t size = 256; size <= 16384; size *= 2) sizes.push_back({size, size, size});
  }
  std::string text = fmt::format("# {}, products of {}{}: what the model says of cuBLAS (docs/reference/cublas.md)\n",
                                 o.platform, o.math, o.batches == 1 ? "" : fmt::format(", batches of {}", o.batches));
  text += fmt::format("{:>7} {:>7} {:>7} {:>11} {:>8} {:>8}  {:<8} {:>5} {:>8} {:>6}\n", "m", "n", "k", "time (us)",
                      "TFLOPS", "of peak", "tile", "split", "blocks", "waves");
  for (const Sizes& s : sizes) {
    q.m = s.m;
    q.n = s.n;
    q.k = s.k;
    const auto plans = fabric::gemm_plans(*platform, q);
    for (size_t k = 0; k < (o.all ? plans.size() : 1); ++k) text += line_of(*platform, plans[k], q);
  }
  return text;
}

}  // namespace

void add_cublas_model(Command& program, CommandRun& command_run) {
  auto o = std::make_shared<CublasModelOptions>();
  Command& command = program.add_command("cublas-model", "Print how long products of cuBLAS take on a platform");
  command.footer(
      "Examples:\n  fabricbench dev cublas-model --platform h100x8 --math half\n"
      "  fabricbench dev cublas-model --platform b300x8 --math fp8 --m 128 --n 7168 --k 16384 --all\n\n"
      "Types: half (f16 and bf16), tf32, fp8, int8, f32, f64. Times are those of the kernel, without its launch.");
  const auto size = in_range(uint64_t{1}, uint64_t{1} << 24);
  command.add_option("--platform", o->platform, "Name of a platform, or a platform file").show_default();
  command.add_option("--math", o->math, "What is multiplied").show_default();
  command.add_option("--m", o->m, "Rows of the result (default: cubes from 256 to 16384)").check(size);
  command.add_option("--n", o->n, "Columns of the result").check(size);
  command.add_option("--k", o->k, "Products of each element").check(size);
  command.add_option("--batches", o->batches, "Products in one call").check(size).show_default();
  command.add_flag("--all", o->all, "Every tile and split, the fastest first");
  command.callback([o, &command_run] {
    const auto text = table_of(*o);
    if (!text) {
      print_error("{}", to_string(text.error(), "cublas-model"));
      return;
    }
    print_out("{}", *text);
    command_run.exit_code = kExitDone;
  });
}

}  // namespace fb::cli
