#include "toolchain/compile/nvcc_ptx.h"

#include <fmt/format.h>

#include <filesystem>

#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "toolchain/compile/diagnostics.h"
#include "toolchain/compile/words.h"
#include "toolchain/device/nvcc_names.h"
#include "toolchain/device/ptxas_facts.h"

namespace fb::toolchain {
namespace {

namespace fs = std::filesystem;

// Flags for clang that nvcc knows, too.
Words known_to_nvcc(const Words& flags) {
  Words known;
  for (size_t k = 0; k < flags.size(); ++k) {
    const std::string& flag = flags[k];
    const bool paired = flag == "-include" || flag == "-isystem" || flag == "-U" || flag == "-D";
    if (paired && k + 1 < flags.size()) {
      known.push_back(flag);
      known.push_back(flags[++k]);
    } else if (!paired && (flag.starts_with("-D") || flag.starts_with("-U") || flag.starts_with("-I") ||
                           flag.starts_with("-ftemplate-depth="))) {
      known.push_back(flag);
    }
  }
  return known;
}

// Of the registers of kernels. Nothing, where the assembler refuses what the virtual GPU may take.
std::string what_ptxas_says(const DeviceCompile& request, const Locations& where, const std::string& scratch,
                            const std::string& ptx) {
  Words command = {fs::path(where.nvcc).replace_filename("ptxas").string(),
                   "-v",
                   "-arch=" + request.gpu_arch,
                   "-o",
                   scratch + "/device.cubin",
                   ptx};
  if (request.max_registers != 0) command.push_back(fmt::format("-maxrregcount={}", request.max_registers));
  const std::string toolkit = fs::path(where.nvcc).parent_path().parent_path().string();
  const auto ran = run_limited(wrapped(request.wrapper, {command, {toolkit, ptx}, {scratch}}), request.time_limits);
  return ran && ran->exit_code == 0 ? ran->output : "";
}

const char* word(bool value) { return value ? "true" : "false"; }

}  // namespace

Result<std::string> ptx_of_nvcc(const DeviceCompile& request, const Locations& where, const std::string& scratch) {
  if (request.relocatable)
    return error(
        "device code of several files (-rdc=true) is compiled by clang alone: leave out --device-compiler nvcc");
  // Headers of the SDK come last, so that CUDA's own are NVIDIA's.
  const std::string ours = scratch + "/headers", output = scratch + "/device.ptx";
  fs::create_directory(ours);
  fs::create_directory_symlink(where.sdk + "/include/fabricbench", ours + "/fabricbench");
  // The node has mma.sync and no wmma.
  fs::create_symlink(where.sdk + "/include/mma.h", ours + "/mma.h");
  std::string architecture = request.gpu_arch;
  architecture.replace(0, architecture.find('_') + 1, "compute_");
  Words command = {where.nvcc,
                   "-ptx",
                   "-arch=" + architecture,
                   "-std=" + request.standard,
                   "--expt-relaxed-constexpr",
                   "--extended-lambda",
                   "-lineinfo",
                   "-w",
                   fmt::format("-ftz={}", word(request.arithmetic.flush_subnormals)),
                   fmt::format("-prec-div={}", word(request.arithmetic.exact_division)),
                   fmt::format("-prec-sqrt={}", word(request.arithmetic.exact_roots)),
                   fmt::format("-fmad={}", word(request.arithmetic.contract)),
                   "-I" + ours,
                   "-Xcompiler",
                   "-idirafter," + where.sdk + "/include",
                   "-o",
                   output};
  if (request.arithmetic.fast_functions) command.emplace_back("-use_fast_math");
  for (const auto& dir : request.include_dirs) command.push_back("-I" + dir);
  for (const auto& define : request.defines) command.push_back("-D" + define);
  if (!request.dependencies.empty()) add(command, {"-MMD", "-MF", request.dependencies});
  add(command, known_to_nvcc(request.extra_flags));
  command.push_back(request.source);

  const std::string toolkit = fs::path(where.nvcc).parent_path().parent_path().string();
  Invocation invocation{command, {where.sdk + "/include", request.source, toolkit}, {scratch}};
  add(invocation.reads, request.include_dirs);
  add(invocation.reads, request.reads);
  if (!request.dependencies.empty()) invocation.writes.push_back(fs::path(request.dependencies).parent_path().string());
  const auto ran = run_limited(wrapped(request.wrapper, invocation), request.time_limits);
  if (!ran) return std::unexpected(ran.error());
  if (ran->exit_code != 0) return std::unexpected(parse_nvcc_diagnostics(ran->output, request.source));
  if (!request.dependencies.empty()) {
    // Headers are where they stay.
    std::string rule = read_file(request.dependencies);
    for (size_t at = 0; (at = rule.find(ours + "/", at)) != std::string::npos;)
      rule.replace(at, ours.size(), where.sdk + "/include");
    write_file(request.dependencies, rule);
  }
  const std::string ptx = read_file(output);
  return with_clang_names(with_ptxas_facts(ptx, what_ptxas_says(request, where, scratch, output)));
}

}  // namespace fb::toolchain
