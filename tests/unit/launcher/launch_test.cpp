// Runs of plain processes: how they are started, watched and ended, and that nothing is left of them.

#include "launcher/launch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "common/base/process.h"
#include "common/base/strings.h"

namespace fb::launcher {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using record::Ending;

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("fabricbench")) names.insert(name);
  }
  return names;
}

// Processes with `text` in their command line.
int processes_with(const std::string& text) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline", std::ios::binary);
    std::ostringstream line;  // a process may go while it is looked at
    line << in.rdbuf();
    if (line.str().find(text) != std::string::npos) ++count;
  }
  return count;
}

struct Ran {
  Result<LaunchResult> result = error("");
  std::string out, err, folder;
  double seconds = 0;
};

class Launch : public testing::Test {
 protected:
  void TearDown() override { unsetenv("TEST_MACHINE"); }

  static std::string contents(int fd) {
    std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

  // Also looks that nothing is left.
  static Ran run(std::vector<std::string> arguments, LaunchRequest request = {}) {
    const auto shared_before = names_in("/dev/shm");
    const UniqueFd out(memfd_create("out", 0)), err(memfd_create("err", 0));
    request.program = FB_TEST_RANK;
    request.arguments = std::move(arguments);
    request.machine = FB_TEST_MACHINE;
    request.out = out.get();
    request.err = err.get();
    Ran ran;
    const auto start = std::chrono::steady_clock::now();
    {
      const RunDirectory directory;
      ran.folder = directory.path();
      ran.result = run_program(request, directory);
    }
    ran.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ran.out = contents(out.get());
    ran.err = contents(err.get());
    EXPECT_EQ(processes_with("launcher_test_rank"), 0);
    EXPECT_EQ(processes_with("launcher_test_machine"), 0);
    EXPECT_EQ(processes_with("fabricbench-test-sleeper"), 0);
    EXPECT_FALSE(fs::exists(ran.folder));
    EXPECT_EQ(names_in("/dev/shm"), shared_before);
    return ran;
  }
};

TEST_F(Launch, GivesEachRankItsVariables) {
  const auto ran = run({"environment", "2"}, {.options = {.ranks = 3}, .rank_memory = 1 << 30});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->exit_code, 0);
  EXPECT_EQ(ran.out,
            "RANK=2 WORLD_SIZE=3 LOCAL_RANK=2 LOCAL_WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 port=1 socket=1 core=0 "
            "data=1073741824\n");
  EXPECT_EQ(describe(*ran.result), "");
}

TEST_F(Launch, KeepsWhatTheMachineRecorded) {
  const auto ran =
      run({}, {.options = {.platform = "pcie_x4", .ranks = 2, .seed = 9, .mode = record::AccessMode::strict}});
  ASSERT_TRUE(ran.result);
  const auto& record = ran.result->record;
  EXPECT_EQ(record.event_log_hash, "abc");
  EXPECT_EQ(record.instructions, 7u);
  EXPECT_EQ(record.ending, Ending::finished);
  EXPECT_EQ(record.options.platform, "pcie_x4");
  EXPECT_EQ(record.options.seed, 9u);
  EXPECT_EQ(record.options.mode, record::AccessMode::strict);
  EXPECT_EQ(record.options.ranks, 2);
  ASSERT_EQ(record.ranks.size(), 2u);
  EXPECT_EQ(record.ranks[1].rank, 1);
  EXPECT_TRUE(record.wall_seconds.contains("run"));
}

TEST_F(Launch, NeverTearsLines) {
  const auto ran = run({"lines"}, {.options = {.ranks = 4}, .prefix = true});
  ASSERT_TRUE(ran.result);
  int lines = 0;
  for (const auto line : split(ran.out, '\n')) {
    if (line.empty()) continue;
    ++lines;
    const std::string rank(line.substr(6, 1));
    EXPECT_TRUE(line == "[rank " + rank + "] from one rank " + rank || line == "[rank " + rank + "] no end") << line;
  }
  EXPECT_EQ(lines, 4 * 201);
}

TEST_F(Launch, LaysOutAddressesAlike) {
  const auto first = run({"addresses"}), second = run({"addresses"});
  EXPECT_EQ(first.out, second.out);
}

TEST_F(Launch, ReportsARanksExitCode) {
  const auto ran = run({"exit", "1"}, {.options = {.ranks = 3}});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->exit_code, 1);
  EXPECT_EQ(ran.result->record.ending, Ending::failed);
  EXPECT_EQ(describe(*ran.result),
            "fabricbench: failed: rank 1 exited with 5\n"
            "fabricbench:   ranks 0, 2: exited with 0\n"
            "fabricbench:   rank 1: exited with 5\n");
}

TEST_F(Launch, EndsTheOthersWhenOneIsKilled) {
  const auto ran = run({"wait", "kill", "2"}, {.options = {.ranks = 8}});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->exit_code, 1);
  EXPECT_EQ(ran.result->record.ending, Ending::rank_lost);
  EXPECT_EQ(describe(*ran.result),
            "fabricbench: rank_lost: rank 2 was ended by SIGKILL\n"
            "fabricbench:   rank 2: ended by SIGKILL (Killed)\n"
            "fabricbench:   ranks 0, 1, 3-7: ended by the launcher\n");
}

TEST_F(Launch, EndsRanksAfterAFatalIncident) {
  setenv("TEST_MACHINE", "incident", 1);
  const auto ran = run({"deaf"}, {.options = {.ranks = 2}});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->exit_code, 1);
  EXPECT_EQ(ran.result->record.ending, Ending::deadlock);
  ASSERT_EQ(ran.result->record.incidents.size(), 1u);
  EXPECT_EQ(ran.err, "fabricbench: deadlock: everything waits\nfor ever\n");
}

TEST_F(Launch, FailsWhenTheMachineIsLost) {
  setenv("TEST_MACHINE", "die", 1);
  const auto ran = run({"sleep"}, {.options = {.ranks = 2}});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->exit_code, 2);
  EXPECT_EQ(ran.result->problem, "the machine exited with 3");
}

TEST_F(Launch, SaysWhyTheMachineDidNotStart) {
  setenv("TEST_MACHINE", "refuse", 1);
  const auto ran = run({"sleep"});
  ASSERT_FALSE(ran.result);
  EXPECT_EQ(ran.result.error().list[0].message, "unknown platform");
}

TEST_F(Launch, KeepsItsTimeLimit) {
  const auto ran = run({"deaf"}, {.options = {.ranks = 2}, .timeout = 200ms});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->record.ending, Ending::timeout);
  EXPECT_EQ(ran.result->problem, "the run took longer than 0.2 s");
  EXPECT_EQ(ran.result->exit_code, 1);
}

TEST_F(Launch, EndsOnSigterm) {
  const auto ran = run({"term"}, {.options = {.ranks = 1}});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->record.ending, Ending::interrupted);
  EXPECT_EQ(ran.result->problem, "interrupted by SIGTERM");
  EXPECT_LT(ran.seconds, 60) << "the rank sleeps for 1000 s unless it ends when asked";
}

TEST_F(Launch, EndsProcessesThatRanksLeaveBehind) {
  const auto ran = run({"children"}, {.options = {.ranks = 2}});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->exit_code, 0);
}

TEST_F(Launch, BoundsTheMemoryOfARank) {
  const auto ran = run({"wait", "grow", "0"}, {.options = {.ranks = 2}, .rank_memory = 256u << 20});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->problem, "rank 0 was ended by SIGABRT");
  EXPECT_NE(describe(*ran.result).find("256 MiB of private memory"), std::string::npos);
  EXPECT_NE(ran.err.find("bad_alloc"), std::string::npos) << ran.err;
}

TEST_F(Launch, RefusesWhatCannotRun) {
  const RunDirectory directory;
  EXPECT_FALSE(run_program({.program = "/no/such/program", .machine = FB_TEST_MACHINE}, directory));
  EXPECT_FALSE(run_program({.program = FB_TEST_RANK, .options = {.ranks = 0}, .machine = FB_TEST_MACHINE}, directory));
  EXPECT_FALSE(run_program({.program = FB_TEST_RANK, .options = {.mpi = true}, .machine = FB_TEST_MACHINE}, directory));
  EXPECT_THROW((void)run_program({.program = FB_TEST_RANK, .machine = "/no/such/machine"}, directory),
               std::system_error);
}

class LaunchMpi : public Launch {
 protected:
  void SetUp() override {
    if (access("/usr/bin/mpirun", X_OK) != 0) GTEST_SKIP() << "no mpirun";
  }
};

TEST_F(LaunchMpi, GivesRanksTheSameVariables) {
  auto ran =
      run({"environment"},
          {.options = {.ranks = 3, .mpi = true}, .prefix = true, .rank_memory = 1 << 30, .mpirun = "/usr/bin/mpirun"});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->exit_code, 0) << ran.err;
  std::vector<std::string> lines;
  for (const auto line : split(trim(ran.out), '\n')) lines.emplace_back(line);
  std::ranges::sort(lines);
  ASSERT_EQ(lines.size(), 3u) << ran.out;
  EXPECT_EQ(lines[1],
            "[rank 1] RANK=1 WORLD_SIZE=3 LOCAL_RANK=1 LOCAL_WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 port=1 socket=1 core=0 "
            "data=1073741824");
}

TEST_F(LaunchMpi, EndsTheOthersWhenOneIsKilled) {
  const auto ran = run({"wait", "kill", "1"}, {.options = {.ranks = 3, .mpi = true}, .mpirun = "/usr/bin/mpirun"});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->exit_code, 1);
  EXPECT_NE(ran.err.find("aborted"), std::string::npos) << ran.err;
}

TEST_F(LaunchMpi, IsEndedAfterAFatalIncident) {
  setenv("TEST_MACHINE", "incident", 1);
  const auto ran = run({"deaf"}, {.options = {.ranks = 2, .mpi = true}, .mpirun = "/usr/bin/mpirun"});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->record.ending, Ending::deadlock);
}

// --- With a judge

class JudgedLaunch : public Launch {
 protected:
  JudgedLaunch() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours = UniqueFd(ends[0]);
    theirs = ends[1];
  }
  // Until the other end is closed everywhere.
  std::string heard() const {
    std::string text;
    char buffer[256];
    for (ssize_t got = read(ours.get(), buffer, sizeof buffer); got > 0; got = read(ours.get(), buffer, sizeof buffer))
      text.append(buffer, static_cast<size_t>(got));
    return text;
  }

  UniqueFd ours;
  int theirs = -1;
};

TEST_F(JudgedLaunch, OnlyTheMachineHasTheJudgesSocket) {
  const auto ran = run({}, {.options = {.ranks = 2}, .judge = theirs});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(heard(), ran.folder + "/machine.sock");
}

TEST_F(JudgedLaunch, ARankGetsItsPlaceAndItsOwnSocketAndNothingElse) {
  const auto ran = run({"everything", "1"}, {.options = {.ranks = 2}, .judge = theirs});
  EXPECT_EQ(ran.out, "FABRICBENCH_SOCKET=" + ran.folder +
                         "/machine.sock.1\nGROUP_RANK=0\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nRANK=1\nWORLD_SIZE=2\n");
}

TEST_F(JudgedLaunch, ASandboxThatSaysASignalIsBelieved) {
  const auto ran = run({"wait", "aborted", "0"}, {.options = {.ranks = 2}, .judge = theirs});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.result->record.ending, Ending::rank_lost);
  EXPECT_EQ(ran.result->record.ranks[0].signal, SIGABRT);
  EXPECT_EQ(ran.result->record.ranks[0].exit_code, 0);
}

TEST_F(Launch, TheStartOfRanksAndMachineCanBeChanged) {
  LaunchRequest request{.options = {.ranks = 2}};
  int machines = 0;
  request.prepare_machine = [&](SpawnOptions& start) { machines += start.command[0] == FB_TEST_MACHINE; };
  request.prepare_rank = [](int rank, SpawnOptions& start) {
    start.command = {FB_TEST_RANK, rank == 1 ? "everything" : ""};
    start.environment = {"ONLY=this"};
  };
  const auto ran = run({"exit"}, request);
  EXPECT_EQ(machines, 1);
  EXPECT_EQ(ran.out, "ONLY=this\n");
}

TEST_F(Launch, OutputBeyondTheLimitIsDroppedAndItsEndIsKept) {
  const auto ran = run({"lines", "1"}, {.options = {.ranks = 2}, .output_limit = 32});
  ASSERT_TRUE(ran.result);
  EXPECT_EQ(ran.out, "from one rank 1\nfrom one rank 1\n");
  ASSERT_EQ(ran.result->output_tail.size(), 2u);
  EXPECT_EQ(ran.result->output_tail[0], "");
  const std::string& tail = ran.result->output_tail[1];
  EXPECT_TRUE(tail.ends_with("from one rank 1\nno end"));
  EXPECT_LE(tail.size(), 4096u);
}

}  // namespace
}  // namespace fb::launcher
