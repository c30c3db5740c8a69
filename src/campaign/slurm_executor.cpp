#include "campaign/slurm_executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "campaign/files.h"
#include "campaign/judge_job.h"
#include "common/base/numbers.h"
#include "common/base/output.h"
#include "common/base/strings.h"
#include "common/base/unique_fd.h"
#include "toolchain/compile/locate.h"

namespace fb::campaign {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Slurm's commands retry for a long time if the controller does not answer.
constexpr seconds kCommandTime(90);
constexpr seconds kLongestBackoff(30);
constexpr seconds kIdle(60);               // without a running task before the user is told
constexpr uint32_t kFirstSubmissions = 3;  // failures allowed before the first success

// Opens by name: directory listings may be stale on a network file system.
bool is_there(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return static_cast<bool>(file);
}

std::string random_name() {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return fmt::format("fabricbench-{:08x}", number);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n')) {
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

// The last part of a file, for messages.
std::string tail(const std::string& path) {
  constexpr size_t kLongest = 1000;
  std::string text;
  try {
    text = read_file(path);
  } catch (const std::system_error&) {
    return fmt::format("; there is no {}", path);
  }
  if (trim(text).empty()) return fmt::format("; {} is empty", path);
  if (text.size() > kLongest) text = "…" + text.substr(text.size() - kLongest);
  return fmt::format("; {} ends with:\n{}", path, trim(text));
}

}  // namespace

void SlurmExecutor::Backoff::failed(Clock::time_point now, milliseconds first) {
  constexpr uint32_t kDoublings = 8;
  const milliseconds wait = first * (1u << std::min(failures, kDoublings));
  ++failures;
  until = now + std::min<milliseconds>(wait, kLongestBackoff);
}

Result<std::unique_ptr<SlurmExecutor>> SlurmExecutor::make(SlurmOptions options) {
  // Not make_unique: the constructor is private.
  std::unique_ptr<SlurmExecutor> executor(new SlurmExecutor(std::move(options)));
  executor->stopped_ = true;  // until there is something to stop
  if (auto ready = executor->prepare(); !ready) return std::unexpected(ready.error());
  executor->stopped_ = false;
  return executor;
}

Result<void> SlurmExecutor::prepare() {
  options_.run = fs::absolute(options_.run).lexically_normal().string();
  while (options_.run.size() > 1 && options_.run.ends_with('/')) options_.run.pop_back();
  folder_ = options_.run + "/slurm";
  environment_ = slurm_environment(environ);
  for (auto [name, path] : {std::pair{"sbatch", &sbatch_}, {"squeue", &squeue_}, {"scancel", &scancel_}}) {
    *path = toolchain::find_program(name);
    if (path->empty()) return error(fmt::format("Slurm's {} is not in PATH", name));
  }
  if (options_.program.contains('/')) options_.program = fs::absolute(options_.program).lexically_normal().string();
  fs::create_directories(folder_);
  read_name();
  for (const auto& entry : fs::directory_iterator(folder_)) {
    next_batch_ = std::max(next_batch_, leading_number<uint64_t>(entry.path().filename().string()) + 1);
  }
  ledger_.tail_of_output = [this](const std::string& batch, uint32_t task) {
    return tail(output_file(batch_folder(batch), task));
  };

  auto queue = ask_queue();
  if (!queue) return std::unexpected(queue.error());
  look_for_former_tasks(*queue);
  return {};
}

// All processes of a run use the same name.
void SlurmExecutor::read_name() {
  const auto guard = lock(folder_ + "/.lock");
  if (!is_there(folder_ + "/name")) publish(folder_ + "/name", random_name() + "\n");
  name_ = trim(read_file(folder_ + "/name"));
}

Result<std::vector<QueuedTask>> SlurmExecutor::ask_queue() const {
  const ProcessResult end = start(queue_command(squeue_, name_))->wait();
  return end.succeeded() ? parse_queue(end.output) : error(describe_failure("squeue", end));
}

void SlurmExecutor::look_for_former_tasks(const std::vector<QueuedTask>& queue) {
  size_t found = 0;
  for (const QueuedTask& task : queue) {
    const std::string list = list_file(batch_folder(task.batch), task.task);
    if (phase_of(task) == TaskPhase::ended || task.batch.empty() || !is_there(list)) continue;
    ledger_.found(task, lines_of(read_file(list)));
    ++found;
  }
  if (found > 0) tell(fmt::format("{} tasks of this run are in Slurm's queue already", found));
}

SlurmExecutor::~SlurmExecutor() {
  try {
    stop();
  } catch (const std::exception& e) {
    print_error("Slurm jobs named {} may be left: {}\n", name_, e.what());
  }
}

std::unique_ptr<BackgroundCommand> SlurmExecutor::start(const std::vector<std::string>& command) const {
  return std::make_unique<BackgroundCommand>(command, environment_, kCommandTime);
}

void SlurmExecutor::submit(const record::RoundId& round) {
  const std::string job_file = round_file(options_.run, round, "job.json");
  rounds_[job_file] = round;
  ledger_.add(job_file, Clock::now());
}

std::vector<Ended> SlurmExecutor::collect() {
  if (submit_) {
    if (const auto end = submit_->command->poll()) end_submission(*end);
  }
  if (query_) {
    if (const auto end = query_->command->poll()) end_query(*end);
  }
  auto settled = ledger_.settle(Clock::now(), [](const std::string& job) { return is_there(verdict_file_of(job)); });
  for (const auto& trouble : settled.troubles) tell(trouble);
  if (!settled.cancel.empty()) start(cancel_command(scancel_, settled.cancel))->wait();
  std::vector<Ended> ended;
  for (auto& done : settled.done) {
    const auto round = rounds_.extract(done.job_file);
    if (!round.empty()) ended.push_back({.round = std::move(round.mapped()), .failure = std::move(done.failure)});
  }
  if (!submit_ && Clock::now() >= submit_backoff_.until) begin_submission();
  if (!query_ && ledger_.live_tasks() > 0 && !submit_ && Clock::now() >= next_query_) begin_query();
  return ended;
}

// Several processes may work on the run: the one that creates the folder owns the number.
std::string SlurmExecutor::make_batch_folder() {
  std::string name = fmt::format("{:06}", next_batch_++);
  while (!fs::create_directory(batch_folder(name))) name = fmt::format("{:06}", next_batch_++);
  return name;
}

void SlurmExecutor::begin_submission() {
  if (!ledger_.has_batch(Clock::now())) return;
  const std::string name = make_batch_folder();
  const auto batch = ledger_.next_batch(name, Clock::now());
  const std::string folder = batch_folder(name);
  for (size_t index = 1; const auto& files : batch->tasks) {
    std::string text;
    for (const auto& file : files) text += file + "\n";
    publish(list_file(folder, index++), text);
  }
  const std::string script = folder + "/script";
  publish(script, batch_script({options_.program, "worker"}, folder));
  submit_ = Submit{.command = start(submit_command(sbatch_, {.name = name_,
                                                             .batch = name,
                                                             .folder = folder,
                                                             .run = options_.run,
                                                             .script = script,
                                                             .tasks = batch->tasks.size(),
                                                             .cpus = options_.cpus,
                                                             .options = options_.options})),
                   .batch = name,
                   .tasks = batch->tasks.size()};
}

void SlurmExecutor::end_submission(const ProcessResult& end) {
  const Submit submit = *std::exchange(submit_, std::nullopt);
  const auto job = end.succeeded() ? parse_submitted(end.output) : error(describe_failure("sbatch", end));
  if (job) {
    has_submitted_ = true;
    submit_backoff_.worked();
    ledger_.submitted(submit.batch, *job, Clock::now());
    log(fmt::format("batch {}: job {} with {} tasks", submit.batch, *job, submit.tasks));
    return;
  }
  const std::string why = job.error().list.front().message;
  submit_backoff_.failed(Clock::now(), options_.interval);
  ledger_.unclear(submit.batch, Clock::now());
  if (!has_submitted_ && submit_backoff_.failures >= kFirstSubmissions) throw std::runtime_error(why);
  tell(why);
}

void SlurmExecutor::begin_query() {
  query_ = Query{.command = start(queue_command(squeue_, name_)), .asked = Clock::now()};
}

void SlurmExecutor::end_query(const ProcessResult& end) {
  const Query query = *std::exchange(query_, std::nullopt);
  next_query_ = query.asked + options_.interval;
  const auto queue = end.succeeded() ? parse_queue(end.output) : error(describe_failure("squeue", end));
  if (queue) {
    query_backoff_.worked();
    ledger_.see_queue(*queue, query.asked);
    tell_if_idle();
    return;
  }
  // Tasks go on without the controller; verdicts are still looked for.
  query_backoff_.failed(Clock::now(), options_.interval);
  next_query_ = query_backoff_.until;
  tell(queue.error().list.front().message);
}

// Reported once for each reason: the wait may be long.
void SlurmExecutor::tell_if_idle() {
  const std::string reason = ledger_.why_nothing_runs();
  const auto now = Clock::now();
  if (reason != idle_reason_) {
    idle_reason_ = reason;
    idle_since_ = now;
  }
  if (reason.empty() || idle_since_ == Clock::time_point::max() || now - idle_since_ < kIdle) return;
  idle_since_ = Clock::time_point::max();
  tell(fmt::format("none of {} tasks runs; Slurm says: {}", ledger_.live_tasks(), reason));
}

std::vector<int> SlurmExecutor::descriptors() const {
  std::vector<int> list;
  if (submit_) list.push_back(submit_->command->descriptor());
  if (query_) list.push_back(query_->command->descriptor());
  return list;
}

std::chrono::milliseconds SlurmExecutor::patience() const {
  const auto now = Clock::now();
  auto until = now + seconds(10);
  // No descriptor signals a new verdict.
  if (ledger_.live_tasks() > 0) until = std::min(until, now + options_.interval);
  if (!query_ && !submit_ && ledger_.live_tasks() > 0) until = std::min(until, next_query_);
  if (!submit_) {
    if (const auto next = ledger_.next_time()) until = std::min(until, std::max(*next, submit_backoff_.until));
  }
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until - now));
}

void SlurmExecutor::stop() {
  if (std::exchange(stopped_, true)) return;
  query_.reset();
  if (submit_) submit_->command->wait();  // a job that is being submitted must be cancelled, too
  submit_.reset();
  if (ledger_.live_tasks() == 0 && !ledger_.is_submitting()) return;

  const auto batches = ledger_.live_batches();
  const auto is_ours = [&](const QueuedTask& task) {
    return phase_of(task) != TaskPhase::ended && batches.contains(task.batch);
  };
  // The user waits for this after Ctrl-C; a task ends as soon as its worker has cleaned up.
  constexpr seconds kGrace(15);
  const auto deadline = Clock::now() + kGrace;
  for (bool cancelled = false;;) {
    const auto queue = ask_queue();
    std::set<std::string> jobs;
    for (const QueuedTask& task : queue.value_or(std::vector<QueuedTask>())) {
      if (is_ours(task)) jobs.insert(std::to_string(task.job));
    }
    if (queue && jobs.empty()) break;
    if (queue && !std::exchange(cancelled, true)) {
      const ProcessResult end = start(cancel_command(scancel_, {jobs.begin(), jobs.end()}))->wait();
      if (!end.succeeded()) tell(describe_failure("scancel", end));
    }
    if (Clock::now() >= deadline) {
      tell(queue ? fmt::format("Slurm has not ended {} jobs named {} yet", jobs.size(), name_)
                 : fmt::format("jobs named {} may be left: {}", name_, queue.error().list.front().message));
      break;
    }
    std::this_thread::sleep_for(milliseconds(300));
  }
  log("stopped");
}

// A message that repeats during an outage is shown once.
void SlurmExecutor::tell(const std::string& text) {
  log(text);
  if (options_.note && std::exchange(last_told_, text) != text) options_.note(text);
}

void SlurmExecutor::log(const std::string& text) const {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  const std::string line =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z {}\n", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                  parts.tm_hour, parts.tm_min, parts.tm_sec, text);
  constexpr int kMode = 0644;
  const UniqueFd file(open((folder_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode));
  // The log is for people; nothing depends on it.
  if (file) [[maybe_unused]]
    const ssize_t written = write(file.get(), line.data(), line.size());
}

}  // namespace fb::campaign
