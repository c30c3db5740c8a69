#include "judge/build/symbols.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "common/base/process.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "toolchain/compile/locate.h"

namespace fb::judge {
namespace {

class Symbols : public testing::Test {
 protected:
  std::string compile(std::string_view code, const std::vector<std::string>& more = {}) const {
    const std::string source = scratch_.path() + "/a.cpp", object = scratch_.path() + "/a.so";
    write_file(source, code);
    std::vector<std::string> command = {toolchain::locate()->compiler, "-shared", "-fPIC", "-fuse-ld=lld",
                                        "-Wl,--hash-style=both",       "-o",      object,  source};
    command.insert(command.end(), more.begin(), more.end());
    const auto run = run_command(command, std::chrono::seconds(60));
    EXPECT_EQ(run.exit_code, 0) << run.output;
    return object;
  }

  TempDir scratch_;
};

std::vector<std::string> names_of(const std::vector<Violation>& violations) {
  std::vector<std::string> names;
  for (const auto& violation : violations) names.push_back(violation.symbol);
  std::ranges::sort(names);
  return names;
}

TEST_F(Symbols, OfAnHonestObjectAreAllowed) {
  const auto object = compile(
      "#include <cstdio>\n#include <stdexcept>\n#include <thread>\n#include <vector>\nextern \"C\" int "
      "cudaMalloc(void**, unsigned long);\n"
      "void f(int n) { std::vector<int> v(n); std::thread([] {}).join(); void* p; if (cudaMalloc(&p, 4)) throw "
      "std::runtime_error(\"x\"); std::printf(\"%d\", v[0]); }\n");
  const auto undefined = undefined_symbols(object);
  ASSERT_TRUE(undefined);
  EXPECT_NE(std::ranges::find(*undefined, "cudaMalloc"), undefined->end());
  EXPECT_NE(std::ranges::find(*undefined, "printf"), undefined->end());
  const auto found = check_symbols(object, {});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty()) << (*found)[0].symbol;
}

TEST_F(Symbols, ThatAreForbiddenAreNamed) {
  const auto object = compile(
      "extern \"C\" { void* dlsym(void*, const char*); int system(const char*); long syscall(long, ...); int execve(); "
      "int socket();\n"
      "int ncclAllReduce(); int cublasGemmEx(); int MPI_Send(); void fabricbench_step(); int posix_spawnp(); int "
      "cudaMemcpyPeer(); }\n"
      "void f() { dlsym(nullptr, \"\"); system(\"\"); syscall(0); execve(); socket(); ncclAllReduce(); cublasGemmEx(); "
      "MPI_Send();\n"
      "fabricbench_step(); posix_spawnp(); cudaMemcpyPeer(); }\n");
  auto found = check_symbols(object, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(names_of(*found),
            (std::vector<std::string>{"MPI_Send", "cublasGemmEx", "dlsym", "execve", "fabricbench_step",
                                      "ncclAllReduce", "posix_spawnp", "socket", "system"}));
  for (const auto& violation : *found) EXPECT_FALSE(violation.why.empty());

  const std::vector<std::string> forbid = {"cudaMemcpy*"};
  found = check_symbols(object, {.forbid_in_run = {}, .forbid_symbols = forbid, .libraries = {}});
  ASSERT_TRUE(found);
  const auto copy = std::ranges::find(*found, "cudaMemcpyPeer", &Violation::symbol);
  ASSERT_NE(copy, found->end());
  EXPECT_EQ(copy->why, "this problem forbids it");
}

TEST_F(Symbols, AreAllowedWithTheirLibrary) {
  const std::string object = compile(
      "extern \"C\" void ncclAllReduce(); extern \"C\" void cublasCreate();\n"
      "void f() { ncclAllReduce(); cublasCreate(); }\n");
  const auto found = check_symbols(object, {.forbid_in_run = {}, .forbid_symbols = {}, .libraries = {"nccl"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(names_of(*found), std::vector<std::string>{"cublasCreate"});
  const auto other = check_symbols(object, {.forbid_in_run = {}, .forbid_symbols = {}, .libraries = {"cublas"}});
  ASSERT_TRUE(other);
  EXPECT_EQ(names_of(*other), std::vector<std::string>{"ncclAllReduce"});
  const auto one = check_symbols(object, {.forbid_in_run = {}, .forbid_symbols = {"ncclAll*"}, .libraries = {"nccl"}});
  ASSERT_TRUE(one);
  EXPECT_EQ(names_of(*one), (std::vector<std::string>{"cublasCreate", "ncclAllReduce"}));
}

TEST_F(Symbols, AreNotTakenFromOtherLibraries) {
  write_file(scratch_.path() + "/b.cpp", "extern \"C\" int helper() { return 1; }\n");
  const std::string library = scratch_.path() + "/libhelper.so";
  ASSERT_EQ(run_command({toolchain::locate()->compiler, "-shared", "-fPIC", "-fuse-ld=lld", "-Wl,-soname,libhelper.so",
                         "-o", library, scratch_.path() + "/b.cpp"},
                        std::chrono::seconds(60))
                .exit_code,
            0);
  const auto found = check_symbols(compile("extern \"C\" int helper(); int f() { return helper(); }\n", {library}), {});
  ASSERT_TRUE(found);
  EXPECT_EQ(names_of(*found), std::vector<std::string>{"libhelper.so"});
}

TEST_F(Symbols, OfBrokenFilesAreRefusedAndNeverReadBeyondTheirEnd) {
  const std::string good = read_file(compile("extern \"C\" int system(const char*); void f() { system(\"\"); }\n"));
  const auto check = [](std::string bytes) { return check_object(std::move(bytes), {}); };
  ASSERT_TRUE(check(good));
  EXPECT_FALSE(check(""));
  size_t refused = 0;
  EXPECT_FALSE(check("int main() {}"));
  for (size_t length = 0; length < good.size(); ++length) refused += check(good.substr(0, length)) ? 0 : 1;
  // Each byte of the headers and tables wrong, in a few ways: any answer will do, a crash will not.
  for (size_t i = 0; i < good.size() && i < 2500; ++i) {
    for (const char bits : {'\xff', '\x80', '\x01'}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ bits);
      refused += check(bytes) ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace fb::judge
