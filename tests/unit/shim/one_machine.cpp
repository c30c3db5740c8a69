// The machine of all tests of a program that is linked with this file, for the platform FB_PLATFORM.

#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/shim/machine_process.h"

namespace {

class OneMachine : public testing::Environment {
 public:
  void SetUp() override { machine_.emplace(FB_PLATFORM); }
  // The libraries' connections end with the process, after the machine.
  void TearDown() override { machine_.reset(); }

 private:
  std::optional<fb::MachineProcess> machine_;
};
[[maybe_unused]] testing::Environment* const kMachine = testing::AddGlobalTestEnvironment(new OneMachine);

}  // namespace
