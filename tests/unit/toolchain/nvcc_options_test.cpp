// nvcc's command line: the ways in which options and values are written, and what they mean here.

#include "toolchain/driver/nvcc_options.h"

#include <gtest/gtest.h>

#include <set>

#include "common/base/strings.h"
#include "common/base/temp_dir.h"

namespace fb::toolchain {
namespace {

using Words = std::vector<std::string>;

NvccCommand parsed(const Words& words) {
  auto command = parse_nvcc_words(words);
  EXPECT_TRUE(command) << to_string(command.error(), "");
  return command ? std::move(*command) : NvccCommand();
}
std::string problem(const Words& words) {
  const auto command = parse_nvcc_words(words);
  return command ? "" : command.error().list[0].message;
}

TEST(NvccOptions, EachNameStandsInOneRow) {
  std::set<std::string_view> names;
  for (const NvccOption& option : nvcc_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_TRUE(option.brief.empty() || names.insert(option.brief).second) << option.brief;
    EXPECT_FALSE(option.effect.empty()) << option.name;
  }
  EXPECT_GT(nvcc_options().size(), 130u);
}

TEST(NvccOptions, ValuesFollowOrAreJoined) {
  for (const Words& words : {Words{"-o", "x"}, Words{"-o=x"}, Words{"--output-file", "x"}, Words{"--output-file=x"}})
    EXPECT_EQ(parsed(words).output, "x");
  for (const Words& words :
       {Words{"-Ia", "-Ib"}, Words{"-I", "a", "-I=b"}, Words{"-Ia,b"}, Words{"--include-path=a,b"}})
    EXPECT_EQ(parsed(words).build.include_dirs, (Words{"a", "b"}));
  EXPECT_EQ(parsed({"-isystem=/x", "-include", "y.h"}).build.compile_flags,
            (Words{"-isystem", "/x", "-include", "y.h"}));
  EXPECT_EQ(problem({"a.cu", "-o"}), "-o: a value must follow");
}

TEST(NvccOptions, LongWordsAreNotTakenForGluedValues) {
  EXPECT_TRUE(parsed({"-lineinfo", "-link", "-lto"}).build.libraries.empty());
  EXPECT_EQ(parsed({"-lm", "-l", "x,y", "-lcudart", "-lcuda"}).build.libraries, (Words{"m", "x", "y"}));
  EXPECT_EQ(parsed({"-maxrregcount=64", "-m64", "-O3"}).build.optimisation, 3);
  EXPECT_EQ(parsed({"-maxrregcount=64"}).build.max_registers, 64U);
  EXPECT_EQ(parsed({"-odir", "out", "-optf=x", "-ofoo.o", "-forward-unknown-opts"}).output_dir, "out");
}

TEST(NvccOptions, PhasesAndRelocatableCode) {
  EXPECT_EQ(parsed({"a.cu"}).phase, NvccPhase::link);
  EXPECT_EQ(parsed({"-c", "a.cu"}).phase, NvccPhase::compile);
  EXPECT_FALSE(parsed({"-c", "a.cu"}).build.relocatable);
  EXPECT_TRUE(parsed({"-dc", "a.cu"}).build.relocatable);
  EXPECT_TRUE(parsed({"-c", "-rdc=true", "a.cu"}).build.relocatable);
  EXPECT_TRUE(parsed({"--relocatable-device-code", "true", "a.cu"}).build.relocatable);
  EXPECT_EQ(parsed({"-MM", "-dc", "a.cu"}).phase, NvccPhase::dependencies);
  EXPECT_EQ(parsed({"-c", "-M", "a.cu"}).phase, NvccPhase::dependencies);
  EXPECT_EQ(parsed({"-dlink", "a.o"}).phase, NvccPhase::device_link);
  EXPECT_EQ(parsed({"--lib", "a.o"}).phase, NvccPhase::library);
  EXPECT_TRUE(parsed({"-shared", "a.o"}).build.shared);
  EXPECT_TRUE(problem({"-cubin", "a.cu"}).starts_with("-cubin: the virtual GPUs run PTX"));
}

TEST(NvccOptions, ArchitecturesAreThoseThatTheMachineKnows) {
  const auto arch = [](const Words& words) { return parsed(words).build.gpu_arch; };
  EXPECT_EQ(arch({}), "");
  EXPECT_EQ(arch({"-arch=sm_70"}), "sm_90");
  EXPECT_EQ(arch({"-arch", "compute_90a"}), "sm_90a");
  EXPECT_EQ(arch({"-arch=native"}), "");
  EXPECT_EQ(arch({"-arch=sm_101"}), "sm_100");
  EXPECT_EQ(arch({"-arch=sm_120"}), "sm_103");
  EXPECT_EQ(arch({"--generate-code=arch=compute_90,code=[compute_90,sm_90]"}), "sm_90");
  EXPECT_EQ(arch({"-gencode", "arch=compute_80,code=sm_80", "-gencode=arch=compute_100a,code=sm_100a"}), "sm_100a");
  EXPECT_EQ(arch({"-gencode=arch=compute_90,code=sm_90", "-gencode=arch=compute_120,code=sm_120"}), "sm_90");
  EXPECT_EQ(arch({"-arch=sm_103a"}), "sm_103a");
  EXPECT_NE(problem({"-arch=sm_fast"}).find("sm_fast is no architecture"), std::string::npos);
}

TEST(NvccOptions, OtherToolsOptionsAreSplit) {
  EXPECT_EQ(parsed({"-Xcompiler=-fPIC,-O1", "-Xcompiler", "-Wall -g"}).build.extra_flags,
            (Words{"-fPIC", "-O1", "-Wall", "-g"}));
  EXPECT_EQ(parsed({"-Xcompiler", "-DX=1\\,2"}).build.extra_flags, (Words{"-DX=1,2"}));
  EXPECT_EQ(parsed({"-Xlinker=-rpath,/x"}).build.link_flags, (Words{"-Wl,-rpath", "-Wl,/x"}));
  EXPECT_TRUE(parsed({"-Xptxas", "-v,-O3", "-Xfatbin=-compress-all", "a.cu"}).build.extra_flags.empty());
}

TEST(NvccOptions, UnknownOnesAreNamedOrForwarded) {
  EXPECT_TRUE(problem({"-frobnicate"}).starts_with("-frobnicate: unknown option"));
  EXPECT_EQ(parsed({"-fopenmp", "-forward-unknown-to-host-compiler"}).build.extra_flags, Words{"-fopenmp"});
  EXPECT_EQ(parsed({"-forward-unknown-to-host-linker", "-rdynamic"}).build.link_flags, Words{"-rdynamic"});
  EXPECT_EQ(parsed({"--default-stream=per-thread"}).build.defines, Words{"CUDA_API_PER_THREAD_DEFAULT_STREAM=1"});
  EXPECT_NE(problem({"--default-stream=other"}), "");
  EXPECT_NE(problem({"--ftz=maybe"}), "");
  EXPECT_NE(problem({"-maxrregcount=many"}), "");
  EXPECT_EQ(problem({"--device-compiler=gcc"}), "--device-compiler=gcc: gcc is not one of clang, nvcc");
  EXPECT_EQ(parsed({"--device-compiler", "nvcc"}).build.device_compiler, DeviceCompiler::nvcc);
  EXPECT_TRUE(parsed({"-use_fast_math"}).build.arithmetic.fast_functions);
  EXPECT_FALSE(parsed({"-fmad=false"}).build.arithmetic.contract);
  EXPECT_NE(problem({"-x", "fortran", "a.f"}), "");
}

TEST(NvccOptions, LanguagesDecideWhatAFileIs) {
  EXPECT_FALSE(check_files(parsed({"a.txt"}).build));
  EXPECT_TRUE(check_files(parsed({"-x", "cu", "a.txt"}).build));
  EXPECT_TRUE(check_files(parsed({"a.c", "b.so.1", "c.a"}).build));
}

TEST(NvccOptions, FilesAndVariablesHoldOptions) {
  const TempDir folder;
  write_file(folder.path() + "/inner", "-D 'A=b c' -I\"with space\"\n  -O3");
  write_file(folder.path() + "/outer", "@" + folder.path() + "/inner x\\ y.cu");
  const auto words = expand_words({"--options-file", folder.path() + "/outer", "z.cu"}, "-G", "-g");
  ASSERT_TRUE(words);
  EXPECT_EQ(*words, (Words{"-G", "-D", "A=b c", "-Iwith space", "-O3", "x y.cu", "z.cu", "-g"}));
  write_file(folder.path() + "/loop", "@" + folder.path() + "/loop");
  EXPECT_FALSE(expand_words({"@" + folder.path() + "/loop"}, "", ""));
  EXPECT_FALSE(expand_words({"@/nonexistent"}, "", ""));
}

}  // namespace
}  // namespace fb::toolchain
