#include "toolchain/compile.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "toolchain/cluster_dims.h"
#include "toolchain/diagnostics.h"
#include "toolchain/locate.h"
#include "toolchain/subprocess.h"
#include "toolchain/temporary_directory.h"

namespace fb::toolchain {
namespace {

using Words = std::vector<std::string>;

// What both sides of a CUDA file need. No file of NVIDIA's is read, and none is looked for, so that the result does not
// depend on what is installed; the SDK version is the one from which launches go through cudaLaunchKernel.
Words language_flags(const DeviceCompile& request, const Locations& where) {
  Words flags = {"-x", "cuda", "-std=" + request.standard, fmt::format("-O{}", request.optimisation)};
  flags.insert(flags.end(), {"-nocudainc", "-nocudalib", "--cuda-path=/nonexistent"});
  flags.insert(flags.end(), {"-Xclang", "-target-sdk-version=12.5"});
  flags.insert(flags.end(), {"-isystem", where.sdk + "/include", "-include", "cuda_runtime.h"});
  for (const auto& dir : request.include_dirs) flags.push_back("-I" + dir);
  for (const auto& define : request.defines) flags.push_back("-D" + define);
  flags.insert(flags.end(), {"-fno-color-diagnostics", "-fno-caret-diagnostics"});
  return flags;
}

// Compiles the device side to PTX, or with -emit-llvm to LLVM's IR, and reads the output.
Result<std::string> compile_device(const DeviceCompile& request, const Locations& where, const std::string& output,
                                   const Words& more_flags) {
  Words command = language_flags(request, where);
  command.insert(command.begin(), where.compiler);
  command.insert(command.end(), {"--cuda-device-only", "--cuda-gpu-arch=" + request.gpu_arch, "--cuda-feature=+ptx85"});
  command.insert(command.end(), {"-gline-tables-only", "-S", "-o", output});
  command.insert(command.end(), request.extra_flags.begin(), request.extra_flags.end());
  command.insert(command.end(), more_flags.begin(), more_flags.end());
  command.insert(command.end(), {"--", request.source});

  const Finished run = run_program(command, request.time_limit);
  if (run.timed_out) return error(fmt::format("the compiler was stopped after {} s", request.time_limit.count()));
  if (run.exit_code != 0) return std::unexpected(parse_diagnostics(run.output, request.source));
  return read_file(output);
}

}  // namespace

Result<std::string> compile_to_ptx(const DeviceCompile& request) {
  const auto where = locate();
  if (!where) return std::unexpected(where.error());

  const TemporaryDirectory scratch;
  auto ptx = compile_device(request, *where, scratch.path() + "/device.ptx", {});
  if (!ptx || !declares_entries(*ptx)) return ptx;

  const auto ir = compile_device(request, *where, scratch.path() + "/device.ll", {"-emit-llvm"});
  if (!ir) return ir;
  return apply_cluster_dims(std::move(*ptx), *ir);
}

}  // namespace fb::toolchain
