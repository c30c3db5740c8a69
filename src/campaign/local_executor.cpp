#include "campaign/local_executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace fb::campaign {
namespace {

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("the worker was ended by SIG{}", sigabbrev_np(WTERMSIG(status)));
  return fmt::format("the worker exited with {}", WEXITSTATUS(status));
}

// The cores that this process may use.
std::vector<int> own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

// Children inherit the affinity. On failure the process runs on any core.
void bind_to_core(pid_t process, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(process, sizeof set, &set);
}

}  // namespace

// With as many workers as cores, each worker is pinned to a core. A judgement is a chain of processes that wake each
// other, and the scheduler prefers the waker's core: without pinning, two judgements share one core for long. With more
// cores than workers the free cores are enough.
LocalExecutor::LocalExecutor(LocalOptions options) : options_(std::move(options)), cores_(own_cores()) {
  if (options_.jobs < cores_.size()) cores_.clear();
}

LocalExecutor::~LocalExecutor() { stop(); }

void LocalExecutor::submit(const record::RoundId& round) {
  waiting_.push_back({.round = round});
  give_work();
}

void LocalExecutor::start_worker() {
  Pipe in = make_pipe(), out = make_pipe();
  SpawnOptions start;
  start.command = {options_.worker, "worker"};
  start.in = in.reader.get();
  start.out = out.writer.get();
  start.err = STDERR_FILENO;
  start.death_signal = SIGTERM;  // so that it can clean up
  Worker worker{.process = spawn(start), .to = std::move(in.writer), .from = std::move(out.reader)};
  fcntl(worker.from.get(), F_SETFL, O_NONBLOCK);
  if (!cores_.empty()) {
    worker.core = least_used_core();
    bind_to_core(worker.process.id(), *worker.core);
  }
  workers_.push_back(std::move(worker));
}

int LocalExecutor::least_used_core() const {
  return *std::ranges::min_element(cores_, {},
                                   [&](int core) { return std::ranges::count(workers_, core, &Worker::core); });
}

void LocalExecutor::give_work() {
  const auto is_idle = [](const Worker& worker) { return !worker.job; };
  while (!waiting_.empty()) {
    auto idle = std::ranges::find_if(workers_, is_idle);
    if (idle == workers_.end()) {
      if (workers_.size() == options_.jobs) return;
      start_worker();
      idle = workers_.end() - 1;
    }
    idle->job = std::move(waiting_.front());
    waiting_.pop_front();
    ++idle->job->tries;
    const std::string line = round_file(options_.run, idle->job->round, "job.json") + "\n";
    // A dead worker does not read; collect() notices. A pipe holds far more than one line.
    [[maybe_unused]] const ssize_t written = write(idle->to.get(), line.data(), line.size());
  }
}

std::vector<Ended> LocalExecutor::collect() {
  std::vector<Ended> ended;
  for (size_t k = 0; k < workers_.size();) {
    if (hear(workers_[k], ended)) {
      ++k;
      continue;
    }
    workers_[k].to.reset();
    const int status = workers_[k].process.reap();
    if (workers_[k].job) try_again(std::move(*workers_[k].job), how_it_ended(status), ended);
    workers_.erase(workers_.begin() + static_cast<ptrdiff_t>(k));
  }
  give_work();
  return ended;
}

bool LocalExecutor::hear(Worker& worker, std::vector<Ended>& ended) {
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t count = read(worker.from.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    worker.received.append(bytes.data(), static_cast<size_t>(count));
    for (size_t end = 0; (end = worker.received.find('\n')) != std::string::npos;) {
      answered(worker, worker.received.substr(0, end), ended);
      worker.received.erase(0, end + 1);
    }
  }
}

void LocalExecutor::answered(Worker& worker, const std::string& line, std::vector<Ended>& ended) {
  if (!worker.job) return;
  Job job = *std::exchange(worker.job, std::nullopt);
  if (line == "done") {
    ended.push_back({.round = job.round, .failure = ""});
  } else {
    try_again(std::move(job), line, ended);
  }
}

void LocalExecutor::try_again(Job job, std::string why, std::vector<Ended>& ended) {
  if (job.tries < options_.max_tries) {
    waiting_.push_back(std::move(job));
  } else {
    ended.push_back({.round = std::move(job.round), .failure = std::move(why)});
  }
}

std::vector<int> LocalExecutor::descriptors() const {
  std::vector<int> list;
  for (const Worker& worker : workers_) list.push_back(worker.from.get());
  return list;
}

std::chrono::milliseconds LocalExecutor::patience() const { return std::chrono::seconds(10); }

// Idle workers end with their input; busy ones get SIGTERM and clean up.
void LocalExecutor::stop() {
  for (Worker& worker : workers_) {
    worker.to.reset();
    if (worker.job) worker.process.send_signal(SIGTERM);
  }
  constexpr int kGrace = 5000;  // milliseconds
  for (Worker& worker : workers_) {
    pollfd gone{worker.process.handle(), POLLIN, 0};
    if (poll(&gone, 1, kGrace) == 0) worker.process.kill_group();
    worker.process.reap();
  }
  workers_.clear();
  waiting_.clear();
}

}  // namespace fb::campaign
