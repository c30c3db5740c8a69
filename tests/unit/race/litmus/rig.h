#pragma once

// Runs a litmus test on the engine: two GPUs that share their memory, in this process.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "litmus/program.h"
#include "virtual_node/machine/engine/loaded_module.h"
#include "virtual_node/simt/listener.h"

namespace fb::litmus {

class Rig {
 public:
  // Throws std::runtime_error if the machine refuses the kernel.
  explicit Rig(const Program& program);
  ~Rig();

  // One run. Throws std::runtime_error if it does not end well.
  Outcome run(uint64_t seed, simt::Listener* listener);

  const std::string& ptx() const { return ptx_; }
  const machine::LoadedModule& module() const { return *module_; }

 private:
  class Node;

  const Program& program_;
  std::string ptx_;
  std::unique_ptr<machine::LoadedModule> module_;
};

}  // namespace fb::litmus
