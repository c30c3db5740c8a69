#include "common/sandbox/sandbox.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

#include "common/base/strings.h"
#include "common/base/unique_fd.h"
#include "common/sandbox/user_namespace.h"

namespace fb::sandbox {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Words = std::vector<std::string>;

constexpr int kBySigsys = 128 + SIGSYS;

struct Ended {
  int code = 0;
  std::string said;
};

pid_t start(const Words& command, int output) {
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execv(arguments[0], arguments.data());
  _exit(125);
}

Ended run(const Words& command) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t child = start(command, ends[1]);
  close(ends[1]);
  Ended ended;
  std::array<char, 1024> buffer;
  ssize_t got = 0;
  while ((got = read(ends[0], buffer.data(), buffer.size())) > 0) ended.said.append(buffer.data(), got);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

// Ids of processes with this word in their command line.
std::vector<pid_t> processes_with(const std::string& word) {
  std::vector<pid_t> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const pid_t id = atoi(entry.path().filename().c_str());
    if (id <= 0 || id == getpid()) continue;
    try {
      if (read_file(entry.path() / "cmdline").find(word) != std::string::npos) found.push_back(id);
    } catch (const std::system_error&) {
      continue;  // it has ended meanwhile
    }
  }
  return found;
}

template <class Condition>
bool holds_soon(Condition condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

class Sandbox : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = probe();
    ASSERT_TRUE(found) << to_string(found.error(), "sandbox");
    ability_ = *found;
    policy_.binds = {{FB_PRISONER, "/inside/prisoner"}, {FB_CONFINE, "/inside/confine"}};
  }

  Ended inside(const std::string& filter, const std::string& action, const std::string& argument = "") const {
    return run(wrap(ability_, policy_, {"/inside/prisoner", filter, action, argument}));
  }
  Ended limited(const Words& limits, const std::string& action, const std::string& argument) const {
    Words command = {"/inside/confine"};
    command.insert(command.end(), limits.begin(), limits.end());
    command.insert(command.end(), {"--", "/inside/prisoner", "none", action, argument});
    return run(wrap(ability_, policy_, command));
  }

  SandboxSupport ability_;
  Policy policy_;
};

testing::AssertionResult ended_with(const Ended& ended, int code, const std::string& text) {
  if (ended.code == code && ended.said.find(text) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "exit code " << ended.code << ": " << ended.said;
}
testing::AssertionResult done(const Ended& ended) { return ended_with(ended, 0, ""); }
testing::AssertionResult refused(const Ended& ended, const std::string& text) { return ended_with(ended, 1, text); }
testing::AssertionResult killed(const Ended& ended) { return ended_with(ended, kBySigsys, ""); }

TEST_F(Sandbox, LetsARankDoWhatItMust) {
  for (const auto* action : {"nothing", "threads", "memfd", "unix", "name", "terminal"}) {
    EXPECT_TRUE(done(inside("rank", action)));
  }
  EXPECT_TRUE(done(inside("rank", "load", "libm.so.6")));
  EXPECT_TRUE(done(inside("rank", "write", "/tmp/file")));
  EXPECT_EQ(inside("rank", "abort").code, 128 + SIGABRT) << "an assertion that fails is no forbidden call";
}

TEST_F(Sandbox, EndsARankThatStartsProcesses) {
  for (const auto* action : {"fork", "vfork", "spawn", "exec"}) EXPECT_TRUE(killed(inside("rank", action)));
  EXPECT_TRUE(refused(inside("rank", "clone3"), "Function not implemented"));
}

TEST_F(Sandbox, EndsARankThatAttacksTheHost) {
  for (const auto* action : {"inet", "netlink", "ptrace", "unshare", "seccomp", "personality", "uring"}) {
    EXPECT_TRUE(killed(inside("rank", action)));
  }
  EXPECT_TRUE(killed(inside("rank", "kill", "1")));
  EXPECT_TRUE(refused(inside("rank", "undumpable"), "Function not implemented"));
  EXPECT_TRUE(refused(inside("rank", "shared"), "Cannot allocate memory"));
}

TEST_F(Sandbox, HasAMachineServeWhatItHasAndStartNothing) {
  for (const auto* action : {"nothing", "memfd", "threads", "name"}) EXPECT_TRUE(done(inside("machine", action)));
  for (const auto* action : {"fork", "vfork", "exec", "inet", "unix", "ptrace", "unshare", "seccomp"}) {
    EXPECT_TRUE(killed(inside("machine", action)));
  }
  EXPECT_TRUE(killed(inside("machine", "kill", "1")));
}

TEST_F(Sandbox, LetsABuildStartProgramsAndNoMore) {
  for (const auto* action : {"spawn", "exec", "threads", "shared"}) EXPECT_TRUE(done(inside("build", action)));
  for (const auto* action : {"inet", "ptrace", "unshare", "seccomp"}) EXPECT_TRUE(killed(inside("build", action)));
}

TEST_F(Sandbox, HidesTheHostsFiles) {
  for (const char* path : {"/etc/passwd", "/etc/shadow", "/root", "/home", "/proc/self", "/sys", "/var", FB_SOURCE_DIR,
                           FB_BINARY_DIR, "/dev/mem", "/dev/tty", "/run"}) {
    EXPECT_TRUE(refused(inside("none", "read", path), "No such file"));
  }
  EXPECT_TRUE(done(inside("none", "read", "/usr/bin/env")));
  EXPECT_TRUE(done(inside("none", "read", "/dev/urandom")));
}

TEST_F(Sandbox, KeepsWritersInTmp) {
  for (const auto* path : {"/file", "/usr/file", "/etc/file", "/dev/file", "/inside/file", "/inside/confine"}) {
    EXPECT_TRUE(refused(inside("none", "write", path), ability_.root ? "Read-only file system" : ""));
  }
  EXPECT_TRUE(done(inside("none", "write", "/tmp/file")));
  policy_.tmp_bytes = 1 << 20;
  EXPECT_TRUE(refused(inside("none", "file", "2"), "No space left"));
}

TEST_F(Sandbox, BindsAsTold) {
  std::string folder = "/tmp/fabricbench.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  write_file(folder + "/known", "known text");
  policy_.binds.push_back({folder, "/work"});
  EXPECT_NE(inside("none", "print", "/work/known").said.find("known text"), std::string::npos);
  EXPECT_TRUE(refused(inside("none", "write", "/work/new"), "Read-only file system"));
  policy_.binds.back().writable = true;
  EXPECT_TRUE(done(inside("none", "write", "/work/new")));
  EXPECT_TRUE(fs::exists(folder + "/new"));
  fs::remove_all(folder);
}

TEST_F(Sandbox, HidesFoldersOfTheSystem) {
  EXPECT_TRUE(done(inside("none", "read", "/usr/include/stdio.h")));
  policy_.hidden = {"/usr/include", "/nowhere", "/root"};
  EXPECT_TRUE(refused(inside("none", "read", "/usr/include/stdio.h"), "No such file"));
  EXPECT_TRUE(refused(inside("none", "read", "/root"), "No such file"));
  policy_.binds.push_back({"/usr/include/stdint.h", "/usr/include/stdint.h"});
  EXPECT_TRUE(done(inside("none", "read", "/usr/include/stdint.h")));
}

TEST_F(Sandbox, HidesTheNetwork) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof name;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&name), length), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&name), &length), 0);
  const std::string port = std::to_string(ntohs(name.sin_port));
  EXPECT_TRUE(done(run({FB_PRISONER, "none", "connect", port})));
  EXPECT_TRUE(refused(inside("none", "connect", port), "refused"));
  close(listener);
}

TEST_F(Sandbox, HidesOtherProcesses) {
  EXPECT_TRUE(refused(inside("none", "kill", std::to_string(getpid())), "No such process"));
  policy_.proc = true;
  EXPECT_NE(inside("none", "processes").said.find("2 processes"), std::string::npos);
}

TEST_F(Sandbox, GivesNoEnvironmentButItsOwn) {
  setenv("FABRICBENCH_SECRET", "1", 1);
  policy_.environment = {{"GIVEN", "yes"}};
  const Ended ended = inside("none", "environment");
  EXPECT_NE(ended.said.find("GIVEN=yes\n"), std::string::npos) << ended.said;
  EXPECT_EQ(ended.said.find("SECRET"), std::string::npos) << ended.said;
  EXPECT_EQ(ended.said.find("PATH"), std::string::npos) << ended.said;
}

TEST_F(Sandbox, KeepsInheritedDescriptors) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe(ends.data()), 0);
  EXPECT_TRUE(done(inside("rank", "descriptor", std::to_string(ends[1]))));
  ASSERT_EQ(fcntl(ends[1], F_SETFD, FD_CLOEXEC), 0);
  EXPECT_TRUE(refused(inside("rank", "descriptor", std::to_string(ends[1])), "Bad file descriptor"));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Sandbox, LimitsMemoryFilesTimeAndProcesses) {
  EXPECT_TRUE(done(limited({"--data", "268435456"}, "memory", "100")));
  EXPECT_TRUE(refused(limited({"--data", "67108864"}, "memory", "100"), "Cannot allocate memory"));
  EXPECT_TRUE(done(limited({"--file", "4194304"}, "file", "4")));
  EXPECT_TRUE(refused(limited({"--file", "1048576"}, "file", "4"), "File too large"));
  EXPECT_EQ(limited({"--cpu", "1"}, "spin", "").code, 128 + SIGXCPU);
  EXPECT_TRUE(done(limited({"--processes", "40"}, "forks", "10")));
  if (!ability_.root) {
    EXPECT_TRUE(refused(limited({"--processes", "40"}, "forks", "50"), "children"));
  }
}

TEST_F(Sandbox, RefusesToConfineWithWrongWords) {
  EXPECT_EQ(limited({"--filter", "nosuch"}, "nothing", "").code, 126);
  EXPECT_EQ(limited({"--data", "1x"}, "nothing", "").code, 126);
  EXPECT_EQ(limited({"--frobnicate", "1"}, "nothing", "").code, 126);
  EXPECT_EQ(run({FB_CONFINE, "--data", "1000"}).code, 126);
  EXPECT_EQ(run({FB_CONFINE, "--", "/nowhere"}).code, 126);
}

// Made by a child that lives until it was opened here.
int new_user_namespace() {
  std::array<int, 2> made, leave;
  if (pipe(made.data()) != 0 || pipe(leave.data()) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(leave[1]);
    const int why = enter_user_namespace();
    if (write(made[1], &why, sizeof why) != sizeof why) _exit(1);
    char unused = 0;
    _exit(read(leave[0], &unused, 1) == 0 ? 0 : 1);
  }
  int why = -1;
  EXPECT_EQ(read(made[0], &why, sizeof why), static_cast<ssize_t>(sizeof why));
  EXPECT_EQ(why, 0);
  // Not close-on-exec: start() passes it on.
  const int opened = open(fmt::format("/proc/{}/ns/user", child).c_str(), O_RDONLY);
  for (const int end : {made[0], made[1], leave[0], leave[1]}) close(end);
  waitpid(child, nullptr, 0);
  return opened;
}

TEST_F(Sandbox, ShowsAMachineTheRanksOfItsUserNamespace) {
  const UniqueFd shared(new_user_namespace());
  ASSERT_TRUE(shared);
  const std::string mark = fmt::format("mark-{}", getpid());
  policy_.user_namespace = shared.get();
  std::array<int, 2> ends;
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t outer = start(wrap(ability_, policy_, {"/inside/prisoner", "rank", "sleep", mark}), ends[1]);
  // The last one is the program itself: those of bubblewrap are its ancestors.
  ASSERT_TRUE(holds_soon([&] { return processes_with(mark).size() == 3; }));
  const pid_t rank = processes_with(mark).back();
  const auto state = [&](const std::string& file) { return fmt::format("/proc/{0}/task/{0}/{1}", rank, file); };
  ASSERT_TRUE(holds_soon([&] { return read_file(state("stat")).find(") S ") != std::string::npos; }));

  Policy machine = policy_;
  machine.share_process_ids = machine.proc = true;
  const auto print = [&](const Policy& policy, const std::string& file) {
    return run(wrap(ability_, policy, {"/inside/prisoner", "machine", "print", state(file)}));
  };
  EXPECT_NE(print(machine, "stat").said.find("(prisoner)"), std::string::npos);
  EXPECT_TRUE(print(machine, "syscall").said.starts_with("230 ")) << "clock_nanosleep";
  EXPECT_EQ(print(machine, "status").code, 0);
  machine.user_namespace = -1;
  EXPECT_TRUE(refused(print(machine, "syscall"), "not permitted"));
  EXPECT_TRUE(refused(print(policy_, "stat"), "No such file"));

  kill(-outer, SIGKILL);
  waitpid(outer, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Sandbox, LeavesNothingBehindWhenItIsKilled) {
  const std::string mounts = read_file("/proc/self/mountinfo");
  const std::string mark = fmt::format("left-{}", getpid());
  std::array<int, 2> ends;
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  // At any moment, also while it is being set up.
  for (int delay = 0; delay < 12; ++delay) {
    policy_.share_process_ids = delay % 2 == 0;
    const pid_t outer = start(wrap(ability_, policy_, {"/inside/prisoner", "none", "sleep", mark}), ends[1]);
    std::this_thread::sleep_for(delay * 1ms);
    kill(-outer, SIGKILL);
    kill(outer, SIGKILL);  // it may not have its group yet
    waitpid(outer, nullptr, 0);
  }
  EXPECT_TRUE(holds_soon([&] { return processes_with(mark).empty(); }));
  // When the process alone is killed.
  for (const bool shares : {false, true}) {
    policy_.share_process_ids = shares;
    const pid_t outer = start(wrap(ability_, policy_, {"/inside/prisoner", "none", "sleep", mark}), ends[1]);
    EXPECT_TRUE(holds_soon([&] {
      const auto found = processes_with(mark);
      return !found.empty() && read_file(fmt::format("/proc/{}/cmdline", found.back())).starts_with("/inside");
    }));
    kill(outer, SIGKILL);
    waitpid(outer, nullptr, 0);
    EXPECT_TRUE(holds_soon([&] { return processes_with(mark).empty(); }));
  }
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(read_file("/proc/self/mountinfo"), mounts);
}

TEST(Probe, SaysHowToGetWhatIsMissing) {
  // In a new process: the answer is kept for the life of one.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto asked = [] {
    setenv("PATH", "/nowhere", 1);
    const auto found = probe();
    const bool good = !found && found.error().list.back().message.find("apt install bubblewrap") != std::string::npos;
    _exit(good ? 0 : 1);
  };
  EXPECT_EXIT(asked(), testing::ExitedWithCode(0), "");
}

// Everything above once more, as an ordinary user.
TEST(AsAnOrdinaryUser, EverythingHolds) {
  if (geteuid() != 0) GTEST_SKIP() << "this is one";
  constexpr uid_t kNobody = 65534;
  const pid_t child = fork();
  if (child == 0) {
    const std::string self = fs::read_symlink("/proc/self/exe").string(), filter = "--gtest_filter=-AsAnOrdinaryUser.*";
    if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(120);
    execl(self.c_str(), self.c_str(), filter.c_str(), nullptr);
    _exit(121);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace fb::sandbox
