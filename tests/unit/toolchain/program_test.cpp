// Sources to executables. A runtime library of a few lines stands for ours: it shows what the program carries.

#include "toolchain/driver/program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>

#include "common/base/process.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "toolchain/compile/locate.h"

namespace fb::toolchain {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// Prints the registered PTX up to its NUL, and the names of kernels that are launched.
constexpr std::string_view kRuntime = R"(
#include <cstdio>
#include <cstring>
struct Wrapper { int magic, version; const char* text; void* unused; };
struct Dim { unsigned x, y, z; };
static const char* kernel;
extern "C" {
void** __cudaRegisterFatBinary(Wrapper* w) { std::printf("[%x] %s", w->magic, w->text); return nullptr; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const void*, char*, const char* name, int, void*, void*, void*, void*, void*) { kernel = name; }
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
unsigned __cudaPushCallConfiguration(Dim, Dim, size_t, void*) { return 0; }
int __cudaPopCallConfiguration(Dim*, Dim*, size_t*, void*) { return 0; }
int cudaLaunchKernel(const void*, Dim, Dim, void**, size_t, void*) { std::printf("launch %s\n", kernel); return 0; }
int cudaDeviceSynchronize() { return 0; }
}
)";

class Program : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = new TempDir;
    write_file(shared_->path() + "/runtime.cpp", kRuntime);
    fs::create_directory(shared_->path() + "/lib");
    const auto run = run_command({locate()->compiler, "-shared", "-fPIC", "-o", shared_->path() + "/lib/libcudart.so",
                                  shared_->path() + "/runtime.cpp"},
                                 60s);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    fs::create_symlink("libcudart.so", shared_->path() + "/lib/libcuda.so");
    setenv("FABRICBENCH_LIB", (shared_->path() + "/lib").c_str(), 1);
    setenv("FABRICBENCH_CACHE", (shared_->path() + "/cache").c_str(), 1);
  }
  static void TearDownTestSuite() {
    unsetenv("FABRICBENCH_LIB");
    unsetenv("FABRICBENCH_CACHE");
    delete shared_;
  }

  std::string file(const std::string& name, std::string_view text) const {
    write_file(scratch_.path() + "/" + name, text);
    return scratch_.path() + "/" + name;
  }
  std::string output() const { return scratch_.path() + "/program"; }
  Result<BuiltProgram> build(ProgramBuild request) const { return build_program(request, output()); }
  std::string run() const {
    const auto finished = run_command({output()}, 10s);
    EXPECT_EQ(finished.exit_code, 0);
    return finished.output;
  }
  static std::string cache() { return shared_->path() + "/cache"; }

  static inline TempDir* shared_ = nullptr;
  TempDir scratch_;
};

std::string text_of(const Result<BuiltProgram>& built) { return built ? "" : to_string(built.error(), "build"); }

TEST_F(Program, CarriesItsPtxAndLaunches) {
  const auto source = file("a.cu", "__global__ void k(int* p) { *p = 1; }\nint main() { k<<<1, 1>>>(nullptr); }\n");
  const auto built = build({.sources = {source}});
  ASSERT_TRUE(built) << text_of(built);
  const std::string said = run();
  EXPECT_TRUE(said.starts_with("[466243b1] ")) << said;
  EXPECT_NE(said.find(".entry _Z1kPi("), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with("launch _Z1kPi\n")) << said.substr(said.size() - 100);
  EXPECT_EQ(said.find('\0'), std::string::npos);
}

TEST_F(Program, IsMadeOfSeveralSourcesAndObjects) {
  const auto a = file("a.cu",
                      "#include \"n.h\"\n__global__ void k() {}\nint from_cpp();\nint from_object();\n"
                      "int main() { return from_cpp() + from_object() + N - 7; }\n");
  file("n.h", "#define N 4\n");
  const auto b = file("b.cpp", "#include <cuda_runtime.h>\nint from_cpp() { dim3 d(2); return d.x - VALUE; }\n");
  const auto c = file("c.cc", "int from_object() { return 1; }\n");
  const std::string object = scratch_.path() + "/c.o";
  ASSERT_EQ(run_command({locate()->compiler, "-c", "-o", object, c}, 60s).exit_code, 0);
  const auto built = build({.sources = {a, b, object}, .defines = {"VALUE=0"}});
  ASSERT_TRUE(built) << text_of(built);
  run();
}

TEST_F(Program, ComesFromTheCacheTheSecondTime) {
  file("n.h", "#define N 1\n");
  const auto source =
      file("a.cu", "#include \"n.h\"\n#include <cstdio>\nint main() { std::printf(\"N=%d\\n\", N); }\n");
  const ProgramBuild request{.sources = {source}};
  ASSERT_TRUE(build(request));
  auto again = build(request);
  ASSERT_TRUE(again) << text_of(again);
  EXPECT_TRUE(again->from_cache);
  EXPECT_NE(run().find("N=1"), std::string::npos);

  file("n.h", "#define N 2\n");
  again = build(request);
  ASSERT_TRUE(again) << text_of(again);
  EXPECT_FALSE(again->from_cache) << "a header has changed";
  EXPECT_NE(run().find("N=2"), std::string::npos);

  again = build({.sources = {source}, .defines = {"UNUSED"}});
  ASSERT_TRUE(again) << text_of(again);
  EXPECT_FALSE(again->from_cache) << "a flag has changed";
  again = build({.sources = {source}, .use_cache = false});
  ASSERT_TRUE(again) << text_of(again);
  EXPECT_FALSE(again->from_cache);
}

TEST_F(Program, IsBuiltAgainWhereTheCacheIsDamaged) {
  const auto source = file("a.cu", "__global__ void damaged() {}\nint main() { damaged<<<1, 1>>>(); }\n");
  const ProgramBuild request{.sources = {source}};
  ASSERT_TRUE(build(request));
  // Precompiled headers as well.
  for (const auto& entry : fs::directory_iterator(cache())) {
    std::string bytes = read_file(entry.path().string());
    if (entry.path().extension() == ".h" || bytes.empty()) continue;
    bytes[bytes.size() / 2] ^= 0x55;
    write_file(entry.path().string(), bytes);
  }
  const auto again = build(request);
  ASSERT_TRUE(again) << text_of(again);
  EXPECT_FALSE(again->from_cache);
  EXPECT_NE(run().find("launch"), std::string::npos);
  const auto third = build(request);
  ASSERT_TRUE(third);
  EXPECT_TRUE(third->from_cache);
}

TEST_F(Program, IsBuiltWhereTheCacheCannotBeWritten) {
  setenv("FABRICBENCH_CACHE", "/proc/nowhere", 1);
  const auto built = build({.sources = {file("a.cu", "int main() {}\n")}});
  setenv("FABRICBENCH_CACHE", cache().c_str(), 1);
  EXPECT_TRUE(built) << text_of(built);
}

TEST_F(Program, MissesAnIncludeThatTheUserForgot) {
  ASSERT_TRUE(build({.sources = {file("a.cu", "#include <map>\nstd::map<int, int> m;\nint main() {}\n")}}));
  EXPECT_FALSE(build({.sources = {file("a.cu", "std::map<int, int> m;\nint main() {}\n")}}));
}

TEST_F(Program, IsBuiltWhereAHeaderIsNotThere) {
  // What looks like a standard header can't be compiled ahead; the source decides whether it matters.
  const auto built = build({.sources = {file("a.cu", "#if 0\n#include <nosuchheader>\n#endif\nint main() {}\n")}});
  EXPECT_TRUE(built) << text_of(built);
}

TEST_F(Program, AcceptsSpecialRegistersAsNvccDoes) {
  file("lane.h",
       "#pragma once\n__device__ inline unsigned lane() {\n  unsigned l;\n"
       "  asm volatile(\"mov.u32 %0, %laneid;\" : \"=r\"(l));\n  return l;\n}\n");
  const auto source = file("a.cu",
                           "#include \"lane.h\"\n__global__ void k(unsigned* p) {\n  unsigned s;\n"
                           "  asm(\"mov.u32 %0, %smid;\" : \"=r\"(s));\n  *p = s + lane();\n}\nint main() {}\n");
  const auto built = build({.sources = {source}});
  ASSERT_TRUE(built) << text_of(built);
  const std::string ptx = run();
  EXPECT_NE(ptx.find(", %laneid;"), std::string::npos);
  EXPECT_NE(ptx.find(", %smid;"), std::string::npos);
  EXPECT_NE(ptx.find("/lane.h\""), std::string::npos) << "line tables name the user's files: " << ptx;
  EXPECT_EQ(ptx.find("changed_"), std::string::npos) << ptx;
}

TEST_F(Program, SaysWhereASourceIsWrong) {
  const auto source = file("a.cu", "__global__ void k() {\n  nothing();\n}\nint main() {}\n");
  auto built = build({.sources = {source}});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().list[0].message, source + ":2:3: use of undeclared identifier 'nothing'");

  // In a header that clang reads in another form, and on the host side alone.
  file("h.h",
       "__device__ inline unsigned l() {\n  unsigned x;\n  asm(\"mov.u32 %0, %laneid;\" : \"=r\"(x));\n  return "
       "y;\n}\n");
  built = build({.sources = {file("b.cu", "#include \"h.h\"\nint main() {}\n")}});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().list[0].message, scratch_.path() + "/h.h:4:10: use of undeclared identifier 'y'");
  const auto host = file("c.cu", "#ifndef __CUDA_ARCH__\nint x = nowhere;\n#endif\nint main() {}\n");
  built = build({.sources = {host}});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().list[0].message, host + ":2:9: use of undeclared identifier 'nowhere'");
}

TEST_F(Program, SaysWhatIsMissing) {
  auto built = build({.sources = {scratch_.path() + "/none.cu"}});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().list[0].message, scratch_.path() + "/none.cu: No such file or directory");
  built = build({.sources = {file("a.cu", "void elsewhere();\nint main() { elsewhere(); }\n")}});
  ASSERT_FALSE(built);
  EXPECT_NE(built.error().list[0].message.find("undefined symbol: elsewhere()"), std::string::npos);
  EXPECT_FALSE(build({}));
  setenv("FABRICBENCH_LIB", "/nowhere", 1);
  built = build({.sources = {file("a.cu", "int main() {}\n")}});
  setenv("FABRICBENCH_LIB", (shared_->path() + "/lib").c_str(), 1);
  ASSERT_FALSE(built);
  EXPECT_NE(built.error().list[0].message.find("FABRICBENCH_LIB"), std::string::npos);
}

TEST_F(Program, RefusesManagedVariablesByName) {
  const auto source = file("a.cu", "__managed__ int x;\n__global__ void k() { x = 1; }\nint main() {}\n");
  // As the judge compiles.
  const auto built = build({.sources = {source}, .defines = {"__FABRICBENCH_JUDGED__"}});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().list[0].message,
            source + ":1:1: __managed__ variables are not supported; allocate with cudaMallocManaged");
}

TEST(CompilerWords, AreReadAsNvccReadsThem) {
  const auto build = parse_compiler_words({"-Iinc", "-I", "more", "-DA=1", "-D", "B", "-O3", "-std=c++20", "a.cu",
                                           "-lm", "-lcuda", "-l", "cudart", "-L/x", "-arch=sm_90a", "--extended-lambda",
                                           "-Xcompiler", "-fopenmp,-Wall", "b.o"});
  ASSERT_TRUE(build) << to_string(build.error(), "");
  EXPECT_EQ(build->include_dirs, (std::vector<std::string>{"inc", "more"}));
  EXPECT_EQ(build->defines, (std::vector<std::string>{"A=1", "B"}));
  EXPECT_EQ(build->libraries, std::vector<std::string>{"m"});
  EXPECT_EQ(build->library_dirs, std::vector<std::string>{"/x"});
  EXPECT_EQ(build->extra_flags, (std::vector<std::string>{"-fopenmp", "-Wall"}));
  EXPECT_EQ(build->sources, (std::vector<std::string>{"a.cu", "b.o"}));
  EXPECT_EQ(build->optimisation, 3);
  EXPECT_EQ(build->standard, "c++20");
  EXPECT_EQ(build->gpu_arch, "sm_90a");
}

TEST(CompilerWords, ThatAreUnknownAreNamed) {
  const auto message = [](std::vector<std::string> words) {
    const auto build = parse_compiler_words(words);
    return build ? "" : build.error().list[0].message;
  };
  EXPECT_TRUE(message({"--frobnicate", "a.cu"}).starts_with("--frobnicate: unknown option"));
  EXPECT_TRUE(message({"a.txt"}).starts_with("a.txt: not a source file"));
  EXPECT_EQ(message({"a.cu", "-I"}), "-I: a value must follow");
  EXPECT_TRUE(message({"-std=c++98"}).starts_with("-std=c++98: not supported"));
  EXPECT_TRUE(message({"-std=c99"}).starts_with("-std=c99: not supported"));
  EXPECT_TRUE(message({"-c", "a.cu"}).starts_with("exec makes a program"));
  EXPECT_EQ(message({"-rdc=maybe", "a.cu"}), "-rdc=maybe: expected true or false");
}

}  // namespace
}  // namespace fb::toolchain
