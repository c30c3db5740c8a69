#pragma once

// What kernels enqueue themselves: grids, copies and fills on streams of the device. Their operations are parts of the
// operation of the kernel that launched them: it ends when they have, and the launches of its tail come last.

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "virtual_node/machine/process/device_runtimes.h"
#include "virtual_node/machine/process/operation.h"
#include "virtual_node/machine/process/process.h"
#include "virtual_node/machine/process/services.h"
#include "virtual_node/simt/calls/device_runtime.h"

namespace fb::machine {

class DeviceLaunches final : public DeviceRuntimes {
 public:
  explicit DeviceLaunches(ProcessServices& node) : node_(node) {}

  std::unique_ptr<simt::DeviceRuntime> runtime_for(Process& process, uint32_t device) override;
  void begin_grid(uint64_t grid, const OperationPtr& op) override;
  bool end_grid(uint64_t grid, Time at) override;

 private:
  class Runtime;

  // A launch whose parameters the kernel is about to store.
  struct Prepared {
    std::shared_ptr<simt::Grid> grid;
    const LoadedModule* module = nullptr;
  };
  struct DeviceStream {
    uint64_t number = 0;  // for traces and the order of operations
    OperationPtr last;
  };
  // A grid that has called the runtime.
  struct Launcher {
    OperationPtr op;
    bool ended = false;
    Time end = 0;
    uint32_t running = 0;  // operations that have not ended
    std::vector<OperationPtr> tail;
    size_t next_of_tail = 0;
    std::map<uint64_t, DeviceStream> own_streams;              // by block
    std::map<std::pair<uint64_t, uint32_t>, uint32_t> errors;  // by block and thread
    std::map<mem::Address, Prepared> prepared;
    // Where parameters are stored: a piece is used once, because threads that store there do not wait for each other.
    std::vector<mem::Address> chunks;
    mem::Address free_from = 0, free_to = 0;
  };
  using LauncherPtr = std::shared_ptr<Launcher>;

  LauncherPtr launcher_of(const simt::Warp& warp);
  mem::Address take_piece(Launcher& launcher, uint64_t bytes);
  // Puts it on the stream of the caller's device; CUDA's error.
  uint32_t enqueue(simt::DeviceCaller caller, const OperationPtr& op, uint64_t stream);
  void submit(const LauncherPtr& launcher, const OperationPtr& op);
  void go_on(const LauncherPtr& launcher);

  ProcessServices& node_;
  std::unordered_map<uint64_t, OperationPtr> grids_;  // that run
  std::unordered_map<uint64_t, LauncherPtr> launchers_;
  std::unordered_map<uint64_t, DeviceStream> streams_;
  std::unordered_map<uint64_t, OperationPtr> events_;
  uint64_t next_handle_ = 0x1000;
  uint64_t next_stream_ = uint64_t{1} << 40;
};

}  // namespace fb::machine
