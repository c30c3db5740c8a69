#pragma once

// For tests: CUDA C++ text, compiled with clang and the SDK, on a device of its own.

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "virtual_node/machine/device/device.h"

namespace fb {

class CudaProgram {
 public:
  // Throws std::runtime_error with the compiler's or loader's messages.
  explicit CudaProgram(const std::string& source, machine::LoadOptions load = {}, machine::DeviceLimits limits = {});
  static CudaProgram from_file(const std::string& path, machine::LoadOptions load = {});

  machine::Device& device() { return *device_; }

  template <class T>
  mem::Address buffer(const std::vector<T>& values) {
    const mem::Address a = device_->allocate(values.size() * sizeof(T));
    std::memcpy(device_->bytes(a, values.size() * sizeof(T)), values.data(), values.size() * sizeof(T));
    return a;
  }
  template <class T>
  std::vector<T> read(mem::Address a, size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), device_->bytes(a, count * sizeof(T)), count * sizeof(T));
    return values;
  }

  // Launches; throws std::runtime_error if the launch itself is refused.
  template <class... Args>
  machine::Outcome run(const std::string& kernel, simt::Dim3 grid, simt::Dim3 block,
                       const machine::DeviceRunOptions& options, Args... args) {
    request_.kernel = kernel;
    request_.grid = grid;
    request_.block = block;
    std::vector<std::vector<std::byte>> values;
    (values.push_back(bytes_of(args)), ...);
    return launch(values, options);
  }
  machine::LaunchRequest& request() { return request_; }
  machine::Outcome launch(const std::vector<std::vector<std::byte>>& args, const machine::DeviceRunOptions& options);
  const machine::LoadedModule& module() const { return *module_; }

 private:
  CudaProgram() = default;
  void load(const std::string& path, machine::LoadOptions load);

  template <class T>
  static std::vector<std::byte> bytes_of(const T& value) {
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }

  std::unique_ptr<machine::Device> device_;
  machine::LoadedModule* module_ = nullptr;
  machine::LaunchRequest request_;
};

}  // namespace fb
