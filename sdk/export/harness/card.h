#pragma once

// The GPUs of a run: what is refused before anything is measured, and what a measurement depends on.

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "solution.h"

namespace harness {

// NVIDIA's library for management, where there is one. Its header is not needed.
class Nvml {
 public:
  explicit Nvml(const char* bus_id) {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    int (*init)() = nullptr;
    int (*handle)(const char*, void**) = nullptr;
    if (!find(library, "nvmlInit_v2", init) || !find(library, "nvmlDeviceGetHandleByPciBusId_v2", handle)) return;
    if (init() != 0 || handle(bus_id, &device_) != 0) device_ = nullptr;
    find(library, "nvmlDeviceGetClockInfo", clock_);
    find(library, "nvmlDeviceGetTemperature", temperature_);
    if (!find(library, "nvmlDeviceGetCurrentClocksEventReasons", reasons_))
      find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", reasons_);
  }
  // Nothing: -1.
  int multiprocessor_mhz() const { return ask(clock_, 1); }
  int memory_mhz() const { return ask(clock_, 2); }
  int celsius() const { return ask(temperature_, 0); }
  // Reasons that slow a GPU down: power, heat, hardware. Idle and the clocks that the user has set are none.
  bool throttled() const {
    constexpr unsigned long long kSlow = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;
    unsigned long long reasons = 0;
    return device_ && reasons_ && reasons_(device_, &reasons) == 0 && (reasons & kSlow) != 0;
  }

 private:
  using Question = int (*)(void*, unsigned, unsigned*);
  template <class Function>
  static bool find(void* library, const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, symbol));
    return function != nullptr;
  }
  int ask(Question question, unsigned kind) const {
    unsigned value = 0;
    return device_ && question && question(device_, kind, &value) == 0 ? static_cast<int>(value) : -1;
  }
  void* device_ = nullptr;
  Question clock_ = nullptr, temperature_ = nullptr;
  int (*reasons_)(void*, unsigned long long*) = nullptr;
};

struct Clocks {
  int multiprocessor_mhz, memory_mhz, celsius, throttled;
};

class Card {
 public:
  explicit Card(Ranks& ranks) : ranks_(ranks) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0)
      throw CannotRun("no GPU is found here (" + std::string(cudaGetErrorString(error)) +
                      "): install NVIDIA's driver, or try it without one: fabricbench exec ./run -- -n 4 --quick");
    // A launcher may show each process its own GPU alone.
    device_ = count == 1 ? 0 : ranks.place().local;
    if (device_ >= count)
      throw CannotRun("there are " + std::to_string(count) + " GPUs for " + std::to_string(ranks.place().local_world) +
                      " ranks: start at most " + std::to_string(count) + " (-n)");
    check(cudaSetDevice(device_), "cudaSetDevice");
    check(cudaGetDeviceProperties(&facts_, device_), "cudaGetDeviceProperties");
    check(cudaDeviceGetPCIBusId(bus_id_, sizeof bus_id_, device_), "cudaDeviceGetPCIBusId");
    expect_own_card();
    peers_ = peer_access(count);
  }
  int device() const { return device_; }
  const char* name() const { return facts_.name; }
  int capability() const { return facts_.major * 10 + facts_.minor; }
  int multiprocessors() const { return facts_.multiProcessorCount; }
  bool peers() const { return peers_; }
  Clocks clocks() const {
    static const Nvml nvml(bus_id_);
    return {nvml.multiprocessor_mhz(), nvml.memory_mhz(), nvml.celsius(), nvml.throttled()};
  }

 private:
  void expect_own_card() const {
    std::array<char, 64> mine = {};
    std::memcpy(mine.data(), &facts_.uuid, sizeof facts_.uuid);
    gethostname(mine.data() + sizeof facts_.uuid, mine.size() - sizeof facts_.uuid - 1);
    const auto all = ranks_.all_of(mine);
    for (size_t a = 0; a < all.size(); ++a) {
      for (size_t b = a + 1; b < all.size(); ++b) {
        if (all[a] == all[b])
          throw CannotRun("ranks " + std::to_string(a) + " and " + std::to_string(b) +
                          " have the same GPU: start one rank for each GPU");
      }
    }
  }
  // Whether all GPUs of this computer that the run uses reach each other's memory.
  bool peer_access(int count) const {
    for (int other = 0; other < std::min(count, ranks_.place().local_world); ++other) {
      int can = 1;
      if (other != device_) check(cudaDeviceCanAccessPeer(&can, device_, other), "cudaDeviceCanAccessPeer");
      if (!can) return false;
    }
    return true;
  }

  Ranks& ranks_;
  int device_ = 0;
  cudaDeviceProp facts_ = {};
  char bus_id_[32] = "";
  bool peers_ = false;
};

// "2.27.5", or "" where no solution has loaded it.
inline std::string nccl_version() {
  void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  const auto version = library ? reinterpret_cast<int (*)(int*)>(dlsym(library, "ncclGetVersion")) : nullptr;
  int number = 0;
  if (!version || version(&number) != 0) return "";
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

}  // namespace harness
