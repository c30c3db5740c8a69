#include "common/base/jobs.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <map>
#include <system_error>

#include "common/base/interruption.h"
#include "common/base/process.h"

namespace fb {
namespace {

using JobFunction = std::function<std::string(size_t)>;

struct Job {
  pid_t id = 0;
  UniqueFd from = {};  // its text
  std::string text = {};
};

void write_whole(int to, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(to, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return;
    if (wrote > 0) done += static_cast<size_t>(wrote);
  }
}

[[noreturn]] void run_in_child(size_t number, const JobFunction& work, int to) {
  try {
    separate_interruption();
    write_whole(to, work(number));
  } catch (const Interrupted&) {  // by a signal: nothing to explain
    _exit(1);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fabricbench: %s\n", e.what());
    _exit(1);
  }
  _exit(0);
}

Job start(size_t number, const JobFunction& work, JobSignals signals) {
  Pipe pipe = make_pipe();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  // Blocked around the fork, so that no signal reaches the child before its mask is what it stays.
  sigset_t held, before;
  sigemptyset(&held);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, signal);
  pthread_sigmask(SIG_BLOCK, &held, &before);
  const pid_t child = fork();
  const int why = errno;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    pipe.reader.reset();
    if (signals == JobSignals::delivered) pthread_sigmask(SIG_SETMASK, &before, nullptr);
    run_in_child(number, work, pipe.writer.get());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) throw std::system_error(why, std::generic_category(), "fork");
  return {.id = child, .from = std::move(pipe.reader)};
}

// False at the end of the text.
bool read_more(Job& job) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(job.from.get(), buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  job.text.append(buffer.data(), static_cast<size_t>(got));
  return got > 0;
}

// The jobs that run; those left at the end of this object's life are ended.
class Running {
 public:
  Running() = default;
  ~Running() {
    end_from(0);
    for (auto& [number, job] : jobs) reap(job);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // SIGTERM: jobs end their own child processes first.
  void end_from(size_t first) const {
    for (const auto& [number, job] : jobs) {
      if (number >= first) kill(job.id, SIGTERM);
    }
  }
  static void reap(Job& job) {
    job.from.reset();
    while (waitpid(job.id, nullptr, 0) < 0 && errno == EINTR) continue;
  }

  std::map<size_t, Job> jobs;
};

}  // namespace

std::vector<std::string> run_jobs(size_t count, size_t parallelism, const JobFunction& job,
                                  const std::function<bool(size_t, const std::string&)>& is_last, JobSignals signals) {
  std::vector<std::string> texts(count);
  Running running;
  size_t next = 0, end = count;  // jobs from `end` on do not count
  while (next < end || !running.jobs.empty()) {
    throw_if_interrupted();
    while (next < end && running.jobs.size() < parallelism) {
      running.jobs.emplace(next, start(next, job, signals));
      ++next;
    }
    std::vector<pollfd> set = {{interruption_descriptor(), POLLIN, 0}};
    for (const auto& [number, one] : running.jobs) set.push_back({one.from.get(), POLLIN, 0});
    if (poll(set.data(), set.size(), -1) < 0) {
      if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
      continue;
    }
    size_t k = 0;
    for (auto it = running.jobs.begin(); it != running.jobs.end();) {
      if (set[++k].revents == 0 || read_more(it->second)) {
        ++it;
        continue;
      }
      Running::reap(it->second);
      const size_t number = it->first;
      if (number < end) texts[number] = std::move(it->second.text);
      it = running.jobs.erase(it);
      if (number >= end || !is_last(number, texts[number])) continue;
      end = number + 1;
      running.end_from(end);
    }
  }
  // A job that ended before an earlier one was found to be the last.
  for (size_t k = end; k < count; ++k) texts[k].clear();
  return texts;
}

}  // namespace fb
