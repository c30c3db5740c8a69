#pragma once

// Bookkeeping of which job is in which task of which array, and of what to do next. Plain data and no I/O: the executor
// asks what to do, does it, and reports the result.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "campaign/slurm_commands.h"

namespace fb::campaign {

struct LedgerLimits {
  size_t batch = 8;        // jobs of one task, at most
  size_t tasks = 64;       // pending or running in Slurm, at most
  uint32_t max_tries = 3;  // of one job, counting tasks that ended without its verdict
  // How long a job waits for others to share its task.
  std::chrono::milliseconds gather = std::chrono::milliseconds(300);
  // How long verdicts are awaited after the end of their task: a shared file system may show them late. Longer after a
  // task that reported success.
  std::chrono::milliseconds late_after_success = std::chrono::seconds(60), late_after_failure = std::chrono::seconds(5);
};

class SlurmLedger {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using HasVerdict = std::function<bool(const std::string& job_file)>;

  struct Batch {
    std::string name;
    std::vector<std::vector<std::string>> tasks;  // job files; the first task has index 1
  };
  struct Done {
    std::string job_file;
    std::string failure;  // empty: the verdict exists
  };
  struct Settled {
    std::vector<Done> done;
    std::vector<std::string> cancel;    // tasks in the queue that are no longer needed, as scancel names them
    std::vector<std::string> troubles;  // messages for the user, one line each
  };

  explicit SlurmLedger(LedgerLimits limits) : limits_(limits) {}

  // A job to do. If a task found in the queue has it, that task is awaited.
  void add(const std::string& job_file, Time now);
  // A task that is already in the queue, of an earlier process or of another one that works on the same run. It is
  // ignored until one of its jobs is added.
  void found(const QueuedTask& task, const std::vector<std::string>& job_files);

  // Whether something is to be submitted now.
  bool has_batch(Time now) const;
  // The jobs to submit under this name; they no longer wait. The result must be reported before the next batch.
  std::optional<Batch> next_batch(const std::string& name, Time now);
  void submitted(const std::string& batch, uint64_t job, Time now);
  // sbatch has failed, but the job may exist: the queue decides.
  void unclear(const std::string& batch, Time now);

  // The output of squeue, called at that time.
  void see_queue(const std::vector<QueuedTask>& queue, Time asked);

  // Looks for verdicts, and takes back the jobs of tasks that have ended without them.
  Settled settle(Time now, const HasVerdict& has_verdict);

  // Tasks that are, or may be, pending or running.
  size_t live_tasks() const { return tasks_.size(); }
  // Their names.
  std::set<std::string> live_batches() const;
  // Slurm's reason why none of them runs; empty if one does, or if there is none.
  std::string why_nothing_runs() const;
  bool is_submitting() const { return submitting_.has_value(); }
  // When next_batch or settle may be due without a new report.
  std::optional<Time> next_time() const;

  // Returns the last part of a task's output, for failures.
  std::function<std::string(const std::string& batch, uint32_t task)> tail_of_output = {};

 private:
  struct Job {
    std::string file;
    uint32_t tries = 0;  // failed tries
    bool wanted = true;  // false: not added by this process
  };
  struct Task {
    std::string batch;
    uint64_t id = 0;     // of the array; 0: not known yet
    uint32_t index = 0;  // in the array
    Time known = {};     // an earlier state of the queue can't contain it
    std::vector<Job> jobs = {};
    std::string state = {}, node = {}, reason = {};  // last seen
    TaskPhase phase = TaskPhase::waits;
    std::optional<Time> ended = {};
  };
  struct Submitting {
    std::string batch;
    std::optional<Time> unclear_since = {};
  };

  size_t room() const;  // for new tasks
  void forget_submission(const std::string& batch);
  void take_apart(Task& task, Settled& settled);
  std::string describe(const Task& task) const;

  LedgerLimits limits_;
  std::deque<std::pair<Job, Time>> waiting_;  // never tried
  std::deque<Job> lost_;                      // to be retried, each alone: one of them may be the cause
  std::vector<Task> tasks_;
  std::vector<Task> found_;  // without any wanted job
  std::optional<Submitting> submitting_;
};

}  // namespace fb::campaign
