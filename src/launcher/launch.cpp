#include "launcher/launch.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "common/base/installed.h"
#include "common/base/strings.h"
#include "launcher/descendants.h"
#include "launcher/supervisor.h"

namespace fb::launcher {
namespace {

constexpr int kMostRanks = 1024;

// SIGINT, SIGTERM and SIGHUP are read from a descriptor and SIGPIPE is ignored, because the ranks must be ended first.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    pipe_before_ = signal(SIGPIPE, SIG_IGN);
  }
  ~SignalsHeld() {
    signal(SIGPIPE, pipe_before_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
  void (*pipe_before_)(int) = nullptr;
};

Result<void> check(const LaunchRequest& request) {
  if (request.options.ranks < 1 || request.options.ranks > kMostRanks) {
    return error(fmt::format("{} ranks: 1 to {} are possible", request.options.ranks, kMostRanks));
  }
  if (request.nodes < 1) return error("a platform has at least one node");
  if (access(request.program.c_str(), X_OK) != 0) return error(request.program + ": not a program");
  if (request.options.mpi && request.mpirun.empty()) {
    return error("mpirun not found in PATH: install it (apt install openmpi-bin libopenmpi-dev)");
  }
  return {};
}

}  // namespace

Result<LaunchResult> run_program(const LaunchRequest& wanted, const RunDirectory& directory) {
  if (auto good = check(wanted); !good) return std::unexpected(std::move(good.error()));
  LaunchRequest request = wanted;
  if (request.rank_memory == 0) request.rank_memory = default_rank_memory(request.options.ranks);
  if (request.machine.empty()) {
    auto found = find_machine();
    if (!found) return std::unexpected(std::move(found.error()));
    request.machine = std::move(*found);
  }
  // In this order: everything is ended before signals are let through again.
  const SignalsHeld signals;
  const Descendants descendants;
  Supervisor supervisor(request, directory);
  auto machine = supervisor.start_machine();
  if (request.judge >= 0) close(request.judge);
  if (!machine) return std::unexpected(std::move(machine.error()));
  supervisor.start_ranks();
  supervisor.watch();
  supervisor.finish_machine();
  descendants.end_all();
  LaunchResult result = supervisor.result();
  result.rank_memory = request.rank_memory;
  try {
    if (!request.record.empty()) write_file(request.record, to_json(result.record));
  } catch (const std::system_error& e) {
    // What the run found is said all the same.
    result.problem += (result.problem.empty() ? "" : "; ") + std::string(e.what());
    result.exit_code = 2;
  }
  return result;
}

Result<std::string> find_machine() { return locate_program("FABRICBENCH_MACHINE", "fabricbench-machine"); }

uint64_t default_rank_memory(int ranks) {
  constexpr uint64_t kMost = 2ull << 30, kLeast = 512ull << 20;
  const auto all = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::clamp(all / 2 / static_cast<uint64_t>(ranks), kLeast, kMost);
}

}  // namespace fb::launcher
