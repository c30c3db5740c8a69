#pragma once

// Where a campaign's judgements are made, as options of a command.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "campaign/executor.h"
#include "cli/arguments.h"
#include "common/base/result.h"

namespace fb::cli {

struct ExecutorChoice {
  std::string executor = "local";
  size_t jobs = 0;            // local: judgements at once; 0: one for each core
  std::string slurm_options;  // for sbatch
  size_t slurm_batch = 8;     // judgements of a task, at most
  size_t slurm_tasks = 64;    // in the queue, at most
  uint32_t slurm_cpus = 1;    // of a task
};
void add_executor_options(Command& command, ExecutorChoice& choice);

// How many sessions of one judgement may run at once.
uint32_t side_by_side(const ExecutorChoice& choice);

// `note` gets what people should know.
Result<std::unique_ptr<campaign::Executor>> make_executor(const ExecutorChoice& choice, const std::string& run,
                                                          const std::string& worker,
                                                          std::function<void(const std::string&)> note);

}  // namespace fb::cli
