#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/process.h"
#include "common/base/processor_time.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "launcher/launch_request.h"
#include "launcher/line_forwarder.h"
#include "launcher/run_directory.h"

namespace fb::launcher {

// Starts the processes of one run and watches them until all have ended, in one thread and one poll loop.
//
// The first thing that goes wrong starts a grace period in which the other ranks may end by themselves; then they are
// killed. The machine ends last, so that it can write its record.
class Supervisor {
 public:
  using Clock = std::chrono::steady_clock;

  Supervisor(const LaunchRequest& request, const RunDirectory& directory);

  Result<void> start_machine();
  void start_ranks();
  void watch();
  void finish_machine();
  LaunchResult result();

 private:
  struct Rank {
    Child process;
    UniqueFd out, err;
    LineForwarder out_lines, err_lines;
    record::RankEnd end;
    uint64_t passed_on = 0;  // bytes of output
    std::string tail = {};
    bool running = true;
  };

  void start_rank(int rank, const std::string& port);
  void start_mpi(const std::string& port);
  std::vector<std::string> environment_of(int rank, const std::string& port) const;
  std::string preload() const;
  void add_rank(int rank, SpawnOptions start);

  bool wait_once(std::chrono::milliseconds longest);  // false: time is up
  void read_output(UniqueFd& from, LineForwarder& lines, Rank* rank);
  void take_output(Rank& rank, LineForwarder& lines, std::string_view text) const;
  bool is_late() const;
  bool is_judged() const { return request_.judge >= 0; }
  std::string socket_of(int rank) const;
  void read_machine();
  void take_machine_line(std::string_view line);
  void take_signal();
  void rank_ended(Rank& rank);
  void drain();

  bool any_running() const;
  void trouble(record::Ending ending, std::string what, std::chrono::milliseconds grace);
  void send_to_ranks(int signal);
  void kill_ranks();
  double seconds_since_start() const;

  const LaunchRequest& request_;
  const RunDirectory& directory_;
  Child machine_;
  UniqueFd machine_in_, machine_out_, machine_err_, signals_;
  std::string machine_text_;  // the line that is not complete yet
  LineForwarder machine_lines_;
  std::string machine_errors_;
  bool machine_running_ = false, machine_ready_ = false;
  std::vector<Rank> ranks_;

  Clock::time_point born_ = Clock::now();
  Clock::time_point started_ = born_;
  std::optional<Clock::time_point> kill_at_;
  bool killed_ = false;
  record::Ending ending_ = record::Ending::finished;
  std::string problem_;
  std::vector<record::Incident> incidents_;
  std::optional<record::Ending> found_;  // a finding of the machine behind which the run went on
  std::map<std::string, double> wall_seconds_;
  double born_seconds_ = thread_seconds();  // processor time of this thread
  double launch_seconds_ = 0;
};

}  // namespace fb::launcher
