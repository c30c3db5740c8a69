#include "judge/parallel.h"

#include <fcntl.h>
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

#include "base/interruption.h"

namespace fb::judge {
namespace {

struct Job {
  pid_t id = 0;
  int from = -1;  // its text
  std::string text;
};

void write_whole(int to, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(to, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return;
    if (wrote > 0) done += static_cast<size_t>(wrote);
  }
}

Job start(size_t number, const std::function<std::string(size_t)>& work) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  std::fflush(nullptr);
  const pid_t parent = getpid();
  // A job is never ended by a signal, in none of its threads: who waits for programs looks for signals and ends them.
  sigset_t signals, before;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  const pid_t child = fork();
  const int why = errno;
  if (child != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    throw std::system_error(why, std::generic_category(), "fork");
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    close(ends[0]);
    try {
      write_whole(ends[1], work(number));
    } catch (const std::exception& e) {
      std::fprintf(stderr, "fabricbench: %s\n", e.what());
      _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  return {child, ends[0], {}};
}

// False: it has said everything.
bool read_more(Job& job) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(job.from, buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR;
  job.text.append(buffer.data(), static_cast<size_t>(got));
  return got > 0;
}

// Jobs that are under way; what is left at the end of its life is ended.
class Running {
 public:
  Running() = default;
  ~Running() {
    end_from(0);
    for (auto& [number, job] : jobs) reap(job);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // They end their processes first.
  void end_from(size_t first) const {
    for (const auto& [number, job] : jobs) {
      if (number >= first) kill(job.id, SIGTERM);
    }
  }
  static void reap(Job& job) {
    close(job.from);
    while (waitpid(job.id, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  std::map<size_t, Job> jobs;
};

}  // namespace

std::vector<std::string> run_jobs(size_t count, size_t side_by_side, const std::function<std::string(size_t)>& job,
                                  const std::function<bool(size_t, const std::string&)>& is_last) {
  std::vector<std::string> texts(count);
  Running running;
  size_t next = 0, end = count;  // jobs from `end` on do not count
  while (next < end || !running.jobs.empty()) {
    throw_if_interrupted();
    while (next < end && running.jobs.size() < side_by_side) {
      running.jobs.emplace(next, start(next, job));
      ++next;
    }
    std::vector<pollfd> set = {{interruption_descriptor(), POLLIN, 0}};
    for (const auto& [number, one] : running.jobs) set.push_back({one.from, POLLIN, 0});
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
  for (size_t k = end; k < count; ++k)
    texts[k].clear();  // a later one may have been the last before an earlier one was
  return texts;
}

}  // namespace fb::judge
