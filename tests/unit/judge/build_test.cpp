// Sources to candidate.so, in the compiler's sandbox.

#include "judge/build/build.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "common/base/process.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "judge/answer/border.h"
#include "judge/build/symbols.h"
#include "toolchain/compile/locate.h"

namespace fb::judge {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::string_view kArgs =
    "#pragma once\n#include <cstdint>\nstruct Args { const float* in; float* out; int64_t n; };\n";

// A candidate around which tests put their lines; the first line of `body` is line 1 of solution.cu.
std::string candidate(std::string_view body, std::string_view in_run = "") {
  return fmt::format(
      "#line 1 \"template.cu\"\n#include <cuda_runtime.h>\n#include <fabricbench/rank.h>\n#include \"args.h\"\n"
      "#line 1 \"solution.cu\"\n{}\n"
      "__global__ void copy(const float* in, float* out, int64_t n) {{ if (threadIdx.x < n) out[threadIdx.x] = "
      "in[threadIdx.x]; }}\n"
      "class Solution {{\n public:\n  Solution(const fabricbench::Rank&, const Args&) {{}}\n"
      "  void run(const Args& args, cudaStream_t stream) {{ copy<<<1, 32, 0, stream>>>(args.in, args.out, args.n); {} "
      "}}\n}};\n"
      "#line 1 \"entry.cu\"\n#include <fabricbench/entry.h>\nFABRICBENCH_ENTRY(Solution)\n",
      body, in_run);
}

class Build : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = new TempDir;
    setenv("FABRICBENCH_CACHE", (shared_->path() + "/cache").c_str(), 1);
    setenv("FABRICBENCH_LIB", FB_LIBRARIES, 1);
    setenv("FABRICBENCH_CONFINE", FB_CONFINE, 1);
  }
  static void TearDownTestSuite() {
    for (const auto* name : {"FABRICBENCH_CACHE", "FABRICBENCH_LIB", "FABRICBENCH_CONFINE"}) unsetenv(name);
    delete shared_;
  }
  void SetUp() override {
    const auto ability = sandbox::probe();
    ASSERT_TRUE(ability) << to_string(ability.error(), "sandbox");
    ability_ = *ability;
  }

  BuildRequest request(std::string source) const {
    BuildRequest request;
    request.sources.candidate = std::move(source);
    request.args_header = kArgs;
    request.folder = scratch_.path();
    request.sandbox = &ability_;
    return request;
  }
  Result<Built> build(std::string source) const { return build_candidate(request(std::move(source))); }

  // The messages of a build that must fail.
  std::string errors_of(const std::string& source) const {
    const auto built = build(source);
    EXPECT_FALSE(built) << source;
    return built ? "" : to_string(built.error(), "build");
  }

  static inline TempDir* shared_ = nullptr;
  TempDir scratch_;
  sandbox::SandboxSupport ability_;
};

TEST_F(Build, MakesAnObjectWithTheEntryAndNothingElseToSee) {
  const auto built = build(candidate("int visible() { return 1; }"));
  ASSERT_TRUE(built) << to_string(built.error(), "build");
  EXPECT_EQ(built->path, scratch_.path() + "/candidate.so");
  EXPECT_FALSE(built->from_cache);
  const auto found = check_symbols(built->path, {});
  ASSERT_TRUE(found) << to_string(found.error(), "");
  EXPECT_TRUE(found->empty()) << (*found)[0].symbol;

  const auto said = run_command({"/usr/bin/nm", "-D", "--defined-only", built->path}, 10s).output;
  EXPECT_NE(said.find(" T fabricbench_args_words"), std::string::npos) << said;
  EXPECT_NE(said.find(" T fabricbench_construct"), std::string::npos);
  EXPECT_NE(said.find(" T fabricbench_run"), std::string::npos);
  EXPECT_NE(said.find(" T fabricbench_destroy"), std::string::npos);
  EXPECT_EQ(said.find("visible"), std::string::npos) << said;
  const std::string bytes = read_file(built->path);
  EXPECT_NE(bytes.find(".entry _Z4copyPKfPfl("), std::string::npos) << "it carries its PTX";
  EXPECT_EQ(bytes.find(scratch_.path()), std::string::npos);
}

TEST_F(Build, ADriverIsAnObjectOfItsOwn) {
  BuildRequest driven = request("");
  driven.interface.host = {*catalog::parse_function("Side side()")};
  driven.interface.device = {*catalog::parse_function("void Side::touch(int n)")};
  const std::string includes = "#include <cuda_runtime.h>\n#include <fabricbench/rank.h>\n#include \"args.h\"\n";
  driven.sources.candidate = includes +
                             "struct Side { int* at; __device__ void touch(int n) { *at = n; } };\n"
                             "struct Solution { Solution(const fabricbench::Rank&) {} Side side() { return {}; } };\n" +
                             candidate_side(driven.interface);
  driven.sources.driver =
      includes + driver_side(driven.interface) +
      "template <class S> __global__ void use(S side) { side.touch(7); }\n"
      "template <class S> struct Driver {\n  Driver(const fabricbench::Rank& rank, const Args&) : s(rank) {}\n"
      "  void run(const Args&, cudaStream_t stream) { use<<<1, 1, 0, stream>>>(s.side()); }\n  S s;\n};\n"
      "#include <fabricbench/entry.h>\nFABRICBENCH_ENTRY(Driver<FabricbenchSolution>)\n";
  const auto built = build_candidate(driven);
  ASSERT_TRUE(built) << to_string(built.error(), "build");
  EXPECT_EQ(built->driver, scratch_.path() + "/driver.so");
  const std::string of_driver = read_file(scratch_.path() + "/driver.ptx");
  EXPECT_NE(of_driver.find(".extern .func fabricbench_Side_touch"), std::string::npos) << of_driver;
  const std::string of_candidate = read_file(scratch_.path() + "/candidate.ptx");
  EXPECT_NE(of_candidate.find(".visible .func fabricbench_Side_touch"), std::string::npos) << of_candidate;
  EXPECT_EQ(of_candidate.find(".entry"), std::string::npos) << of_candidate;
  const auto shown = run_command({"/usr/bin/nm", "-D", "--defined-only", built->path}, 10s).output;
  EXPECT_NE(shown.find("fabricbench_solution_call_side"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("fabricbench_run"), std::string::npos) << shown;

  const auto same = build_candidate(driven);
  ASSERT_TRUE(same && same->from_cache);
  EXPECT_EQ(same->driver, built->driver);
}

TEST_F(Build, InlinePtxThatIsNoneIsAnErrorWithItsLine) {
  const std::string said = errors_of(
      candidate("int good;\n__device__ void f(int* p) { asm volatile(\"st.relaese.sys.u32 [%0], 1;\" ::\"l\"(p)); }\n"
                "__global__ void g(int* p) { f(p); }"));
  EXPECT_NE(said.find("solution.cu:2: PTX: "), std::string::npos) << said;
}

TEST_F(Build, ComesFromTheCacheUnlessItChanged) {
  const std::string source = candidate("constexpr int kChanged = 0;");
  ASSERT_TRUE(build(candidate("constexpr int kChanged = 1;")));  // headers are compiled ahead
  const auto changed = build(source);
  ASSERT_TRUE(changed);
  EXPECT_FALSE(changed->from_cache);
  const auto same = build(source);
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->from_cache);
  RecordProperty("changed_ms", static_cast<int>(changed->seconds * 1000));

  BuildRequest other = request(source);
  other.args_header = std::string(kArgs) + "// changed\n";
  const auto rebuilt = build_candidate(other);
  ASSERT_TRUE(rebuilt);
  EXPECT_FALSE(rebuilt->from_cache);
}

TEST_F(Build, WorksWithoutASandboxWhereTheUserWantsIt) {
  BuildRequest plain = request(candidate("// no sandbox"));
  plain.sandbox = nullptr;
  const auto built = build_candidate(plain);
  EXPECT_TRUE(built) << to_string(built.error(), "build");
}

TEST_F(Build, SaysWhereTheSolutionIsWrong) {
  const std::string said = errors_of(candidate("int good;\nint bad = nothing;"));
  EXPECT_NE(said.find("solution.cu:2:11: use of undeclared identifier 'nothing'"), std::string::npos) << said;
  EXPECT_EQ(said.find("/tmp/"), std::string::npos) << said;
  const std::string host = errors_of(candidate("#ifndef __CUDA_ARCH__\nint bad = nothing;\n#endif"));
  EXPECT_NE(host.find("solution.cu:2:11: "), std::string::npos) << host;
  const std::string link = errors_of(candidate("int elsewhere();", "elsewhere();"));
  EXPECT_NE(link.find("undefined symbol: elsewhere()"), std::string::npos) << link;
  EXPECT_EQ(link.find("does not allow"), std::string::npos) << link;
  const std::string nccl = errors_of(candidate("#include <nccl.h>", "ncclGroupStart();"));
  EXPECT_NE(nccl.find("undefined symbol: ncclGroupStart (this problem does not allow the library nccl)"),
            std::string::npos)
      << nccl;
  const std::string open = errors_of(candidate("#if 1") + "#endif\n/*");
  EXPECT_NE(open.find("unterminated"), std::string::npos) << open;
  std::string many;
  for (int i = 0; i < 60; ++i) many += fmt::format("int x{} = nothing;\n", i);
  const auto built = build(candidate(many));
  ASSERT_FALSE(built);
  EXPECT_LE(built.error().list.size(), 21u);
}

TEST_F(Build, SaysThatTheEntryIsGone) {
  std::string source = candidate("");
  const size_t entry = source.find("#line 1 \"entry.cu\"");
  source.insert(entry, "#define FABRICBENCH_EXPORT static\n#if 0\n");
  source += "#endif\n";
  EXPECT_NE(errors_of(source).find("entry behind the solution was not compiled"), std::string::npos);
}

// Whatever names a file of the host finds nothing, and nothing of it is in the messages.
TEST_F(Build, SeesNoFileOfTheHost) {
  const std::string secret = shared_->path() + "/reference.h";
  write_file(secret, "THE_SECRET_ANSWER\n");
  ASSERT_EQ(chmod(secret.c_str(), 0644), 0);
  const std::string sdk = toolchain::locate()->sdk;
  const std::string relative = fs::path(secret).lexically_relative(sdk + "/include").string();
  const std::string beside = fs::path(secret).lexically_relative(scratch_.path() + "/source").string();
  const auto expect_nothing = [&](const std::string& body) {
    const std::string said = errors_of(candidate(body));
    for (const auto* leak : {"THE_SECRET", "root:", "PATH=", "[pack]"}) {
      EXPECT_EQ(said.find(leak), std::string::npos) << body << said;
    }
  };
  for (const std::string& path :
       {relative, beside, std::string("/proc/self/environ"), std::string(FB_SOURCE_DIR "/problems/pack.toml")}) {
    expect_nothing(fmt::format("#include \"{}\"", path));
    expect_nothing(fmt::format("#include <{}>", path));
  }
  for (const std::string& path : {secret, std::string("/etc/passwd")}) {
    expect_nothing(fmt::format("#include \"{}\"", path));
    expect_nothing(fmt::format("#define FILE \"{}\"\n#include FILE", path));
    expect_nothing(fmt::format("const unsigned char bytes[] = {{\n#embed \"{}\"\n}};", path));
    expect_nothing(fmt::format("asm(\".section .rodata\\n.incbin \\\"{}\\\"\\n.text\\n\");", path));
    expect_nothing(fmt::format("#if !__has_include(\"{}\")\n#error it is not there\n#endif", path));
  }
}

TEST_F(Build, FindsNoLibraryOfTheHost) {
  const std::string said = errors_of(candidate("#pragma comment(lib, \"/etc/passwd\")"));
  EXPECT_NE(said.find("/etc/passwd"), std::string::npos) << said;
  EXPECT_EQ(said.find("root:"), std::string::npos) << said;
}

TEST_F(Build, EndsWhatGrowsWithoutEnd) {
  BuildRequest limited = request(candidate(
      "template <int N, int M> struct T { static constexpr long v = T<N - 1, M * 2>::v + T<N - 1, M * 2 + 1>::v; };\n"
      "template <int M> struct T<0, M> { static constexpr long v = M; };\nlong x = T<28, 0>::v;"));
  limited.limits.time = 3s;
  auto built = build_candidate(limited);
  ASSERT_FALSE(built);
  EXPECT_NE(to_string(built.error(), "").find("stopped after 3 s of processor time"), std::string::npos)
      << to_string(built.error(), "");

  BuildRequest hungry = request(candidate("#include <utility>\nstd::make_integer_sequence<int, 30000000> sequence;"));
  hungry.limits.memory = 300u << 20;
  built = build_candidate(hungry);
  ASSERT_FALSE(built);
  EXPECT_NE(to_string(built.error(), "").find("more than 300 MiB of memory"), std::string::npos)
      << to_string(built.error(), "");

  BuildRequest large = request(candidate("char large[100 << 20] = {1};", "large[0] = 2;"));
  built = build_candidate(large);
  ASSERT_FALSE(built);
  EXPECT_NE(to_string(built.error(), "").find("larger than 64 MiB"), std::string::npos) << to_string(built.error(), "");
}

TEST_F(Build, SurvivesACompilerThatCrashes) {
  const std::string said = errors_of(candidate("#pragma clang __debug crash"));
  EXPECT_NE(said.find("the compiler crashed"), std::string::npos) << said;
}

TEST_F(Build, ThrowsWhereTheFaultIsOurs) {
  setenv("FABRICBENCH_CONFINE", "/nowhere", 1);
  EXPECT_THROW((void)build(candidate("// ours")), std::runtime_error);
  setenv("FABRICBENCH_CONFINE", FB_CONFINE, 1);
  BuildRequest broken = request(candidate("// ours, too"));
  const sandbox::SandboxSupport none{"/bin/false", false, true};
  broken.sandbox = &none;
  broken.use_cache = false;
  EXPECT_THROW((void)build_candidate(broken), std::runtime_error);
}

TEST_F(Build, MakesAnObjectForGpusWhereThereIsNvcc) {
  if (toolchain::find_program("/usr/local/cuda/bin/nvcc").empty()) GTEST_SKIP() << "no nvcc";
  const auto built = build_candidate_cuda(request(candidate("// nvcc")));
  ASSERT_TRUE(built) << to_string(built.error(), "build");
  const auto found = check_symbols(built->path, {});
  ASSERT_TRUE(found) << to_string(found.error(), "");
  EXPECT_TRUE(found->empty()) << (*found)[0].symbol;

  const auto wrong = build_candidate_cuda(request(candidate("int good;\nint bad = nothing;")));
  ASSERT_FALSE(wrong);
  EXPECT_NE(to_string(wrong.error(), "").find("solution.cu:2: "), std::string::npos) << to_string(wrong.error(), "");
  const auto hidden = build_candidate_cuda(request(candidate("#include \"/etc/passwd\"")));
  ASSERT_FALSE(hidden);
  EXPECT_EQ(to_string(hidden.error(), "").find("root:"), std::string::npos);
}

}  // namespace
}  // namespace fb::judge
