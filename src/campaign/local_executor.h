#pragma once

// Judgements by worker processes on this machine.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "campaign/executor.h"
#include "common/base/process.h"

namespace fb::campaign {

struct LocalOptions {
  std::string run;         // the run folder
  std::string worker;      // the program; its only argument is "worker"
  size_t jobs = 1;         // workers at once
  uint32_t max_tries = 3;  // of one job if workers fail or die
};

class LocalExecutor final : public Executor {
 public:
  explicit LocalExecutor(LocalOptions options);
  ~LocalExecutor() override;

  // One more for each worker, so that it need not wait for its next job.
  size_t appetite() const override { return options_.jobs * 2; }
  void submit(const record::RoundId& round) override;
  std::vector<Ended> collect() override;
  std::vector<int> descriptors() const override;
  std::chrono::milliseconds patience() const override;
  void stop() override;

 private:
  struct Job {
    record::RoundId round;
    uint32_t tries = 0;
  };
  struct Worker {
    Child process;
    UniqueFd to, from;
    std::optional<int> core = {};  // none: any
    std::string received = {};
    std::optional<Job> job = {};  // none: idle
  };

  void start_worker();
  int least_used_core() const;
  void give_work();
  // False if the worker has ended.
  bool hear(Worker& worker, std::vector<Ended>& ended);
  void answered(Worker& worker, const std::string& line, std::vector<Ended>& ended);
  void try_again(Job job, std::string why, std::vector<Ended>& ended);

  LocalOptions options_;
  std::vector<int> cores_;  // empty: workers are not pinned
  std::deque<Job> waiting_;
  std::vector<Worker> workers_;
};

}  // namespace fb::campaign
