// What cannot be written is never lost in silence: every command and every option that names an output ends with exit
// code 2 and says why, where a place is left to say it.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "cli/program.h"
#include "commands/run_tool.h"
#include "common/base/strings.h"
#include "scratch_folder.h"

namespace fb {
namespace {

const std::string kSource = FB_SOURCE_DIR;
const std::string kTool = FB_BINARY_DIR "/bin/fabricbench";

// What is tried of one command. In all texts, @ is a folder with the files of Inputs.
struct OutputRow {
  // A command line that prints on standard output and takes little time; empty: the command prints nothing there.
  std::string prints;
  // By option: a command line that writes there as late as it can. # stands for the file, or for the folder.
  std::map<std::string, std::string> writes = {};
};

const std::string kReference = kSource + "/problems/comm/p2p/push_copy/reference.cu";
const std::string kRun = "run --plain --worker " + kSource +
                         "/tests/e2e/campaign/stub_worker.py --model recorded:@/answers "
                         "push_copy --out ";

// By the command's name behind "fabricbench ".
const std::map<std::string, OutputRow>& output_rows() {
  static const std::map<std::string, OutputRow> rows = {
      {"exec",
       {.prints = "exec @/program.cu",
        .writes = {{"--trace", "exec --trace # @/program.cu"},
                   {"--record", "exec --record # @/program.cu"},
                   {"--events", "exec --events # @/program.cu"}}}},
      {"list", {.prints = "list"}},
      {"show", {.prints = "show push_copy"}},
      {"template", {.prints = "template push_copy", .writes = {{"--output", "template push_copy --force -o #"}}}},
      {"check",
       {.prints = "check --quick --json push_copy " + kReference,
        .writes = {{"--trace", "check --quick --trace # push_copy " + kReference}}}},
      {"export",
       {.prints = "export push_copy --force -o @/exported", .writes = {{"--out", "export push_copy --out #"}}}},
      {"run", {.prints = kRun + "@/run", .writes = {{"--out", kRun + "#"}}}},
      {"report", {.prints = "report @/done --json", .writes = {{"--html", "report @/done --html #"}}}},
      {"new", {.prints = "new --problems @/pack comm/p2p/mine"}},
      {"doctor", {.prints = "doctor"}},
      {"help", {.prints = "help"}},
      {"dev nvcc", {.prints = "dev nvcc --version"}},
      {"dev ptx", {.prints = "dev ptx @/kernel.ptx"}},
      {"dev coverage", {.prints = "dev coverage --api"}},
      {"dev nccl-model", {.prints = "dev nccl-model"}},
      {"dev cublas-model", {.prints = "dev cublas-model"}},
      {"dev prompt", {.prints = "dev prompt push_copy"}},
      {"dev prove", {.prints = "dev prove no_such_problem"}},
      {"dev mutate",
       {.prints = "dev mutate --list push_copy",
        .writes = {{"--json", "dev mutate --quick --operators drop-signal --json # push_copy"},
                   {"--out", "dev mutate --quick --limit 1 --out # push_copy"}}}},
      {"dev bench", {.prints = "dev bench --quick --cached push_copy"}},
      {"dev calibrate",
       {.prints = "dev calibrate --inside --platform h100x8",
        .writes = {{"--report", "dev calibrate --platform h100x8 --report #"}}}},
      {"dev sensitivity", {.prints = "dev sensitivity no_such_problem"}},
      {"dev times", {.prints = "dev times peer_copy"}},
      {"dev sampling", {.prints = "dev sampling push_copy"}},
      {"dev completion", {.prints = "dev completion bash"}},
      {"dev man", {.prints = "dev man check", .writes = {{"--out", "dev man --out #"}}}},
      {"dev version", {.prints = "dev version"}},
      {"caller", {.prints = ""}},
      {"worker", {.prints = "worker < @/jobs"}},
  };
  return rows;
}

struct Ran {
  int exit_code = -1;  // as a shell has it: 134 is an abort
  std::string out, error;
};

class Output : public testing::Test {
 protected:
  Output() {
    folder_.write("program.cu", R"(#include <cuda_runtime.h>
#include <cstdio>
__global__ void k(int* p) { *p = 1; }
int main() {
  int* p = nullptr;
  cudaMalloc(&p, sizeof *p);
  k<<<1, 1>>>(p);
  std::printf("%d\n", cudaDeviceSynchronize());
}
)");
    folder_.write("kernel.ptx", ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k() {\n  ret;\n}\n");
    folder_.write("answers/push_copy.md", "STUB pass\n```cuda\nint x;\n```\n");
    folder_.write("jobs", "/nowhere/1.job.json\n");
    folder_.write("curves.toml",
                  "[[curve]]\nid = \"c\"\nabout = \"nothing\"\nfrom = 0\nplatform = \"h100x8\"\nsplit = \"held_out\"\n"
                  "program = \"curve\"\nranks = 1\npoints = [[8, 1.0]]\n[[pair]]\ncurves = [\"c\", \"d\"]\n");
    folder_.write("curve.cu", "#include <cstdio>\nint main() { std::puts(\"8 1.0\"); }\n");
    folder_.write("inside/figures.toml",
                  "[arch]\nh100x8 = \"sm_90a\"\n[source]\ns = \"x\"\n[[figure]]\nid = \"f\"\nplatform = \"h100x8\"\n"
                  "group = \"g\"\nwhat = \"a wait\"\nset = \"held_out\"\nprogram = \"wait\"\narguments = \"5\"\n"
                  "value = 4\nunit = \"ns\"\npeak = 3\nsource = \"s\"\n");
    folder_.write("inside/wait.cu", "#include <cstdio>\nint main() { std::puts(\"4 ns\"); }\n");
    ::setenv("FABRICBENCH_CALIBRATION", folder_.path().c_str(), 1);
  }
  ~Output() override { ::unsetenv("FABRICBENCH_CALIBRATION"); }

  // With the files that the command line needs and this program makes.
  std::string completed(std::string words) {
    for (size_t at = words.find('@'); at != std::string::npos; at = words.find('@', at))
      words.replace(at, 1, folder_.path());
    if (words.contains("report " + folder_.path("done")) && !std::filesystem::exists(folder_.path("done"))) {
      const Ran made = shell(kTool + " " + completed(kRun + "@/done"));
      EXPECT_EQ(made.exit_code, 0) << made.error;
    }
    return words;
  }

  // Both streams go to files unless `command` says otherwise.
  Ran shell(const std::string& command) const {
    const std::string script = folder_.write("script.sh", command + "\n");
    const std::string out = folder_.path("out"), error = folder_.path("error");
    const int status = std::system(("sh " + script + " >" + out + " 2>" + error + " </dev/null").c_str());
    return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            .out = read_file(out),
            .error = read_file(error)};
  }
  Ran tool(const std::string& words, const std::string& redirections) {
    return shell(kTool + " " + completed(words) + " " + redirections);
  }

  // A full disk of 4 KiB at @/disk, for the command alone. 77: that is not possible here.
  Ran tool_on_full_disk(const std::string& words) {
    std::filesystem::create_directories(folder_.path("disk"));
    const std::string disk = folder_.path("disk"), command = folder_.write("command.sh", "exec " + kTool + " " + words);
    return shell("unshare --user --map-root-user --mount sh -c 'mount -t tmpfs -o size=4k tmpfs " + disk +
                 " || exit 77; exec sh " + command +
                 "' || { code=$?; unshare --user --map-root-user --mount true || exit 77; "
                 "exit $code; }");
  }

  ScratchFolder folder_;
};

std::vector<const cli::Command*> every_command(const cli::Command& program) {
  std::vector<const cli::Command*> all;
  for (const cli::Command* command : program.commands()) {
    if (command->commands().empty()) all.push_back(command);
    for (const cli::Command* inner : command->commands()) all.push_back(inner);
  }
  return all;
}

std::string name_of(const cli::Command& command) { return command.path().substr(std::string("fabricbench ").size()); }

TEST(OutputTable, HasARowForEveryCommandAndOption) {
  cli::CommandRun run;
  const auto program = cli::make_program(run);
  for (const cli::Command* command : every_command(*program)) {
    const auto row = output_rows().find(name_of(*command));
    ASSERT_NE(row, output_rows().end()) << name_of(*command) << ": no row in output_test.cpp";
    std::set<std::string> outputs;
    for (const cli::OptionFacts& option : command->options()) {
      if (option.description.starts_with("Write")) {
        EXPECT_TRUE(option.is_output || !option.takes_value)
            << name_of(*command) << " " << option.names << ": it writes, and is no output_file() or output_folder()";
      }
      if (option.is_output) outputs.insert("--" + option.long_names.at(0));
    }
    std::set<std::string> tried;
    for (const auto& [option, words] : row->second.writes) tried.insert(option);
    EXPECT_EQ(outputs, tried) << name_of(*command);
  }
}

// The commands of the table in the order of their names: each is a test of its own.
class OutputOf : public Output, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    cli::CommandRun run;
    const auto program = cli::make_program(run);
    const auto all = every_command(*program);
    if (std::ranges::none_of(all, [](const cli::Command* c) { return name_of(*c) == GetParam(); }))
      GTEST_SKIP() << GetParam() << " is no command of this program";
  }
  // The command says so itself: its help has DIR for it.
  static bool is_folder(const std::string& option) {
    cli::CommandRun run;
    const auto program = cli::make_program(run);
    for (const cli::Command* command : every_command(*program)) {
      if (name_of(*command) != GetParam()) continue;
      for (const cli::OptionFacts& facts : command->options()) {
        if (!facts.long_names.empty() && "--" + facts.long_names[0] == option) return facts.type == "DIR";
      }
    }
    return false;
  }
  const OutputRow& row() const { return output_rows().at(GetParam()); }
};

TEST_P(OutputOf, FullStandardOutputIsExitTwo) {
  const Ran help = tool(GetParam() + " --help", ">/dev/full");
  EXPECT_EQ(help.exit_code, 2);
  EXPECT_EQ(help.error, "fabricbench: cannot write standard output: No space left on device\n");
  if (row().prints.empty()) return;
  const Ran ran = tool(row().prints, ">/dev/full");
  EXPECT_EQ(ran.exit_code, 2) << ran.error;
  EXPECT_TRUE(ran.error.ends_with("fabricbench: cannot write standard output: No space left on device\n")) << ran.error;
}

TEST_P(OutputOf, FullStandardErrorIsExitTwo) {
  const Ran ran = tool(GetParam() + " --no-such-option", "2>/dev/full");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "fabricbench: cannot write standard error: No space left on device\n");
  EXPECT_EQ(tool(GetParam() + " --no-such-option", ">/dev/full 2>/dev/full").exit_code, 2);
  EXPECT_EQ(tool(GetParam() + " --help", ">/dev/full 2>/dev/full").exit_code, 2);
}

TEST_P(OutputOf, FullFilesAreExitTwo) {
  for (const auto& [option, words] : row().writes) {
    std::string full = completed(words), on_disk = full;
    full.replace(full.find('#'), 1, "/dev/full");
    on_disk.replace(on_disk.find('#'), 1, folder_.path("disk") + "/made");
    if (!is_folder(option)) {
      const Ran ran = shell(kTool + " " + full);
      EXPECT_EQ(ran.exit_code, 2) << option << ": " << ran.out << ran.error;
      EXPECT_TRUE(ran.error.contains("cannot write /dev/full: No space left on device")) << option << ": " << ran.error;
      continue;
    }
    const Ran in_file = shell(kTool + " " + full);
    EXPECT_EQ(in_file.exit_code, 2) << option << ": " << in_file.out << in_file.error;
    EXPECT_TRUE(in_file.error.contains("/dev/full")) << option << ": " << in_file.error;
    const Ran ran = tool_on_full_disk(on_disk);
    if (ran.exit_code == 77) GTEST_SKIP() << "no mount namespaces here: full disks are not tried";
    EXPECT_EQ(ran.exit_code, 2) << option << ": " << ran.out << ran.error;
    EXPECT_TRUE(ran.error.contains(folder_.path("disk"))) << option << ": " << ran.error;
    EXPECT_TRUE(ran.error.contains("No space left on device")) << option << ": " << ran.error;
  }
}

std::vector<std::string> names_of_rows() {
  std::vector<std::string> names;
  for (const auto& [name, row] : output_rows()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Commands, OutputOf, testing::ValuesIn(names_of_rows()), [](const auto& row) {
  std::string name = row.param;
  std::ranges::replace_if(name, [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
});

TEST_F(Output, ANewProblemOnAFullDiskIsExitTwo) {
  const Ran ran = tool_on_full_disk("new --problems " + folder_.path("disk") + "/pack comm/p2p/mine");
  if (ran.exit_code == 77) GTEST_SKIP() << "no mount namespaces here: full disks are not tried";
  EXPECT_EQ(ran.exit_code, 2) << ran.out << ran.error;
  EXPECT_TRUE(ran.error.contains("No space left on device")) << ran.error;
}

TEST_F(Output, TheDriversObjectsAreOutputsToo) {
  for (const char* words : {"-c @/program.cu -o /dev/full", "--ptx @/program.cu -o /dev/full"}) {
    const Ran ran = tool(std::string("dev nvcc ") + words, "");
    EXPECT_EQ(ran.exit_code, 2) << words << ran.out << ran.error;
    EXPECT_TRUE(ran.error.contains("/dev/full")) << words << ran.error;
  }
}

// A verdict is printed although its timeline can't be, and as JSON it stays one object.
TEST_F(Output, AVerdictIsNotLostWithItsTimeline) {
  const Ran ran = tool("check --quick --json --trace /dev/full push_copy " + kReference, "");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_TRUE(ran.out.contains("\"class\": \"pass\"")) << ran.out;
  EXPECT_EQ(ran.out.find("\"error\""), std::string::npos) << ran.out;
  EXPECT_TRUE(ran.error.contains("cannot write /dev/full")) << ran.error;
}

TEST_F(Output, ThatCantBeOpenedIsFoundBeforeAnythingRuns) {
  for (const char* words : {"exec --trace @/nowhere/t.json @/program.cu", "exec --events / @/program.cu",
                            "check --trace @/nowhere/t.json push_copy /nowhere.cu"}) {
    const Ran ran = tool(words, "");
    EXPECT_EQ(ran.exit_code, 2) << words;
    EXPECT_TRUE(ran.error.contains("cannot write")) << words << ran.error;
    EXPECT_TRUE(ran.out.empty()) << words << ran.out;
  }
}

TEST_F(Output, ClosedStreamsAreNotFilesThatAreOpenedLater) {
  EXPECT_EQ(tool("list", ">&-").exit_code, 2);
  EXPECT_EQ(tool("list no_such_problem", "2>&-").exit_code, 2);
  EXPECT_EQ(tool("template push_copy --force -o @/made.cu", ">&- 2>&-").exit_code, 0) << "nothing is printed";
  EXPECT_TRUE(read_file(folder_.path("made.cu")).contains("[solution]"));
}

// As with other tools, a reader that has seen enough is no failure that is worth a message.
TEST_F(Output, AReaderThatLeavesIsNoMessage) {
  const Ran ended = tool("dev coverage", "| head -n 1");
  EXPECT_EQ(ended.error, "");
  const Ran ignored = shell("trap '' PIPE\n{ sleep 0.3; " + kTool + " list; echo code $? >&2; } | true");
  EXPECT_EQ(ignored.error, "code 2\n");
}

}  // namespace
}  // namespace fb
