#pragma once

// Judgements as tasks of Slurm job arrays. The run folder must have the same path on all nodes: jobs, lists of jobs,
// verdicts and the tasks' output are files in it.
//
//   DIR/slurm/name                 the name of this run's jobs in Slurm
//   DIR/slurm/<batch>/script       of the array
//   DIR/slurm/<batch>/<task>.list  job files of one task, a path a line
//   DIR/slurm/<batch>/<task>.out   its output
//   DIR/slurm/log                  submissions, losses and retries
//
// Slurm itself requeues a task when its node is lost (--requeue). Jobs that an ended task has left undone are
// submitted again. Jobs in tasks that an earlier process submitted are waited for. Several executors may share a run.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "campaign/background_command.h"
#include "campaign/executor.h"
#include "campaign/slurm_commands.h"
#include "campaign/slurm_ledger.h"
#include "common/base/result.h"

namespace fb::campaign {

struct SlurmOptions {
  std::string run;                        // the run folder
  std::string program;                    // fabricbench, as the nodes see it
  std::vector<std::string> options = {};  // for sbatch: partition, account, time
  LedgerLimits limits = {};
  uint32_t cpus = 1;  // of a task
  // Interval between squeue calls.
  std::chrono::milliseconds interval = std::chrono::seconds(1);
  std::function<void(const std::string&)> note = {};  // messages for the user
};

class SlurmExecutor final : public Executor {
 public:
  // An error if Slurm's commands are missing or its controller does not answer.
  static Result<std::unique_ptr<SlurmExecutor>> make(SlurmOptions options);
  ~SlurmExecutor() override;

  size_t appetite() const override { return options_.limits.tasks * options_.limits.batch; }
  void submit(const record::RoundId& round) override;
  // Throws std::runtime_error if no submission has ever worked: the user's options are wrong.
  std::vector<Ended> collect() override;
  std::vector<int> descriptors() const override;
  std::chrono::milliseconds patience() const override;
  // Cancels the tasks that this executor has submitted or waits for, and waits a limited time for their end.
  void stop() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Query {
    std::unique_ptr<BackgroundCommand> command;
    Clock::time_point asked;
  };
  struct Submit {
    std::unique_ptr<BackgroundCommand> command;
    std::string batch;
    size_t tasks = 0;
  };
  // Grows with each failure, ends with a success.
  struct Backoff {
    uint32_t failures = 0;
    Clock::time_point until = {};
    void failed(Clock::time_point now, std::chrono::milliseconds first);
    void worked() { *this = {}; }
  };

  explicit SlurmExecutor(SlurmOptions options) : options_(std::move(options)), ledger_(options_.limits) {}

  Result<void> prepare();
  void read_name();
  void look_for_former_tasks(const std::vector<QueuedTask>& queue);
  std::string make_batch_folder();
  Result<std::vector<QueuedTask>> ask_queue() const;
  void begin_query();
  void end_query(const ProcessResult& end);
  void tell_if_idle();
  void begin_submission();
  void end_submission(const ProcessResult& end);
  std::string batch_folder(const std::string& batch) const { return folder_ + "/" + batch; }
  std::unique_ptr<BackgroundCommand> start(const std::vector<std::string>& command) const;
  void tell(const std::string& text);
  void log(const std::string& text) const;

  SlurmOptions options_;
  SlurmLedger ledger_;
  std::string folder_;  // DIR/slurm
  std::string name_;
  std::string sbatch_, squeue_, scancel_;
  std::vector<std::string> environment_;
  std::map<std::string, record::RoundId> rounds_;  // by job file
  uint64_t next_batch_ = 1;
  bool has_submitted_ = false;  // sbatch has worked once
  bool stopped_ = false;
  std::optional<Query> query_;
  std::optional<Submit> submit_;
  Clock::time_point next_query_ = {};
  std::string last_told_;
  std::string idle_reason_;  // why nothing runs
  Clock::time_point idle_since_ = {};
  Backoff query_backoff_, submit_backoff_;
};

}  // namespace fb::campaign
