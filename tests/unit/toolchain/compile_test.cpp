#include "toolchain/compile/compile.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "toolchain/compile/compile_both.h"

namespace fb::toolchain {
namespace {

class Compile : public testing::Test {
 protected:
  Result<std::string> compile(std::string_view source, DeviceCompile request = {}) {
    request.source = scratch_.path() + "/kernel.cu";
    write_file(request.source, source);
    return compile_to_ptx(request);
  }

  bool ptx_of_source(std::string_view source) {
    const std::string file = scratch_.path() + "/kernel.cu";
    write_file(file, source);
    return ptx_of({.source = file}).has_value();
  }

  TempDir scratch_;
};

TEST_F(Compile, GivesPtxForAKernel) {
  const auto ptx =
      compile("extern \"C\" __global__ void fill(int* out) { out[threadIdx.x] = VALUE; }", {.defines = {"VALUE=7"}});
  ASSERT_TRUE(ptx) << to_string(ptx.error(), "kernel.cu");
  EXPECT_NE(ptx->find(".entry fill("), std::string::npos);
  EXPECT_NE(ptx->find("%tid.x"), std::string::npos);
  EXPECT_NE(ptx->find(".target sm_90"), std::string::npos);
}

TEST_F(Compile, CallsMathFunctionsByTheirCName) {
  const auto ptx = compile("__global__ void k(float* x) { *x = std::exp(*x); }");
  ASSERT_TRUE(ptx) << to_string(ptx.error(), "kernel.cu");
  EXPECT_NE(ptx->find(".extern .func  (.param .b32 func_retval0) expf"), std::string::npos);
}

TEST_F(Compile, SaysWhereTheSourceIsWrong) {
  const auto ptx = compile("__global__ void k(int* out) {\n  *out = nothing;\n}\n");
  ASSERT_FALSE(ptx);
  EXPECT_EQ(ptx.error().list[0].at, (Location{2, 10}));
  EXPECT_EQ(ptx.error().list[0].message, "use of undeclared identifier 'nothing'");
}

TEST_F(Compile, CarriesClusterDimensionsIntoThePtx) {
  const auto ptx = compile(
      "__global__ void __cluster_dims__(4, 2, 1) a(int* o) { *o = 1; }\n"
      "template <int N> __global__ void __cluster_dims__(N) b(int* o) { *o = N; }\n"
      "template __global__ void b<8>(int*);\n"
      "__global__ void c(int* o) { *o = 1; }\n");
  ASSERT_TRUE(ptx) << to_string(ptx.error(), "kernel.cu");
  EXPECT_NE(ptx->find(".reqnctapercluster 4, 2, 1"), std::string::npos);
  EXPECT_NE(ptx->find(".reqnctapercluster 8, 1, 1"), std::string::npos);
  EXPECT_EQ(ptx->find(".entry _Z1aPi\n"), std::string::npos) << "the declaration is taken out";
  EXPECT_LT(ptx->rfind(".reqnctapercluster"), ptx->find(".entry _Z1cPi"));
}

TEST_F(Compile, CopiesVectorsWithVectorAccesses) {
  const auto count = [](const std::string& text, std::string_view what) {
    size_t found = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  const auto ptx = compile(
      "__global__ void copy(const int4* from, int4* to) { to[threadIdx.x] = from[threadIdx.x]; }\n"
      "__global__ void change(const float4* from, float4* to) { float4 v = *from; v.x += 1; *to = v; }\n"
      "__global__ void pair(const float2* from, float2* to) { float2 v = *from; v.y += 1; *to = v; }\n"
      "__global__ void shared(const uint4* from, uint4* to) {\n"
      "  __shared__ uint4 tile[32];\n"
      "  tile[threadIdx.x] = from[threadIdx.x];\n"
      "  __syncthreads();\n"
      "  to[threadIdx.x] = tile[31 - threadIdx.x];\n"
      "}\n");
  ASSERT_TRUE(ptx) << to_string(ptx.error(), "kernel.cu");
  EXPECT_EQ(count(*ptx, "ld.global.v4."), 3u) << *ptx;
  EXPECT_EQ(count(*ptx, "st.global.v4."), 3u) << *ptx;
  EXPECT_EQ(count(*ptx, "ld.shared.v4."), 1u) << *ptx;
  EXPECT_EQ(count(*ptx, "st.shared.v4."), 1u) << *ptx;
  EXPECT_EQ(count(*ptx, "ld.global.v2."), 1u) << *ptx;
  EXPECT_EQ(count(*ptx, ".local"), 0u) << *ptx;
}

TEST_F(Compile, ContractsUnlessToldOtherwise) {
  constexpr std::string_view kSource = "__global__ void k(float* x, float y) { *x = *x * y + 1; }";
  const auto usual = compile(kSource), apart = compile(kSource, {.arithmetic = {.contract = false}});
  ASSERT_TRUE(usual && apart);
  EXPECT_NE(usual->find("fma.rn.f32"), std::string::npos) << *usual;
  EXPECT_EQ(apart->find("fma.rn.f32"), std::string::npos) << *apart;
}

// Loads and stores of each width in shared memory, as nvcc 13.4 makes them.
TEST_F(Compile, AccessesThroughCastsAreAsWideAsTheCast) {
  const auto accesses = [&](std::string_view body) {
    const auto ptx = compile(std::string("struct __attribute__((packed)) Odd { int a; short b; int c; };\n"
                                         "struct Four { int a, b, c, d; };\n"
                                         "__global__ void k(uint4* to, int n) {\n"
                                         "  extern __shared__ char s[];\n  extern __shared__ float f[];\n  ") +
                             std::string(body) + "\n}\n");
    EXPECT_TRUE(ptx) << to_string(ptx.error(), "kernel.cu");
    std::vector<std::string> found;
    for (const auto line : split(ptx ? *ptx : "", '\n')) {
      for (const std::string_view word : {"ld.", "st."}) {
        const size_t at = line.find(word);
        const auto opcode = at == std::string_view::npos ? "" : line.substr(at, line.find_first_of(" \t", at) - at);
        if (opcode.find(".shared") != std::string_view::npos) found.emplace_back(opcode);
      }
    }
    return found;
  };
  using Accesses = std::vector<std::string>;
  EXPECT_EQ(accesses("to[n] = *reinterpret_cast<uint4*>(&s[16 * n]);"), Accesses{"ld.shared.v4.u32"});
  EXPECT_EQ(accesses("to[n] = (uint4&)s[16 * n];"), Accesses{"ld.shared.v4.u32"});
  EXPECT_EQ(accesses("to[n] = reinterpret_cast<const uint4&>(s[16 * n]);"), Accesses{"ld.shared.v4.u32"});
  EXPECT_EQ(accesses("*(uint4*)&s[16 * n] = to[n];"), Accesses{"st.shared.v4.u32"});
  EXPECT_EQ(accesses("float v[4]; *(float4*)v = *(float4*)&f[4 * n]; to[n].x = v[0] + v[1] + v[2] + v[3];"),
            Accesses{"ld.shared.v4.f32"});
  EXPECT_EQ(accesses("to[n].x = *(volatile int*)&s[4 * n];"), Accesses{"ld.volatile.shared.u32"});
  EXPECT_EQ(accesses("Four four = *(Four*)&s[16 * n]; to[n].x = four.a + four.b + four.c + four.d;").size(), 4u);
  // What is packed is read in pieces, through a cast or not.
  for (const std::string& access : accesses("Odd* odd = (Odd*)&s[n]; to[n].x = odd->c;"))
    EXPECT_TRUE(access.ends_with("8")) << access;
}

TEST_F(Compile, CastsOfWhatTakesNoPlusStayAsTheyAre) {
  EXPECT_TRUE(compile("struct Either { operator int*() const; operator float*() const; };\n"
                      "__global__ void k(Either e) { *(int*)e = 1; }\n")
                  .error()
                  .list[0]
                  .message.find("ambiguous") != std::string::npos);
  EXPECT_TRUE(
      ptx_of_source("struct Either { int* p; __device__ operator int*() const { return p; }\n"
                    "  __device__ operator float*() const { return nullptr; } };\n"
                    "__global__ void k(Either e) { *(int*)e = 1; }\n"));
}

TEST_F(Compile, ArithmeticIsWhatTheOptionsSay) {
  constexpr std::string_view kSource =
      "__global__ void k(float* x, float y) { x[0] = x[0] / y; x[1] = sqrtf(x[1]); x[2] = sinf(x[2]); }";
  const auto exact = compile(kSource);
  const auto fast = compile(
      kSource, {.arithmetic = {
                    .flush_subnormals = true, .exact_division = false, .exact_roots = false, .fast_functions = true}});
  ASSERT_TRUE(exact && fast);
  for (const char* opcode : {"div.rn.f32", "sqrt.rn.f32", "sinf"})
    EXPECT_NE(exact->find(opcode), std::string::npos) << *exact;
  for (const char* opcode : {"div.full.ftz.f32", "sqrt.approx.ftz.f32", "sin.approx.ftz.f32"})
    EXPECT_NE(fast->find(opcode), std::string::npos) << *fast;
  EXPECT_NE(compile(kSource, {.max_registers = 40})->find(".maxnreg 40"), std::string::npos);
}

// As nvcc does it: what the option for the host's side says changes nothing.
TEST_F(Compile, DeviceCodeIsAlwaysOptimised) {
  constexpr std::string_view kSource =
      "__global__ void k(int* x) { int s = 0; for (int i = 0; i < 4; ++i) s += i; *x = s; }";
  EXPECT_EQ(*compile(kSource, {.optimisation = 0}), *compile(kSource, {.optimisation = 3}));
}

TEST_F(Compile, NamesFilesAsTheUserDidWhereverThatIs) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(scratch_.path());
  write_file("k.cu", "__global__ void k(int* o) { *o = 1; }\n");
  const auto ptx = compile_to_ptx({.source = "k.cu"});
  std::filesystem::current_path(before);
  ASSERT_TRUE(ptx) << to_string(ptx.error(), "k.cu");
  EXPECT_NE(ptx->find(".file\t1 \"k.cu\""), std::string::npos) << *ptx;
  EXPECT_EQ(ptx->find(scratch_.path()), std::string::npos) << *ptx;
}

TEST_F(Compile, NamesAMissingCompiler) {
  setenv("FABRICBENCH_CLANG", "no-such-clang", 1);
  const auto ptx = compile("");
  unsetenv("FABRICBENCH_CLANG");
  ASSERT_FALSE(ptx);
  EXPECT_EQ(ptx.error().list[0].message, "FABRICBENCH_CLANG names no program: no-such-clang");
}

TEST_F(Compile, NamesAMissingSdk) {
  setenv("FABRICBENCH_SDK", "/nowhere", 1);
  const auto ptx = compile("");
  unsetenv("FABRICBENCH_SDK");
  ASSERT_FALSE(ptx);
  EXPECT_EQ(ptx.error().list[0].message, "FABRICBENCH_SDK names no SDK: /nowhere/include/cuda_runtime.h is missing");
}

}  // namespace
}  // namespace fb::toolchain
