#include "tests/unit/shim/machine_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "common/base/strings.h"
#include "common/record/run_options.h"
#include "common/wire/messages.h"

namespace fb {

MachineProcess::MachineProcess(const std::string& platform) {
  const std::string socket = folder_.path("machine");
  const std::string options = folder_.path("options.json");
  write_file(options, record::to_json(record::RunOptions{.platform = platform, .ranks = 0}));
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
#ifdef FB_MACHINE
  const std::string program = FB_MACHINE;
#else
  const std::string program = FB_BINARY_DIR "/bin/fabricbench-machine";
#endif
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    ::execl(program.c_str(), program.c_str(), "--socket", socket.c_str(), "--options", options.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  output_ = out[0];
  char ready[6] = {};
  if (::read(output_, ready, sizeof ready) < 5 || std::string(ready, 5) != "ready")
    throw std::runtime_error("the machine did not start: " + program);
  ::setenv(wire::kSocketVariable, socket.c_str(), 1);
}

MachineProcess::~MachineProcess() {
  ::close(input_);
  int status = 0;
  for (int k = 0; k < 100 && ::waitpid(pid_, &status, WNOHANG) == 0; ++k) {
    ::usleep(50'000);
    if (k == 99) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, &status, 0);
    }
  }
  ::close(output_);
}

}  // namespace fb
