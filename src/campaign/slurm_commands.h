#pragma once

// Command lines of Slurm, and parsers of their output. Starts no process.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace fb::campaign {

// One task of a job array, as squeue shows it.
struct QueuedTask {
  uint64_t job = 0;         // of the array
  uint32_t task = 0;        // index in the array
  std::string state = {};   // PENDING, RUNNING, COMPLETED, …
  std::string node = {};    // empty: none yet
  std::string reason = {};  // why it is pending, or why it failed
  std::string batch = {};   // the comment that it was submitted with
  friend bool operator==(const QueuedTask&, const QueuedTask&) = default;
};

enum class TaskPhase : uint8_t {
  waits,  // for a node, or to be requeued
  runs,
  stuck,  // held: needs an administrator
  ended,
};
// An unknown state counts as running: a task is never given up because of it.
TaskPhase phase_of(const QueuedTask& task);
// The script ended without an error.
bool ended_well(std::string_view state);

// Every task of every array of this name, including ended ones that Slurm still knows.
std::vector<std::string> queue_command(const std::string& squeue, const std::string& name);
Result<std::vector<QueuedTask>> parse_queue(std::string_view output);

struct Submission {
  std::string name;                       // of the job: that of the run
  std::string batch;                      // becomes the comment
  std::string folder;                     // of the batch, for the tasks' output
  std::string run;                        // working directory
  std::string script;                     // path
  size_t tasks = 1;                       // indices from 1
  uint32_t cpus = 1;                      // of a task
  std::vector<std::string> options = {};  // the user's
};
std::vector<std::string> submit_command(const std::string& sbatch, const Submission& submission);
// The number of the job.
Result<uint64_t> parse_submitted(std::string_view output);

// Jobs, or tasks such as 21_7. Ended ones are not an error.
std::vector<std::string> cancel_command(const std::string& scancel, const std::vector<std::string>& tasks);

// A shell script whose task T works on the list FOLDER/T.list.
std::string batch_script(const std::vector<std::string>& worker, const std::string& folder);
std::string list_file(const std::string& folder, size_t task);
std::string output_file(const std::string& folder, size_t task);

// Splits words like a shell: by white space, with '…' and "…" as quotes. No expansion.
Result<std::vector<std::string>> split_words(std::string_view text);

// The environment of Slurm's commands, and so of the tasks: the variables needed to find programs, caches and Slurm. No
// others, because they might hold keys.
std::vector<std::string> slurm_environment(const char* const* environment);

}  // namespace fb::campaign
