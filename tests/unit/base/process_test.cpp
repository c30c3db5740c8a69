#include "common/base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "common/base/interruption.h"

namespace fb {
namespace {

using namespace std::chrono_literals;

TEST(RunCommand, ReturnsOutputAndExitCode) {
  const auto run = run_command({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, 10s);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.output, "out\nerr\n");
  EXPECT_FALSE(run.timed_out);
}

TEST(RunCommand, KillsTheProcessGroupAfterTheTimeLimit) {
  const auto start = std::chrono::steady_clock::now();
  const auto run = run_command({"/bin/sh", "-c", "sleep 30 & sleep 30"}, 100ms);
  EXPECT_TRUE(run.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST(RunCommand, DoesNotWaitForAGrandchildThatKeepsTheOutput) {
  const auto run = run_command({"/bin/sh", "-c", "sleep 5 & echo done"}, 3s);
  EXPECT_FALSE(run.timed_out);
  EXPECT_EQ(run.output, "done\n");
}

// Ends this process by SIGTERM.
void run_until_interrupted() {
  const InterruptionGuard guard;
  try {
    // The shell waits and would write afterwards.
    run_command({"/bin/sh", "-c", "kill -TERM $PPID; sleep 20; echo lived on >&2"}, 30s);
  } catch (const Interrupted&) {
    std::fputs("thrown\n", stderr);
  }
}

TEST(RunCommand, KillsTheProcessGroupOnASignal) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EXIT(run_until_interrupted(), testing::KilledBySignal(SIGTERM), "^thrown\n$");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST(RunCommand, ThrowsIfThereIsNoProgram) { EXPECT_THROW(run_command({"/no/such/program"}, 1s), std::system_error); }

std::string read_all(const UniqueFd& from) {
  std::string text;
  char buffer[256];
  for (ssize_t got = 0; (got = read(from.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  return text;
}

// What a shell command writes.
std::string output_of(const std::string& script, SpawnOptions options = {}) {
  Pipe pipe = make_pipe();
  options.command = {"/bin/sh", "-c", script};
  options.out = options.err = pipe.writer.get();
  Child child = spawn(options);
  pipe.writer.reset();
  std::string text = read_all(pipe.reader);
  EXPECT_EQ(child.reap(), 0);
  return text;
}

bool has_ended(const Child& child, std::chrono::milliseconds limit) {
  pollfd watched{child.handle(), POLLIN, 0};
  return poll(&watched, 1, static_cast<int>(limit.count())) == 1;
}

bool is_alive(pid_t id) { return kill(id, 0) == 0; }

bool ends_soon(pid_t id) {
  for (int i = 0; i < 1000 && is_alive(id); ++i) usleep(5000);
  return !is_alive(id);
}

TEST(Spawn, LeadsItsOwnProcessGroup) {
  Child child = spawn({.command = {"/bin/sleep", "30"}});
  EXPECT_EQ(getpgid(child.id()), child.id());
  EXPECT_FALSE(has_ended(child, 0ms));
  child.kill_group();
  EXPECT_TRUE(has_ended(child, 10s));
  EXPECT_EQ(exit_code_of(child.reap()), 128 + SIGKILL);
  EXPECT_FALSE(child);
  EXPECT_EQ(child.handle(), -1);
}

TEST(Spawn, UnblocksSignalsAndRestoresSigpipe) {
  sigset_t set, before;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  const auto pipe_before = signal(SIGPIPE, SIG_IGN);
  const auto hangup_before = signal(SIGHUP, SIG_IGN);
  const std::string status = output_of("grep -E '^Sig(Blk|Ign)' /proc/self/status");
  signal(SIGHUP, hangup_before);
  signal(SIGPIPE, pipe_before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(status, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\n") << "SIGHUP stays ignored, as under nohup";
}

TEST(Spawn, PassesOnlyTheNamedDescriptors) {
  // Neither is close-on-exec.
  const UniqueFd other(fcntl(STDERR_FILENO, F_DUPFD, 50)), named(fcntl(STDERR_FILENO, F_DUPFD, 60));
  const std::string has = "[ -e /proc/self/fd/";
  EXPECT_EQ(output_of(has + std::to_string(named.get()) + " ] && echo yes", {.inherited = {named.get()}}), "yes\n");
  EXPECT_EQ(output_of(has + std::to_string(other.get()) + " ] || echo no", {.inherited = {named.get()}}), "no\n");
}

TEST(Spawn, HasTheGivenEnvironment) {
  EXPECT_EQ(output_of("echo $ONE:$HOME", {.environment = {"ONE=1"}}), "1:\n");
  setenv("FB_TEST_VARIABLE", "inherited", 1);
  EXPECT_EQ(output_of("echo $FB_TEST_VARIABLE"), "inherited\n");
  unsetenv("FB_TEST_VARIABLE");
}

TEST(Spawn, WritesNoCoreFileAndKeepsTheDataLimit) {
  EXPECT_EQ(output_of("ulimit -c; ulimit -d", {.data_limit = 512u << 20}), "0\n524288\n");
}

TEST(Spawn, ThrowsWhyTheProgramDoesNotStart) {
  try {
    (void)spawn({.command = {"/no/such/program"}});
    FAIL() << "it started";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code().value(), ENOENT);
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no process is left";
}

TEST(Child, IsKilledWithItsGroupAtTheEndOfItsLife) {
  Pipe pipe = make_pipe();
  pid_t leader = 0;
  {
    const Child child = spawn({.command = {"/bin/sh", "-c", "sleep 30 & echo $!; wait"}, .out = pipe.writer.get()});
    leader = child.id();
    char text[32] = {};
    ASSERT_GT(read(pipe.reader.get(), text, sizeof text - 1), 0);
    EXPECT_TRUE(is_alive(std::stoi(text)));
  }
  EXPECT_EQ(waitpid(leader, nullptr, WNOHANG), -1) << "it was reaped";
  pipe.writer.reset();
  EXPECT_EQ(read_all(pipe.reader), "") << "returns once the background process is gone, too";
}

TEST(Child, MayOutliveItsOwner) {
  pid_t id = 0;
  {
    const Child child = spawn({.command = {"/bin/sleep", "30"}, .outlives = true});
    id = child.id();
  }
  EXPECT_EQ(getsid(id), id) << "in a session of its own";
  EXPECT_EQ(waitpid(id, nullptr, WNOHANG), 0) << "still running";
  kill(id, SIGKILL);
  EXPECT_EQ(waitpid(id, nullptr, 0), id);
}

TEST(Child, GetsTheDeathSignalWhenItsParentDies) {
  Pipe pipe = make_pipe();
  const pid_t parent = fork();
  if (parent == 0) {
    const Child child = spawn({.command = {"/bin/sleep", "30"}});
    const pid_t id = child.id();
    if (write(pipe.writer.get(), &id, sizeof id) != sizeof id) _exit(1);
    raise(SIGKILL);
  }
  pid_t id = 0;
  ASSERT_EQ(read(pipe.reader.get(), &id, sizeof id), static_cast<ssize_t>(sizeof id));
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(ends_soon(id));
}

// As one that another process has started: leader of a group, and reaped there.
pid_t start_foreign(const char* seconds) {
  const pid_t id = fork();
  if (id == 0) {
    setpgid(0, 0);
    execl("/bin/sleep", "sleep", seconds, nullptr);
    _exit(127);
  }
  setpgid(id, id);
  return id;
}

UniqueFd handle_of(pid_t id) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, id, 0))); }

TEST(Child, OfAnotherProcessIsWaitedForAndNotReaped) {
  const pid_t id = start_foreign("0.05");
  Child child = adopt(id, handle_of(id), [] { return 7 << 8; });
  EXPECT_EQ(child.id(), id);
  EXPECT_EQ(exit_code_of(child.reap()), 7);
  EXPECT_FALSE(child);
  EXPECT_EQ(child.handle(), -1);
  EXPECT_EQ(waitpid(id, nullptr, WNOHANG), id);  // it has ended, and was left to its parent
}

TEST(Child, OfAnotherProcessIsKilledWithTheObject) {
  const pid_t id = start_foreign("30");
  {
    Child first = adopt(id, handle_of(id), [] { return 0; });
    const Child moved = std::move(first);
    EXPECT_FALSE(first);
  }
  int status = 0;
  ASSERT_EQ(waitpid(id, &status, WNOHANG), id);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(Child, IsReapedWithoutWaiting) {
  Child child = spawn({.command = {"/bin/sleep", "30"}});
  EXPECT_FALSE(child.try_reap());
  child.send_signal(SIGTERM);
  EXPECT_TRUE(has_ended(child, 10s));
  EXPECT_TRUE(child.try_reap());
  EXPECT_FALSE(child);
  child.send_signal(SIGTERM);  // without effect: the number may be another process's
}

}  // namespace
}  // namespace fb
