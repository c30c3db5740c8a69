#pragma once

// What a run is asked for, and what became of it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/process.h"
#include "common/record/run_options.h"
#include "common/record/run_record.h"

namespace fb::launcher {

struct LaunchRequest {
  std::string program = {};  // path of an executable
  std::vector<std::string> arguments = {};
  record::RunOptions options = {};  // written for the machine into the run's folder
  int nodes = 1;                    // of the platform; ranks are spread over them in order

  std::string trace = {}, record = {}, events = {};  // files to write; empty: none

  bool prefix = false;  // "[rank 3] " before every line
  std::optional<std::chrono::milliseconds> timeout = {};
  uint64_t rank_memory = 0;               // bytes of private memory for each rank; 0: default_rank_memory()
  std::string library_path = {};          // folder of our libraries: programs load some by name
  std::vector<std::string> preload = {};  // libraries that ranks load before all others

  // Folders with the files of /sys that describe the virtual hardware, by node; empty: the host's are seen.
  std::vector<std::string> sysfs = {};

  double build_seconds = 0;  // for the record

  std::string machine = {};   // path of fabricbench-machine; empty: find_machine()
  std::string mpirun = {};    // its path
  int out = 1, err = 2;       // where output goes; -1: nowhere (LaunchResult::output_tail has its end)
  uint64_t output_limit = 0;  // bytes of each rank that are passed on, the rest is dropped; 0: all

  // A judge drives the run (fabricbench-machine --judge): the machine's end of its socket, which is closed as soon as
  // the machine has it. -1: no judge. Judged ranks get the variables of their rank and no others, each a socket of
  // its own, and no input. Nothing else that is open in this process may be inherited (close-on-exec).
  int judge = -1;
  // Last changes to how the machine and a rank are started, as to put them into a sandbox.
  std::function<void(SpawnOptions&)> prepare_machine = {};
  std::function<void(int rank, SpawnOptions&)> prepare_rank = {};
  // How a rank is started; empty: by spawn(). Its process is adopt()ed or this one's child.
  std::function<Child(int rank, const SpawnOptions&)> start_rank = {};
};

struct LaunchResult {
  record::RunRecord record = {};
  int exit_code = 0;         // 0 all is well, 1 the program failed, 2 we did
  uint64_t rank_memory = 0;  // what each rank was given
  std::string problem = {};  // in one line; empty where all is well
  // By rank: the end of what it has written, to both of its outputs.
  std::vector<std::string> output_tail = {};
};

}  // namespace fb::launcher
