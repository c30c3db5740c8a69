#pragma once

// One process on one device: what its kernels see and what they leave behind.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/wire/messages.h"
#include "virtual_node/machine/engine/engine.h"
#include "virtual_node/machine/engine/loaded_module.h"
#include "virtual_node/mem/address_space.h"
#include "virtual_node/simt/calls/device_runtime.h"
#include "virtual_node/simt/environment.h"

namespace fb::machine {

class Context final : public simt::Environment {
 public:
  struct Services {
    Engine* engine = nullptr;
    std::function<void(std::string_view)> print;
    // Device memory for kernels' malloc; 0 when there is none left.
    std::function<mem::Address(uint64_t bytes)> allocate;
    std::function<bool(mem::Address)> release;
    // For reports: an address of the process that this device can't touch.
    std::function<std::string(mem::Address)> describe;
  };

  Context(uint32_t device_number, Services services) : device(device_number), services_(std::move(services)) {}

  struct Module {
    std::unique_ptr<LoadedModule> loaded;
    std::vector<mem::Address> variables;
  };

  const uint32_t device;
  mem::AddressSpace space;  // what this device may touch
  std::map<wire::Id, Module> modules;
  std::map<std::pair<wire::Id, std::string>, uint64_t> dynamic_shared_limit;  // by module and function
  std::unique_ptr<simt::DeviceRuntime> runtime;                               // made with the first kernel
  wire::Status sticky_error = wire::Status::ok;                               // after a fault every call gets this

  // simt::Environment
  mem::AddressSpace& global() override { return space; }
  simt::Watch& watch() override { return services_.engine->watch(); }
  void make_ready(simt::Warp& warp, Cause cause) override { services_.engine->make_ready(warp, cause); }
  std::string describe(mem::Address a) override;
  void print(std::string_view text) override { services_.print(text); }
  uint64_t cycles() override { return services_.engine->cycles(); }
  uint64_t nanoseconds() override { return services_.engine->nanoseconds(); }
  void start(simt::AsyncCopy copy) override { services_.engine->start(std::move(copy)); }
  mem::Address heap_allocate(uint64_t bytes) override;
  bool heap_release(mem::Address a) override;
  simt::DeviceRuntime* device_runtime() override { return runtime.get(); }

  // Before memory goes away: nothing of this context sleeps on it or is in flight to it afterwards.
  void forget();

  uint64_t heap_limit = 8 << 20;

 private:
  Services services_;
  std::unordered_map<mem::Address, uint64_t> heap_;
  uint64_t heap_used_ = 0;
};

}  // namespace fb::machine
