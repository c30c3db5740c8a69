// The program as a user meets it: help texts, exit codes, messages for wrong input.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "commands/run_tool.h"
#include "common/base/strings.h"
#include "scratch_folder.h"

namespace fb {
namespace {

// Golden files; `FABRICBENCH_APPROVE=1 ctest --preset dev -R Cli` writes them anew.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(FB_SOURCE_DIR) + "/tests/e2e/commands/golden/" + name;
  if (std::getenv("FABRICBENCH_APPROVE") != nullptr) write_file(path, text);
  EXPECT_EQ(text, read_file(path)) << path;
}

// The names that `fabricbench help` and `fabricbench dev` list, from the table itself: "check", "dev prove".
std::vector<std::string> commands() {
  std::vector<std::string> names;
  std::string place;
#define GROUP(where, heading) place = #where;
#define COMMAND(name) \
  if (place != "internal") names.push_back((place == "dev" ? "dev " : "") + std::string(#name));
#include "cli/commands.def"
  for (std::string& name : names) std::ranges::replace(name, '_', '-');
  return names;
}

std::vector<std::string> dev_commands() {
  std::vector<std::string> names = commands();
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("dev "); });
  for (std::string& name : names) name.erase(0, std::string("dev ").size());
  return names;
}

// The lines of a list of commands, which begin with two spaces and a name.
std::vector<std::string> listed(const std::string& help) {
  std::vector<std::string> names;
  for (const std::string_view line : split(help, '\n')) {
    if (line.starts_with("  ") && line.size() > 2 && std::islower(static_cast<unsigned char>(line[2])) != 0)
      names.emplace_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

TEST(Cli, HelpTextsAreAsApproved) {
  expect_golden("help.txt", run_tool("--help").text);
  expect_golden("help_dev.txt", run_tool("dev --help").text);
  for (const std::string& name : commands()) {
    std::string file = "help_" + name + ".txt";
    std::ranges::replace(file, ' ', '_');
    expect_golden(file, run_tool(name + " --help").text);
  }
}

TEST(Cli, AloneItPrintsTheCommandsByGroup) {
  const Output output = run_tool("");
  EXPECT_EQ(output.exit_code, 0);
  EXPECT_EQ(output.text, run_tool("help").text);
  EXPECT_LE(std::ranges::count(output.text, '\n'), 40);
  std::vector<std::string> front = commands();
  std::erase_if(front, [](const std::string& name) { return name.starts_with("dev "); });
  EXPECT_EQ(listed(output.text), front);
  EXPECT_EQ(run_tool("dev").text, run_tool("dev --help").text);
  EXPECT_EQ(run_tool("dev").exit_code, 0);
  EXPECT_EQ(listed(run_tool("dev").text), dev_commands());
}

TEST(Cli, OldNamesWorkAndSayWhatTheyAreNow) {
  for (const std::string& name : dev_commands()) {
    if (name == "nvcc") continue;
    const Output old = run_tool(name + " --help 2>/dev/null"), now = run_tool("dev " + name + " --help");
    EXPECT_EQ(old.exit_code, 0) << name;
    EXPECT_EQ(old.text, now.text) << name;
    EXPECT_EQ(run_tool(name + " --help 2>&1 >/dev/null").text,
              "note: `fabricbench " + name + "` is `fabricbench dev " + name + "` now; the old name goes with 0.7\n");
  }
  const auto version = nlohmann::json::parse(run_tool("--color never version --json 2>/dev/null").text);
  EXPECT_EQ(version["schema"], 1);
  EXPECT_EQ(run_tool("nvcc --version 2>/dev/null").text, run_tool("dev nvcc --version").text);
  EXPECT_EQ(run_tool("nonsense").text.find("note:"), std::string::npos);
}

TEST(Cli, TheDriversOwnNameIsNoOldName) {
  const std::string driver = std::string(FB_BINARY_DIR) + "/bin/fabricbench-nvcc";
  ScratchFolder folder;
  EXPECT_EQ(std::system((driver + " --version >" + folder.path("out") + " 2>&1").c_str()), 0);
  EXPECT_EQ(read_file(folder.path("out")), run_tool("dev nvcc --version").text);
}

TEST(Cli, HelpOfACommandIsItsHelpOption) {
  EXPECT_EQ(run_tool("help check").text, run_tool("check --help").text);
  EXPECT_EQ(run_tool("help dev prove").text, run_tool("dev prove --help").text);
  EXPECT_EQ(run_tool("help prove").text, run_tool("dev prove --help").text);
  EXPECT_EQ(run_tool("help dev").text, run_tool("dev --help").text);
  for (const char* wrong : {"help nonsense", "help dev nonsense", "help check more", "dev nonsense", "dev check"})
    EXPECT_EQ(run_tool(wrong).exit_code, 2) << wrong;
}

TEST(Cli, AnUnknownCommandIsNamedWithTheNearestOne) {
  const Output output = run_tool("chekc push_copy x.cu");
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.text.find("there is no command 'chekc'"), std::string::npos) << output.text;
  EXPECT_NE(output.text.find("did you mean 'check'"), std::string::npos) << output.text;
  EXPECT_NE(run_tool("dev prvoe").text.find("did you mean 'prove'"), std::string::npos) << run_tool("dev prvoe").text;
  EXPECT_NE(run_tool("prvoe").text.find("did you mean 'dev prove'"), std::string::npos) << run_tool("prvoe").text;
}

TEST(Cli, TheVersionNamesTheParts) {
  const auto version = nlohmann::json::parse(run_tool("dev version --json").text);
  EXPECT_EQ(version["schema"], 1);
  for (const char* key : {"version", "compiler", "sdk", "libraries"}) EXPECT_TRUE(version.contains(key)) << key;
  EXPECT_EQ(run_tool("--version").text, "fabricbench " + version["version"].get<std::string>() + "\n");
}

// One JSON object on standard output, whatever goes wrong: an unknown problem, a missing file, an unknown option.
TEST(Cli, WithJsonFailuresAreJson) {
  for (const char* arguments : {"check --json no_such_problem x.cu", "check --json push_copy /nowhere.cu",
                                "show --json no_such_problem", "check --json --frobnicate push_copy x.cu"}) {
    const Output output = run_tool(std::string(arguments) + " 2>/dev/null");
    EXPECT_EQ(output.exit_code, 2) << arguments;
    const auto value = nlohmann::json::parse(output.text, nullptr, false);
    ASSERT_FALSE(value.is_discarded()) << arguments << ": " << output.text;
    EXPECT_EQ(value["schema"], 1);
    EXPECT_FALSE(value["error"]["messages"].empty()) << arguments;
  }
}

TEST(Cli, ColoursAreForTerminalsOrOnRequest) {
  const std::string check = " check --quick push_copy " FB_SOURCE_DIR "/problems/comm/p2p/push_copy/reference.cu";
  EXPECT_EQ(run_tool("--color auto" + check).text.find('\033'), std::string::npos);
  EXPECT_NE(run_tool("--color always" + check).text.find("\033[32;1mPASS"), std::string::npos);
}

TEST(Cli, CompletionsKnowEveryCommandAndItsOptions) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = run_tool(std::string("dev completion ") + shell).text;
    for (const std::string& name : commands())
      EXPECT_NE(script.find(name.substr(name.find(' ') + 1)), std::string::npos) << shell << ": " << name;
    EXPECT_NE(script.find("schedules"), std::string::npos) << shell;
  }
  ScratchFolder folder;
  const auto completed = [&](const std::string& words, size_t at) {
    const std::string script =
        folder.write("complete.bash", run_tool("dev completion bash").text + "COMP_WORDS=(fabricbench " + words +
                                          ")\nCOMP_CWORD=" + std::to_string(at) +
                                          "\n_fabricbench\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
    const std::string out = folder.path("completed");
    EXPECT_EQ(std::system(("cd " + folder.path() + " && bash " + script + " >" + out).c_str()), 0) << words;
    return std::string(trim(read_file(out)));
  };
  EXPECT_EQ(completed("check --sched", 2), "--schedules");
  EXPECT_EQ(completed("che", 1), "check");
  EXPECT_EQ(completed("de", 1), "dev");
  EXPECT_EQ(completed("dev pro", 2), "prompt\nprove");
  EXPECT_EQ(completed("dev prove --no-nv", 3), "--no-nvcc");
  EXPECT_EQ(completed("help dev calib", 3), "calibrate");
}

TEST(Cli, ManualPagesAreMadeForEveryCommand) {
  ScratchFolder folder;
  ASSERT_EQ(run_tool("dev man --out " + folder.path() + "/man1").exit_code, 0);
  for (const std::string& name : commands()) {
    std::string file = "fabricbench-" + name + ".1";
    std::ranges::replace(file, ' ', '-');
    const std::string page = read_file(folder.path("man1/" + file));
    EXPECT_TRUE(page.starts_with(".TH FABRICBENCH-")) << name;
    EXPECT_NE(page.find("\n.SH SYNOPSIS\n.B fabricbench " + name), std::string::npos) << name;
  }
  EXPECT_NE(read_file(folder.path() + "/man1/fabricbench.1").find(".SH SOLVE PROBLEMS"), std::string::npos);
  EXPECT_NE(read_file(folder.path("man1/fabricbench-dev.1")).find(".BR fabricbench\\-dev\\-prove (1)"),
            std::string::npos);
  EXPECT_EQ(run_tool("dev man dev prove").text, read_file(folder.path("man1/fabricbench-dev-prove.1")));
}

TEST(Cli, WrongUsageExitsWithTwoAndSaysWhy) {
  EXPECT_EQ(run_tool("nonsense").exit_code, 2);
  const Output missing = run_tool("dev ptx /nowhere.cu");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.text.find("/nowhere.cu"), std::string::npos) << missing.text;
}

TEST(Cli, FiguresOfAPlatformWithoutAnyAreAnError) {
  const Output unknown = run_tool("dev calibrate --inside --platform h1000x8");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.text.find("no platform is called 'h1000x8'"), std::string::npos) << unknown.text;
  const Output none = run_tool("dev calibrate --inside --platform pcie_x4");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.text.find("no figure of a single GPU of 'pcie_x4'"), std::string::npos) << none.text;
}

// What a new user types by mistake: each message ends with what helps.
TEST(Cli, CheckSaysWhatWasMeant) {
  const ScratchFolder folder;
  const std::string file = folder.write("mine.cu", "int x;\n");
  const std::pair<std::string, std::string> wrong[] = {
      {file + " push_copy", "the problem comes first, then the file: fabricbench check push_copy " + file},
      {"--quick " + file + " push_copy", "fabricbench check push_copy " + file},
      {file + " push_cpy", "is a file, and the name of a problem is needed: `fabricbench list` shows the problems"},
      {"push_cpy " + file, "did you mean 'push_copy'? `fabricbench list` shows the problems"},
      {"push_copy " + folder.path(), "it is a folder; name the file of the solution"},
      {"push_copy " + folder.path("no.cu"),
       "there is no such file (`fabricbench template push_copy -o " + folder.path("no.cu") + "` begins one)"},
      {"--platform h100x9 push_copy " + file, "no platform is called 'h100x9'; known: "},
  };
  for (const auto& [arguments, message] : wrong) {
    const Output output = run_tool("check " + arguments);
    EXPECT_EQ(output.exit_code, 2) << arguments;
    EXPECT_NE(output.text.find(message), std::string::npos) << arguments << ": " << output.text;
    EXPECT_EQ(std::ranges::count(output.text, '\n'), 1) << output.text;
  }
}

class CliFigures : public testing::Test {
 protected:
  // `calibrate --inside` with one figure of 4 ns, whose program is `source`.
  Output calibrate(const std::string& source, const std::string& bounds) {
    folder_.write("curves.toml", "");
    folder_.write("inside/figures.toml",
                  "[arch]\nh100x8 = \"sm_90a\"\n[source]\ns = \"x\"\n[[figure]]\nid = \"f\"\nplatform = \"h100x8\"\n"
                  "group = \"g\"\nwhat = \"a wait\"\nset = \"held_out\"\nprogram = \"wait\"\narguments = \"5 6\"\n"
                  "value = 4\nunit = \"ns\"\npeak = 3\nsource = \"s\"\n");
    folder_.write("inside/wait.cu", source);
    ::setenv("FABRICBENCH_CALIBRATION", folder_.path().c_str(), 1);
    Output output = run_tool("dev calibrate --inside --platform h100x8 " + bounds);
    ::unsetenv("FABRICBENCH_CALIBRATION");
    return output;
  }
  static std::string prints(const std::string& value, int exit_code = 0) {
    return "#include <cstdio>\nint main() { std::puts(\"" + value + "\"); return " + std::to_string(exit_code) +
           "; }\n";
  }

  ScratchFolder folder_;
};

TEST_F(CliFigures, AreComparedAndBounded) {
  const Output good = calibrate(prints("5 ns"), "--json --most-median 0.3 --within-peak");
  ASSERT_EQ(good.exit_code, 0) << good.text;
  const auto json = nlohmann::json::parse(good.text);
  EXPECT_DOUBLE_EQ(json["figures"]["f"]["error"], 0.25);
  EXPECT_DOUBLE_EQ(json["held_out"]["median"], 0.25);
  const Output far = calibrate(prints("2 ns"), "--most-median 0.3 --within-peak");
  EXPECT_EQ(far.exit_code, 1);
  EXPECT_NE(far.text.find("the median error of held-out figures is 50.0 %, at most 30.0 % is allowed"),
            std::string::npos)
      << far.text;
  EXPECT_NE(far.text.find("1 figures are beyond the hardware's peak"), std::string::npos) << far.text;
}

TEST_F(CliFigures, NameTheProgramThatGaveNoValue) {
  for (const std::string& source :
       {prints("5 cycles"), prints("5 ns", 3), std::string("int main() { return oops; }\n")}) {
    const Output output = calibrate(source, "");
    EXPECT_EQ(output.exit_code, 2);
    EXPECT_NE(output.text.find("f: wait 5 6 gave no value in ns"), std::string::npos) << output.text;
  }
}

TEST(Cli, CoverageCountsEveryTier) {
  const Output output = run_tool("dev coverage --json");
  ASSERT_EQ(output.exit_code, 0) << output.text;
  const auto tiers = nlohmann::json::parse(output.text)["ptx"]["tiers"];
  for (const char* tier : {"T1", "T2", "T3", "T4", "T5"}) EXPECT_EQ(tiers[tier]["done"], tiers[tier]["total"]) << tier;
  EXPECT_GT(tiers["T1"]["total"], 300);
}

TEST(Cli, TheCoveragePageIsWhatTheTablesSay) {
  EXPECT_EQ(read_file(std::string(FB_SOURCE_DIR) + "/docs/evidence/coverage.md"),
            run_tool("dev coverage --markdown").text)
      << "build/release/bin/fabricbench dev coverage --markdown > docs/evidence/coverage.md";
}

TEST(Cli, TheApiPageIsWhatTheTablesSay) {
  EXPECT_EQ(read_file(std::string(FB_SOURCE_DIR) + "/docs/evidence/api.md"),
            run_tool("dev coverage --api --markdown").text)
      << "build/release/bin/fabricbench dev coverage --api --markdown > docs/evidence/api.md";
}

TEST(Cli, CoverageCountsBothApis) {
  const Output output = run_tool("dev coverage --json");
  ASSERT_EQ(output.exit_code, 0) << output.text;
  const auto api = nlohmann::json::parse(output.text)["api"];
  EXPECT_GT(api["cuda_runtime"]["total"], 300);
  EXPECT_GT(api["cuda_driver"]["total"], 440);
  EXPECT_GT(api["cuda_driver"]["real"], 100);
}

class CliPtx : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) { return folder_.write(name, content); }

  ScratchFolder folder_;
};

TEST_F(CliPtx, ShowsTheFormsOfACudaFile) {
  const Output output =
      run_tool("dev ptx " + file("ok.cu", R"(extern "C" __global__ void add(int* a) { a[threadIdx.x] += 1; })"));
  EXPECT_EQ(output.exit_code, 0) << output.text;
  EXPECT_NE(output.text.find("kernels: add\n"), std::string::npos) << output.text;
  EXPECT_NE(output.text.find("ld.global.u32"), std::string::npos) << output.text;
  EXPECT_NE(output.text.find("Everything is supported."), std::string::npos) << output.text;
}

TEST_F(CliPtx, NamesWhatIsNotSupported) {
  const Output output = run_tool("dev ptx " + file("stack.cu", R"(
extern "C" __global__ void k() { asm volatile("stackrestore.u64 %0;" ::"l"(0ll)); })"));
  EXPECT_EQ(output.exit_code, 1) << output.text;
  EXPECT_NE(output.text.find("Not supported:\n  stackrestore.u64"), std::string::npos) << output.text;
}

TEST_F(CliPtx, GivesTheCompilersMessageWithItsLine) {
  const std::string path = file("bad.cu", "int x;\nextern \"C\" __global__ void k() { y = 1; }\n");
  const Output output = run_tool("dev ptx " + path);
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.text.find(path + ":2:"), std::string::npos) << output.text;
}

TEST_F(CliPtx, RefusesWhatIsNoCodeOfOurs) {
  const Output empty = run_tool("dev ptx " + file("empty.cu", "int x;\n"));
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_NE(empty.text.find("no code in it"), std::string::npos) << empty.text;
  const Output other = run_tool("dev ptx " + file("main.cpp", "int main() {}\n"));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.text.find("expected a .cu or .ptx file"), std::string::npos) << other.text;
}

TEST_F(CliPtx, LocatesErrorsInPtx) {
  const std::string path =
      file("bad.ptx", ".version 8.6\n.target sm_90\n.address_size 64\n.entry k() {\n  foo.u32 %r1;\n}\n");
  const Output output = run_tool("dev ptx " + path);
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.text.find(path + ":5:3:"), std::string::npos) << output.text;
}

// What is wrong before anything runs; runs themselves are in tests/e2e/node and examples.
class CliExec : public CliPtx {};

TEST_F(CliExec, SaysWhatIsMissing) {
  const Output nothing = run_tool("exec");
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_NE(nothing.text.find("no source file"), std::string::npos) << nothing.text;
  const Output none = run_tool("exec /nowhere.cu");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.text.find("/nowhere.cu: No such file or directory"), std::string::npos) << none.text;
}

TEST_F(CliExec, NamesAnUnknownPlatform) {
  const Output output = run_tool("exec --platform h100x9 " + file("empty_main.cu", "int main() {}\n"));
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.text.find("h100x9"), std::string::npos) << output.text;
}

TEST_F(CliExec, NamesAnUnknownOption) {
  const Output output = run_tool("exec --frobnicate " + file("empty_main.cu", "int main() {}\n"));
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.text.find("--frobnicate: unknown option"), std::string::npos) << output.text;
  EXPECT_EQ(run_tool("exec --rank-memory much x.cu").exit_code, 2);
  EXPECT_EQ(run_tool("exec --ranks 0 x.cu").exit_code, 2);
  EXPECT_EQ(run_tool("exec --mode sloppy x.cu").exit_code, 2);
}

TEST_F(CliExec, GivesTheCompilersMessageWithItsLine) {
  const std::string path = file("wrong.cu", "int main() {\n  return nothing;\n}\n");
  const Output output = run_tool("exec " + path);
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.text.find(path + ":2:10: use of undeclared identifier 'nothing'"), std::string::npos) << output.text;
}

TEST_F(CliExec, NamesAMissingCompiler) {
  setenv("FABRICBENCH_CLANG", "no-such-clang", 1);
  const Output output = run_tool("exec " + file("empty_main.cu", "int main() {}\n"));
  unsetenv("FABRICBENCH_CLANG");
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_NE(output.text.find("no-such-clang"), std::string::npos) << output.text;
}

TEST_F(CliExec, RunsAProgramAndReturnsWhatBecameOfIt) {
  const std::string path = file("arguments.cu", R"(
#include <cstdio>
#include <cstdlib>
int main(int argc, char** argv) {
  std::printf("%s of %s: %s\n", getenv("RANK"), getenv("WORLD_SIZE"), argc > 1 ? argv[1] : "none");
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
)");
  const Output good = run_tool("exec --ranks 2 --prefix " + path + " -- --seed");
  EXPECT_EQ(good.exit_code, 0) << good.text;
  EXPECT_NE(good.text.find("[rank 1] 1 of 2: --seed\n"), std::string::npos) << good.text;
  const Output bad = run_tool("exec --seed 3 " + path + " -- 'a b' 7");
  EXPECT_EQ(bad.exit_code, 1) << bad.text;
  EXPECT_NE(bad.text.find("rank 0 exited with 7"), std::string::npos) << bad.text;
  EXPECT_NE(bad.text.find("--seed 3 --mode hardware " + path + " -- 'a b' 7"), std::string::npos) << bad.text;
}

TEST_F(CliExec, GivesGpusLessMemoryOnRequest) {
  const std::string path = file("memory.cu", R"(
#include <cuda_runtime.h>
#include <cstdio>
int main() {
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  void* p = nullptr;
  const cudaError_t small = cudaMalloc(&p, 16 << 20), large = cudaMalloc(&p, 256 << 20);
  std::printf("total %zu, small %d, large %d\n", total >> 20, small, large);
  return large == cudaSuccess ? 0 : 3;
}
)");
  const Output little = run_tool("exec --device-memory 128M " + path);
  EXPECT_NE(little.text.find("total 128, small 0, large 2"), std::string::npos) << little.text;
  EXPECT_NE(little.text.find("again: fabricbench exec --platform h100x8 --ranks 1 --seed 0 --mode hardware "
                             "--device-memory 134217728 "),
            std::string::npos)
      << little.text;
  EXPECT_EQ(run_tool("exec --device-memory 900G " + path).exit_code, 0) << "never more than the platform has";
  EXPECT_EQ(run_tool("exec --device-memory much " + path).exit_code, 2);
}

TEST_F(CliExec, RefusesSchedulesThatContradictEachOther) {
  const std::string path = file("empty_main.cu", "int main() {}\n");
  const std::pair<std::string, std::string> wrong[] = {
      {"--seed 3 --schedules 5", "give one of them"},
      {"--seed 3 --exhaustive 1", "leave out --seed"},
      {"--choices 0,1 --seed 3", "--choices is one schedule"},
      {"--choices 0,1 --schedules 3", "--choices is one schedule"},
      {"--choices 0,1 --exhaustive 3", "--choices is one schedule"},
      {"--exhaustive 1 --mpi", "not with --mpi"},
      {"--why m7+0x40", "--why needs --check"},
      {"--check --why 0x7f00", "names no byte; reports name them as m7+0x40"},
      {"--check --why m7+0x4g", "names no byte"},
  };
  for (const auto& [options, message] : wrong) {
    const Output output = run_tool("exec " + options + " " + path);
    EXPECT_EQ(output.exit_code, 2) << options;
    EXPECT_NE(output.text.find(message), std::string::npos) << options << ": " << output.text;
  }
  EXPECT_EQ(run_tool("exec --schedules 0 " + path).exit_code, 2);
  EXPECT_EQ(run_tool("exec --exhaustive -1 " + path).exit_code, 2);
  EXPECT_EQ(run_tool("exec --choices much " + path).exit_code, 2);
}

TEST_F(CliExec, TriesSchedulesUntilOneGoesWrong) {
  const std::string counted = file("counted", "");
  // Fails when it is run for the third time.
  const std::string path = file("third.cu", R"(
#include <cstdio>
int main(int, char** argv) {
  std::FILE* file = std::fopen(argv[1], "a");
  const long before = std::ftell(file);
  std::fputc('x', file);
  std::printf("run %ld\n", before);
  return before == 2 ? 5 : 0;
}
)");
  const Output two = run_tool("exec --schedules 2 " + path + " -- " + counted);
  EXPECT_EQ(two.exit_code, 0) << two.text;
  EXPECT_NE(two.text.find("run 0\nfabricbench: 2 schedules (seeds from 1), 0 kernels: every run ended well"),
            std::string::npos)
      << two.text;
  const Output none = run_tool("exec --schedules 9 " + path + " -- " + file("counted", ""));
  EXPECT_EQ(none.exit_code, 1) << none.text;
  EXPECT_NE(none.text.find("[rank 0] run 2\nfabricbench: schedule 3 of 9:\n"), std::string::npos) << none.text;
  EXPECT_NE(none.text.find("rank 0 exited with 5"), std::string::npos) << none.text;
  EXPECT_NE(none.text.find("again: fabricbench exec --platform h100x8 --ranks 1 --seed 3 "), std::string::npos)
      << none.text;
}

}  // namespace
}  // namespace fb
