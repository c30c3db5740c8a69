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
  const pid_t child = fork();
  if (child < 0) {
    const int why = errno;
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

void reap(Job& job) {
  close(job.from);
  while (waitpid(job.id, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::vector<std::string> run_jobs(size_t count, size_t side_by_side, const std::function<std::string(size_t)>& job,
                                  const std::function<bool(size_t, const std::string&)>& is_last) {
  std::vector<std::string> texts(count);
  std::map<size_t, Job> running;
  size_t next = 0, end = count;  // jobs from `end` on do not count
  while (next < end || !running.empty()) {
    while (next < end && running.size() < side_by_side) {
      running.emplace(next, start(next, job));
      ++next;
    }
    std::vector<pollfd> set;
    for (const auto& [number, one] : running) set.push_back({one.from, POLLIN, 0});
    if (poll(set.data(), set.size(), -1) < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "poll");
    size_t k = 0;
    for (auto it = running.begin(); it != running.end(); ++k) {
      if (set[k].revents == 0 || read_more(it->second)) {
        ++it;
        continue;
      }
      reap(it->second);
      const size_t number = it->first;
      if (number < end) texts[number] = std::move(it->second.text);
      it = running.erase(it);
      if (number >= end || !is_last(number, texts[number])) continue;
      end = number + 1;
      for (auto& [other, later] : running) {
        if (other >= end) kill(later.id, SIGTERM);  // it ends its processes first
      }
    }
  }
  return texts;
}

}  // namespace fb::judge
