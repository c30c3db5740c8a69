#pragma once

// Which job stands in which task of which array, and what follows from what Slurm says about them. Plain bookkeeping:
// the executor asks it what to do, does it, and tells it what came of it.

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
  size_t tasks = 64;       // that wait or run in Slurm, at most
  uint32_t max_tries = 3;  // of one job whose task ended without its verdict
  // So long a job waits for others to go with it.
  std::chrono::milliseconds gather = std::chrono::milliseconds(300);
  // So long verdicts are waited for after the end of their task: a shared file system may show them late. A task that
  // says that it has written all of them is believed for longer.
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
    std::string failure;  // empty: the verdict is there
  };
  struct Settled {
    std::vector<Done> done;
    std::vector<std::string> cancel;    // tasks that Slurm still has and nobody waits for, as scancel calls them
    std::vector<std::string> troubles;  // what people may want to know, a line each
  };

  explicit SlurmLedger(LedgerLimits limits) : limits_(limits) {}

  // A job that is to be done. If a task that was found has it, that one is waited for.
  void add(const std::string& job_file, Time now);
  // A task that is in the queue already. It is of a former life, or of somebody else who works on the same run: as long
  // as no job of it is added, it is none of our business.
  void found(const QueuedTask& task, const std::vector<std::string>& job_files);

  // Whether something is to be submitted now.
  bool has_batch(Time now) const;
  // What is to be submitted, under this name: its jobs are no longer waiting. Its fate must be told before the next.
  std::optional<Batch> next_batch(const std::string& name, Time now);
  void submitted(const std::string& batch, uint64_t job, Time now);
  // sbatch has failed, which does not mean that there is no job: the queue will tell.
  void unclear(const std::string& batch, Time now);

  // What squeue said when it was asked at that time.
  void see_queue(const std::vector<QueuedTask>& queue, Time asked);

  // Looks for verdicts, and takes tasks apart that have ended without.
  Settled settle(Time now, const HasVerdict& has_verdict);

  // Tasks that wait or run, or may.
  size_t live_tasks() const { return tasks_.size(); }
  // Their names.
  std::set<std::string> live_batches() const;
  // Why none of them runs, in Slurm's words; empty where one does, or where there is none.
  std::string why_nothing_runs() const;
  bool is_submitting() const { return submitting_.has_value(); }
  // When next_batch or settle may have something to do though nothing was told.
  std::optional<Time> next_time() const;

  // Where a failure is explained: the last part of a task's output.
  std::function<std::string(const std::string& batch, uint32_t task)> tail_of_output = {};

 private:
  struct Job {
    std::string file;
    uint32_t tries = 0;  // that have failed
    bool wanted = true;  // false: nobody has added it in this life
  };
  struct Task {
    std::string batch;
    uint64_t id = 0;     // of the array; 0: not known yet
    uint32_t index = 0;  // in the array
    Time known = {};     // a queue that was asked for before can't have it
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
  std::deque<Job> lost_;                      // to be tried again, each alone: one of them may be to blame
  std::vector<Task> tasks_;
  std::vector<Task> found_;  // none of them has a job that is wanted
  std::optional<Submitting> submitting_;
};

}  // namespace fb::campaign
