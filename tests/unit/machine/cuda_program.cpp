#include "machine/cuda_program.h"

#include <fmt/format.h>

#include <stdexcept>

#include "common/base/strings.h"
#include "scratch_folder.h"
#include "toolchain/compile/compile.h"

namespace fb {

CudaProgram::CudaProgram(const std::string& source, machine::LoadOptions options, machine::DeviceLimits limits) {
  device_ = std::make_unique<machine::Device>(limits);
  const ScratchFolder folder;
  load(folder.write("program.cu", source), options);
}

CudaProgram CudaProgram::from_file(const std::string& path, machine::LoadOptions options) {
  CudaProgram program;
  program.device_ = std::make_unique<machine::Device>();
  program.load(path, options);
  return program;
}

void CudaProgram::load(const std::string& path, machine::LoadOptions options) {
  toolchain::DeviceCompile compile;
  compile.source = path;
  const auto ptx = toolchain::compile_to_ptx(compile);
  if (!ptx) throw std::runtime_error(to_string(ptx.error(), path));
  auto module = device_->load(*ptx, options);
  if (!module) throw std::runtime_error(to_string(module.error(), path + " (PTX)"));
  module_ = *module;
}

machine::Outcome CudaProgram::launch(const std::vector<std::vector<std::byte>>& args,
                                     const machine::DeviceRunOptions& options) {
  const simt::FunctionInfo* kernel = module_->program().find(request_.kernel);
  if (!kernel) throw std::runtime_error("no kernel " + request_.kernel);
  request_.params.assign(kernel->param_bytes, std::byte{0});
  for (size_t k = 0; k < args.size(); ++k) {
    std::memcpy(request_.params.data() + kernel->param_offsets.at(k), args[k].data(), args[k].size());
  }
  auto outcome = device_->run(*module_, request_, options);
  if (!outcome) throw std::runtime_error(to_string(outcome.error(), request_.kernel));
  return *outcome;
}

}  // namespace fb
