#include "cli/options/executor_choice.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "campaign/local_executor.h"
#include "campaign/slurm_executor.h"

namespace fb::cli {
namespace {

size_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }
size_t local_jobs(const ExecutorChoice& choice) { return choice.jobs == 0 ? cores() : choice.jobs; }

}  // namespace

void add_executor_options(Command& command, ExecutorChoice& choice) {
  command.add_option("--jobs", choice.jobs, "Judgements at once (default: one for each core)").check(in_range(1, 1024));
  command
      .add_option("--executor", choice.executor, "Where judgements are made: local, or slurm (docs/guide/cluster.md)")
      .check(one_of({"local", "slurm"}))
      .show_default();
  command.add_option("--slurm-options", choice.slurm_options, "For sbatch: '--partition=short --time=30'");
  command.add_option("--slurm-batch", choice.slurm_batch, "Judgements of one task, at most")
      .check(in_range(1, 10'000))
      .show_default();
  command.add_option("--slurm-tasks", choice.slurm_tasks, "Tasks that wait or run in Slurm, at most")
      .check(in_range(1, 100'000))
      .show_default();
  command.add_option("--slurm-cpus", choice.slurm_cpus, "Processors of a task").check(in_range(1, 1024)).show_default();
}

uint32_t side_by_side(const ExecutorChoice& choice) {
  if (choice.executor == "slurm") return choice.slurm_cpus;
  return static_cast<uint32_t>(std::max<size_t>(1, cores() / local_jobs(choice)));
}

Result<std::unique_ptr<campaign::Executor>> make_executor(const ExecutorChoice& choice, const std::string& run,
                                                          const std::string& worker,
                                                          std::function<void(const std::string&)> note) {
  if (choice.executor == "local") {
    return std::make_unique<campaign::LocalExecutor>(
        campaign::LocalOptions{.run = run, .worker = worker, .jobs = local_jobs(choice)});
  }
  auto words = campaign::split_words(choice.slurm_options);
  if (!words) return std::unexpected(words.error());
  return campaign::SlurmExecutor::make({.run = run,
                                        .program = worker,
                                        .options = std::move(*words),
                                        .limits = {.batch = choice.slurm_batch, .tasks = choice.slurm_tasks},
                                        .cpus = choice.slurm_cpus,
                                        .note = std::move(note)});
}

}  // namespace fb::cli
