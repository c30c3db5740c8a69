#pragma once

#include <sys/types.h>

#include <string>

#include "tests/scratch_folder.h"

namespace fb {

// A machine of its own for one test program. The program's first CUDA call finds it by the environment.
class MachineProcess {
 public:
  // Throws if the machine does not get ready.
  explicit MachineProcess(const std::string& platform);
  // Ends it by closing its input.
  ~MachineProcess();
  MachineProcess(const MachineProcess&) = delete;
  MachineProcess& operator=(const MachineProcess&) = delete;

 private:
  pid_t pid_ = -1;
  int input_ = -1, output_ = -1;
  ScratchFolder folder_;
};

}  // namespace fb
