#pragma once

// A solution that is loaded from a shared object, and one object of its class with its tensors.

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fabricbench/rank.h>

#include <string>
#include <utility>
#include <vector>

#include "data.h"

namespace harness {

inline void check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  const std::string text = what + ": " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation)
    throw CannotRun(text + ": fewer solutions at once, --calls 1 or --sizes need less device memory");
  if (error == cudaErrorNoKernelImageForDevice)
    throw CannotRun(text + ": it was compiled for other cards; `make clean all` compiles for those of this computer");
  throw std::runtime_error(text);
}

// Of its own allocation, as the judge's tensors are: a handle for other processes stands for a whole allocation.
class DeviceMemory {
 public:
  DeviceMemory(size_t bytes, int device) {
    constexpr size_t kOwnBlock = size_t{2} << 20;
    int current = 0;
    check(cudaGetDevice(&current), "cudaGetDevice");
    check(cudaSetDevice(device), "cudaSetDevice");
    check(cudaMalloc(&at_, std::max(bytes, kOwnBlock)), "cudaMalloc of " + std::to_string(bytes) + " bytes");
    check(cudaSetDevice(current), "cudaSetDevice");
  }
  ~DeviceMemory() { cudaFree(at_); }
  DeviceMemory(DeviceMemory&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  void* get() const { return at_; }

 private:
  void* at_ = nullptr;
};

class Library {
 public:
  explicit Library(const std::string& path) : name_(path.substr(path.rfind('/') + 1)) {
    if (name_.size() > 3 && name_.substr(name_.size() - 3) == ".so") name_.resize(name_.size() - 3);
    void* object = dlopen((path.find('/') == path.npos ? "./" + path : path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!object) throw CannotRun(dlerror());
    find(object, "fabricbench_args_words", args_words);
    find(object, "fabricbench_construct", construct);
    find(object, "fabricbench_run", run);
    find(object, "fabricbench_destroy", destroy);
    if (args_words() != problem::tensors.size() + problem::parameters.size())
      throw CannotRun(path + " was made for another problem: its Args differ");
  }
  const std::string& name() const { return name_; }

  uint64_t (*args_words)();
  void* (*construct)(const fabricbench::Rank*, const uint64_t*);
  void (*run)(void*, const uint64_t*, cudaStream_t);
  void (*destroy)(void*);

 private:
  template <class Function>
  void find(void* object, const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(object, symbol));
    if (!function) throw CannotRun(name_ + ".so has no " + symbol + ": it was not built by this folder's Makefile");
  }
  std::string name_;
};

// What the watchdog says.
struct Progress {
  char text[200] = "the start";
  int rank = 0;
};
inline Progress progress;
inline void say_progress(const std::string& solution, const char* size, const std::string& what) {
  std::snprintf(progress.text, sizeof progress.text, "%s, size %s, %s", solution.c_str(), size, what.c_str());
}

class Instance {
 public:
  Instance(const Library& library, const fabricbench::Rank& rank, const Data& data, const problem::Size& size,
           cudaStream_t stream)
      : library_(library), rank_(rank), stream_(stream) {
    for (size_t t = 0; t < problem::tensors.size(); ++t) {
      const problem::Tensor& tensor = problem::tensors[t];
      const problem::Where where = {size.values.data(), rank.world(), rank.rank()};
      const int device = tensor.device ? static_cast<int>(tensor.device(where)) : rank.device();
      memory_.emplace_back(data.bytes(rank.rank(), t), device);
      words_.push_back(reinterpret_cast<uint64_t>(memory_.back().get()));
    }
    for (size_t k = 0; k < problem::parameters.size(); ++k) words_.push_back(static_cast<uint64_t>(size.values[k]));
    say_progress(library.name(), size.name, "its constructor");
    solution_ = library.construct(&rank, words_.data());
    check(cudaSetDevice(rank.device()), "cudaSetDevice");
    check(cudaDeviceSynchronize(), library.name() + ": its constructor");
  }
  // Collective, as its constructor is. Without it the object stays until the process ends: a destructor that waits for
  // ranks which have failed would hide their error.
  void end(const char* size) {
    say_progress(library_.name(), size, "its destructor");
    library_.destroy(solution_);
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const std::string& name() const { return library_.name(); }
  void* tensor(size_t t) const { return memory_[t].get(); }
  void run() {
    in_run() = true;
    library_.run(solution_, words_.data(), stream_);
    in_run() = false;
  }
  // Services of a rank are for constructors.
  static bool& in_run() {
    static bool now = false;
    return now;
  }

 private:
  const Library& library_;
  const fabricbench::Rank& rank_;
  cudaStream_t stream_;
  std::vector<DeviceMemory> memory_;
  std::vector<uint64_t> words_;
  void* solution_ = nullptr;
};

}  // namespace harness
