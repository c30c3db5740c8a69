#pragma once

// A module on a device: its code, and its variables in the device's memory.

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/ptx/module.h"
#include "virtual_node/mem/address_space.h"
#include "virtual_node/simt/inst.h"
#include "virtual_node/simt/lower/tear.h"

namespace fb::machine {

struct LoadOptions {
  bool observed = false;             // lower for a listener
  simt::UnitTimes times = {};        // … that models time; empty: it does not
  bool reference = false;            // lower for the slow engine
  simt::Tear tear = simt::Tear::no;  // stores of more than 8 bytes may be seen half done
  bool count_branches = false;
};

class LoadedModule {
 public:
  struct Storage {
    mem::Address address = 0;
    std::byte* host = nullptr;
    bool initialised = false;  // holds its initial value, or what was stored since
  };
  // Allocates memory for a variable; address 0: there is none left.
  using AllocateFn = std::function<Storage(const ptx::Variable& variable)>;

  static Result<std::unique_ptr<LoadedModule>> load(std::string_view ptx, const LoadOptions& options,
                                                    const AllocateFn& allocate);
  // The same for a module that is parsed already; several devices and processes may share it.
  static Result<std::unique_ptr<LoadedModule>> load(std::shared_ptr<const ptx::Module> module,
                                                    const LoadOptions& options, const AllocateFn& allocate);

  const ptx::Module& source() const { return *module_; }
  std::shared_ptr<const ptx::Module> share_source() const { return module_; }
  const simt::Program& program() const { return *program_; }
  // 0: no such variable.
  mem::Address address_of(std::string_view variable, bool of_driver = false) const;

 private:
  std::shared_ptr<const ptx::Module> module_;
  std::unique_ptr<simt::Program> program_;
  std::vector<Storage> variables_;
};

}  // namespace fb::machine
