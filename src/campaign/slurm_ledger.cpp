#include "campaign/slurm_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace fb::campaign {
namespace {

// Slurm's default limit of array size is 1001.
constexpr size_t kLargestArray = 500;

}  // namespace

void SlurmLedger::add(const std::string& job_file, Time now) {
  const auto has_it = [&](const Task& task) {
    return std::ranges::find(task.jobs, job_file, &Job::file) != task.jobs.end();
  };
  if (const auto task = std::ranges::find_if(found_, has_it); task != found_.end()) {
    tasks_.push_back(std::move(*task));
    found_.erase(task);
  }
  if (const auto task = std::ranges::find_if(tasks_, has_it); task != tasks_.end()) {
    std::ranges::find(task->jobs, job_file, &Job::file)->wanted = true;
    return;
  }
  waiting_.emplace_back(Job{.file = job_file}, now);
}

void SlurmLedger::found(const QueuedTask& task, const std::vector<std::string>& job_files) {
  Task found{.batch = task.batch, .id = task.job, .index = task.task};
  for (const auto& file : job_files) found.jobs.push_back({.file = file, .wanted = false});
  found_.push_back(std::move(found));
}

std::set<std::string> SlurmLedger::live_batches() const {
  std::set<std::string> names;
  for (const Task& task : tasks_) names.insert(task.batch);
  return names;
}

size_t SlurmLedger::room() const {
  return tasks_.size() < limits_.tasks ? std::min(limits_.tasks - tasks_.size(), kLargestArray) : 0;
}

bool SlurmLedger::has_batch(Time now) const {
  if (submitting_ || room() == 0) return false;
  const bool enough = waiting_.size() >= room() * limits_.batch;
  const bool waited = !waiting_.empty() && now - waiting_.front().second >= limits_.gather;
  return !lost_.empty() || enough || waited;
}

std::optional<SlurmLedger::Batch> SlurmLedger::next_batch(const std::string& name, Time now) {
  if (!has_batch(now)) return std::nullopt;
  size_t room = this->room();
  std::vector<Task> tasks;
  const auto new_task = [&]() -> Task& {
    return tasks.emplace_back(Task{.batch = name, .index = static_cast<uint32_t>(tasks.size() + 1)});
  };
  for (; !lost_.empty() && room > 0; --room) {
    new_task().jobs.push_back(std::move(lost_.front()));
    lost_.pop_front();
  }
  // Prefer many short tasks to few long ones while there is room.
  const size_t share = room == 0 ? 0 : std::clamp<size_t>((waiting_.size() + room - 1) / room, 1, limits_.batch);
  for (; !waiting_.empty() && room > 0; --room) {
    Task& task = new_task();
    while (!waiting_.empty() && task.jobs.size() < share) {
      task.jobs.push_back(std::move(waiting_.front().first));
      waiting_.pop_front();
    }
  }

  Batch batch{.name = name, .tasks = {}};
  for (Task& task : tasks) {
    std::vector<std::string> files;
    for (const Job& job : task.jobs) files.push_back(job.file);
    batch.tasks.push_back(std::move(files));
    tasks_.push_back(std::move(task));
  }
  submitting_ = Submitting{.batch = name};
  return batch;
}

void SlurmLedger::submitted(const std::string& batch, uint64_t job, Time now) {
  FB_CHECK(submitting_ && submitting_->batch == batch);
  submitting_.reset();
  for (Task& task : tasks_) {
    if (task.batch != batch) continue;
    task.id = job;
    task.known = now;
  }
}

void SlurmLedger::unclear(const std::string& batch, Time now) {
  FB_CHECK(submitting_ && submitting_->batch == batch);
  submitting_->unclear_since = now;
}

// The array does not exist: its jobs wait again, before all others.
void SlurmLedger::forget_submission(const std::string& batch) {
  submitting_.reset();
  for (auto task = tasks_.rbegin(); task != tasks_.rend(); ++task) {
    if (task->batch != batch) continue;
    for (auto job = task->jobs.rbegin(); job != task->jobs.rend(); ++job) {
      if (job->tries > 0) {
        lost_.push_front(std::move(*job));
      } else {
        waiting_.emplace_front(std::move(*job), Time{});
      }
    }
  }
  std::erase_if(tasks_, [&](const Task& task) { return task.batch == batch; });
}

void SlurmLedger::see_queue(const std::vector<QueuedTask>& queue, Time asked) {
  if (submitting_ && submitting_->unclear_since && asked >= *submitting_->unclear_since) {
    const std::string batch = submitting_->batch;
    const auto found = std::ranges::find(queue, batch, &QueuedTask::batch);
    if (found != queue.end()) {
      submitted(batch, found->job, asked);
    } else {
      forget_submission(batch);
    }
  }
  std::map<std::pair<uint64_t, uint32_t>, const QueuedTask*> listed;
  for (const QueuedTask& task : queue) listed[{task.job, task.task}] = &task;
  for (Task& task : tasks_) {
    if (task.id == 0 || asked < task.known) continue;
    const auto found = listed.find({task.id, task.index});
    if (found == listed.end()) {
      task.phase = TaskPhase::ended;
    } else {
      task.phase = phase_of(*found->second);
      task.state = found->second->state;
      task.reason = found->second->reason;
      if (!found->second->node.empty()) task.node = found->second->node;
    }
    const bool over = task.phase == TaskPhase::ended || task.phase == TaskPhase::stuck;
    if (!over) task.ended.reset();
    if (over && !task.ended) task.ended = asked;
  }
}

SlurmLedger::Settled SlurmLedger::settle(Time now, const HasVerdict& has_verdict) {
  Settled settled;
  for (Task& task : tasks_) {
    if (task.phase == TaskPhase::waits) continue;
    std::erase_if(task.jobs, [&](const Job& job) {
      if (!has_verdict(job.file)) return false;
      if (job.wanted) settled.done.push_back({.job_file = job.file, .failure = ""});
      return true;
    });
    if (!task.ended || task.jobs.empty()) continue;
    const auto patience = ended_well(task.state) ? limits_.late_after_success : limits_.late_after_failure;
    if (now - *task.ended >= patience) take_apart(task, settled);
  }
  std::erase_if(tasks_, [](const Task& task) { return task.ended && task.jobs.empty(); });
  return settled;
}

void SlurmLedger::take_apart(Task& task, Settled& settled) {
  const std::string what = describe(task);
  for (Job& job : task.jobs) {
    if (!job.wanted) continue;
    if (++job.tries < limits_.max_tries) {
      lost_.push_back(std::move(job));
      continue;
    }
    std::string failure = fmt::format("no verdict after {} tries: {}", job.tries, what);
    if (tail_of_output) failure += tail_of_output(task.batch, task.index);
    settled.done.push_back({.job_file = std::move(job.file), .failure = std::move(failure)});
  }
  if (task.phase == TaskPhase::stuck) settled.cancel.push_back(fmt::format("{}_{}", task.id, task.index));
  settled.troubles.push_back(fmt::format("{}, {} of its judgements are missing", what, task.jobs.size()));
  task.jobs.clear();
}

std::string SlurmLedger::describe(const Task& task) const {
  std::string text = fmt::format("Slurm job {}_{}", task.id, task.index);
  if (!task.node.empty()) text += " on " + task.node;
  if (task.phase == TaskPhase::stuck) return text + fmt::format(" does not start ({})", task.reason);
  text += task.state.empty() || phase_of({.state = task.state}) != TaskPhase::ended ? " is no longer known"
                                                                                    : " ended as " + task.state;
  if (!task.reason.empty() && task.reason != "None") text += fmt::format(" ({})", task.reason);
  return text;
}

std::string SlurmLedger::why_nothing_runs() const {
  std::string reason;
  for (const Task& task : tasks_) {
    if (task.phase != TaskPhase::waits) return "";
    if (reason.empty() && task.reason != "None") reason = task.reason;
  }
  return reason;
}

std::optional<SlurmLedger::Time> SlurmLedger::next_time() const {
  std::optional<Time> next;
  const auto at = [&](Time time) { next = next ? std::min(*next, time) : time; };
  if (!submitting_ && tasks_.size() < limits_.tasks) {
    if (!lost_.empty()) at(Time{});
    if (!waiting_.empty()) at(waiting_.front().second + limits_.gather);
  }
  return next;
}

}  // namespace fb::campaign
