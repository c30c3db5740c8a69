#include "toolchain/compile/compile.h"

#include <fmt/format.h>

#include <filesystem>

#include "common/base/process.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "toolchain/compile/diagnostics.h"
#include "toolchain/compile/gpu_target.h"
#include "toolchain/compile/locate.h"
#include "toolchain/compile/nvcc_ptx.h"
#include "toolchain/compile/words.h"
#include "toolchain/device/cluster_dims.h"
#include "toolchain/device/fast_functions.h"
#include "toolchain/device/grid_constants.h"
#include "toolchain/device/managed_variables.h"
#include "toolchain/device/max_registers.h"
#include "toolchain/device/plain_assembly.h"
#include "toolchain/device/promoted_constants.h"
#include "toolchain/device/relocatable.h"
#include "toolchain/device/wide_copies.h"
#include "toolchain/source/source_overlay.h"

namespace fb::toolchain {
namespace {

constexpr const char* kPtxFeature = "+ptx85";

std::string folder_of(const std::string& file) { return std::filesystem::path(file).parent_path().string(); }

OverlayForms forms_of(const DeviceCompile& request) {
  return {request.declared_casts, request.host_lambdas, request.relocatable, request.refused_places};
}

// Runs clang; its messages about `source` are returned as Errors.
Result<void> run_compiler(const DeviceCompile& request, const Locations& where, Invocation invocation) {
  add(invocation.reads, {where.sdk + "/include", request.source});
  add(invocation.reads, request.include_dirs);
  add(invocation.reads, request.reads);
  if (!request.cccl.empty()) invocation.reads.push_back(request.cccl);
  if (!request.precompiled_header.empty()) invocation.reads.push_back(request.precompiled_header);
  if (!request.dependencies.empty()) invocation.writes.push_back(folder_of(request.dependencies));
  const auto ran = run_limited(wrapped(request.wrapper, invocation), request.time_limits);
  if (!ran) return std::unexpected(ran.error());
  const ProcessResult& run = *ran;
  // clang ignores these with a warning, and the program would be silently wrong.
  if (auto refused = find_managed_variables(run.output, request.source); !refused.list.empty()) {
    return std::unexpected(std::move(refused));
  }
  if (run.exit_code != 0) return std::unexpected(parse_diagnostics(run.output, request.source));
  return {};
}

// clang writes .file 1 "./prog.cu" for the file that the user named prog.cu.
std::string with_plain_file_names(std::string ptx) {
  constexpr std::string_view kFile = "\t.file\t";
  for (size_t at = ptx.find(kFile); at != std::string::npos; at = ptx.find(kFile, at + 1)) {
    const size_t quote = ptx.find('"', at);
    if (quote != std::string::npos && ptx.compare(quote, 3, "\"./") == 0) ptx.erase(quote + 1, 2);
  }
  return ptx;
}

// The device side as LLVM IR, before any optimisation.
Result<std::string> compile_to_ir(const DeviceCompile& request, const Locations& where, const std::string& scratch) {
  const std::string output = scratch + "/device.ll";
  Words command = {where.compiler};
  add(command, language_flags(request, where.sdk));
  add(command, device_flags(request));
  add(command, {"-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-o", output});
  add(command, request.extra_flags);
  add(command, write_overlay(request.source, request.include_dirs, scratch, forms_of(request)));
  add(command, {"--", request.source});
  if (auto done = run_compiler(request, where, {command, {}, {scratch}}); !done) {
    return std::unexpected(std::move(done.error()));
  }
  return read_file(output);
}

// What nvcc defines for .cpp files, which it gives to the host's compiler; kernels get the same from language.h.
Words host_version_macros() {
  return {"-D__NVCC__=1",
          "-D__CUDACC_VER_MAJOR__=13",
          "-D__CUDACC_VER_MINOR__=0",
          "-D__CUDACC_VER_BUILD__=88",
          "-D__CUDA_API_VER_MAJOR__=13",
          "-D__CUDA_API_VER_MINOR__=0"};
}

Words code_flags(const DeviceCompile& request) {
  Words flags = {request.arithmetic.contract ? "-ffp-contract=fast" : "-ffp-contract=off"};
  add(flags, optimisation_flags(request.gpu_arch));
  if (!request.arithmetic.exact_division) add(flags, {"-mllvm", "-nvptx-prec-divf32=1"});
  // This pass would split loaded vectors again and load their parts where they are used.
  add(flags, {"-mllvm", "-disable-vector-combine"});
  return flags;
}

// From LLVM IR to PTX. Multiplications and additions are contracted as for CUDA sources, unless the user's flags
// forbid it.
Result<std::string> optimise(const DeviceCompile& request, const Locations& where, const std::string& scratch,
                             const std::string& ir) {
  const std::string input = scratch + "/wide.ll", output = scratch + "/device.ptx";
  write_file(input, ir);
  Words command = {where.compiler,
                   "--target=nvptx64-nvidia-cuda",
                   "-march=" + clang_architecture(request.gpu_arch),
                   "-Xclang",
                   "-target-feature",
                   "-Xclang",
                   kPtxFeature};
  command.emplace_back("-Qunused-arguments");
  add(command, code_flags(request));
  add(command, request.extra_flags);
  add(command, {"-fno-color-diagnostics", "-fno-caret-diagnostics", "-S", "-x", "ir", "-o", output, "--", input});
  if (auto done = run_compiler(request, where, {command, {}, {scratch}}); !done) {
    return std::unexpected(std::move(done.error()));
  }
  return read_file(output);
}

}  // namespace

// No file of NVIDIA is searched or read, so that the result does not depend on what is installed; the SDK version is
// the first in which launches use cudaLaunchKernel. No modules: declarations that differ only by __device__ must not be
// merged when a precompiled header is read. Line tables name files as the user did, independent of the folder.
std::vector<std::string> language_flags(const DeviceCompile& request, const std::string& sdk) {
  Words flags = {"-x", request.kernels ? "cuda" : request.plain_c ? "c" : "c++"};
  if (!request.plain_c) flags.push_back("-std=" + request.standard);
  if (request.kernels) {
    add(flags, {"-nocudainc", "-nocudalib", "--cuda-path=/nonexistent", "-Xclang", "-target-sdk-version=12.5"});
    // nvcc knows `typeof` in every standard.
    add(flags, {"-Xclang", "-fno-cxx-modules", "-Xclang", "-fcuda-allow-variadic-functions", "-fgnu-keywords"});
    // The driver would choose an id for each side.
    if (request.relocatable)
      add(flags, {"-fgpu-rdc", "-fuse-cuid=none", "-Xclang", "-cuid=" + request.unique_id, "-D__CUDACC_RDC__=1"});
  } else {
    add(flags, host_version_macros());
  }
  // As lenient as nvcc: variadic functions of the device, narrowing of what is no constant, `register`.
  add(flags, {"-Wno-c++11-narrowing", "-Wno-register", "-fdebug-compilation-dir=."});
  flags.push_back("-D__CUDA_ARCH_LIST__=" + architecture_number(request.gpu_arch));
  add(flags, {"-isystem", sdk + "/include"});
  if (!request.cccl.empty()) add(flags, {"-isystem", request.cccl});
  if (request.whole_libcudacxx || !request.cccl.empty()) flags.emplace_back("-D__FABRICBENCH_CCCL__");
  if (!request.precompiled_header.empty()) {
    add(flags, {"-include-pch", request.precompiled_header});
  } else if (request.include_runtime) {
    add(flags, {"-include", "cuda_runtime.h"});
  }
  for (const auto& dir : request.include_dirs) flags.push_back("-I" + dir);
  for (const auto& define : request.defines) {
    flags.push_back("-D" + define);
    if (request.kernels && define.starts_with(kOwnDefaultStream))
      add(flags, {"-Xclang", "-fgpu-default-stream=per-thread"});
  }
  if (!request.arithmetic.contract) flags.emplace_back("-ffp-contract=off");
  if (request.arithmetic.fast_functions) flags.emplace_back("-D__USE_FAST_MATH__=1");
  if (!request.dependencies.empty()) add(flags, {"-MMD", "-MF", request.dependencies});
  add(flags, {"-fno-color-diagnostics", "-fno-caret-diagnostics"});
  return flags;
}

std::vector<std::string> device_flags(const DeviceCompile& request) {
  Words flags = {"-O3", "--cuda-device-only", "--cuda-gpu-arch=" + clang_architecture(request.gpu_arch),
                 std::string("--cuda-feature=") + kPtxFeature, "-gline-tables-only",
                 // The device's heap is small: new and malloc return null when it is exhausted, and programs ask.
                 "-fcheck-new", "-fno-builtin-malloc",
                 // Lanes pass variables to a shuffle that only its source lane has set, often through a function.
                 "-Xclang", "-no-enable-noundef-analysis"};
  add(flags, architecture_macros(request.gpu_arch));
  if (request.arithmetic.flush_subnormals) add(flags, {"-fgpu-flush-denormals-to-zero", "-D__FABRICBENCH_FLUSHED__"});
  if (!request.arithmetic.exact_roots) flags.emplace_back("-D__FABRICBENCH_APPROXIMATE_ROOTS__");
  return flags;
}

std::vector<std::string> host_flags(const DeviceCompile& request) {
  // nvcc leaves host code unoptimised unless it is told otherwise, and programs rely on overflow that wraps around.
  Words flags = {fmt::format("-O{}", request.optimisation), "-pthread", "-fwrapv"};
  // Reports about calls of libraries name their lines.
  flags.emplace_back("-gline-tables-only");
  if (request.kernels) flags.push_back("--cuda-host-only");
  add(flags, request.shared ? Words{"-fPIC", "-fvisibility=hidden"} : Words{"-fPIE"});
  // The calls of ThreadSanitizer, without its library.
  if (request.observed)
    add(flags, {"-fsanitize=thread", "-mllvm", "-tsan-distinguish-volatile=1", "-mllvm",
                "-tsan-instrument-func-entry-exit=0"});
  return flags;
}

std::vector<std::string> all_flags(const DeviceCompile& request, const std::string& sdk) {
  Words flags = language_flags(request, sdk);
  add(flags, device_flags(request));
  add(flags, code_flags(request));
  if (request.max_registers != 0) flags.push_back(fmt::format("-maxrregcount={}", request.max_registers));
  add(flags, host_flags(request));
  add(flags, request.extra_flags);
  return flags;
}

Result<std::string> compile_to_ptx(const DeviceCompile& request) {
  const auto where = locate(request.device_compiler);
  if (!where) return std::unexpected(where.error());

  const TempDir scratch;
  if (request.device_compiler == DeviceCompiler::nvcc) {
    auto ptx = ptx_of_nvcc(request, *where, scratch.path());
    if (!ptx) return ptx;
    return with_max_registers(std::move(*ptx), request.max_registers);
  }
  auto ir = compile_to_ir(request, *where, scratch.path());
  if (!ir) return ir;
  if (request.relocatable) *ir = with_global_constants(std::move(*ir));
  const std::string plain = request.arithmetic.fast_functions ? with_fast_functions(*ir) : *ir;
  auto ptx = optimise(request, *where, scratch.path(), widen_copies(mark_grid_constants(with_plain_assembly(plain))));
  if (!ptx) return ptx;
  std::string text = mark_managed(apply_cluster_dims(with_plain_file_names(std::move(*ptx)), *ir), *ir);
  text = with_max_registers(with_architecture(std::move(text), request.gpu_arch), request.max_registers);
  return request.relocatable
             ? with_file_name(with_declared_kernels(with_suffixed_names(without_list_of_uses(std::move(text)))),
                              request.source)
             : text;
}

Result<void> compile_host(const HostCompile& request) {
  const auto where = locate();
  if (!where) return std::unexpected(where.error());

  Words command = {where->compiler};
  DeviceCompile unit = request.unit;
  if (unit.observed) unit.precompiled_header.clear();  // it was made with other flags
  add(command, language_flags(unit, where->sdk));
  add(command, host_flags(unit));
  if (!request.ptx.empty()) add(command, {"-Xclang", "-fcuda-include-gpubinary", "-Xclang", request.ptx});
  add(command, {"-c", "-o", request.object});
  add(command, request.unit.extra_flags);
  const TempDir scratch;
  add(command, write_overlay(request.unit.source, request.unit.include_dirs, scratch.path(), forms_of(request.unit)));
  add(command, {"--", request.unit.source});
  return run_compiler(request.unit, *where, {command, {scratch.path()}, {folder_of(request.object)}});
}

}  // namespace fb::toolchain
