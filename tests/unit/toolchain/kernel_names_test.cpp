#include "toolchain/device/kernel_names.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/process.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "toolchain/compile/locate.h"
#include "toolchain/device/object_file.h"

namespace fb::toolchain {
namespace {

TEST(KernelNames, OfLaunchFunctions) {
  EXPECT_EQ(kernel_of_stub("_Z18__device_stub__addPf"), "_Z3addPf");
  EXPECT_EQ(kernel_of_stub("_ZN2ns26__device_stub__ring_kernelIfEEvT_"), "_ZN2ns11ring_kernelIfEEvT_");
  EXPECT_EQ(kernel_of_stub("__device_stub__plain"), "plain");
  EXPECT_EQ(kernel_of_stub("_Z3addPf"), "");
  EXPECT_EQ(kernel_of_stub("_Z3x__device_stub__"), "");
  EXPECT_EQ(kernel_of_stub("_Z15__device_stub__"), "");
}

TEST(KernelNames, AreSymbolsOfTheObject) {
  const TempDir folder;
  const std::string source = folder.path() + "/stubs.c", object = folder.path() + "/stubs.o";
  write_file(source,
             "int __device_stub__one(void) { return 1; }\n"
             "__attribute__((weak)) int _Z18__device_stub__twov(void) { return 2; }\n"
             "static int __device_stub__own(void) { return 3; }\n"
             "int far(void);\n"
             "int all(void) { return __device_stub__own() + far(); }\n");
  const auto where = locate();
  ASSERT_TRUE(where);
  const auto compiled = run_command({where->compiler, "-x", "c", "-c", "-o", object, source}, std::chrono::seconds(60));
  ASSERT_TRUE(compiled.succeeded()) << compiled.output;
  const std::string named = with_kernel_names(read_file(object));
  write_file(object, named);
  EXPECT_EQ(with_kernel_names(named), named);
  const auto read = read_objects(object);
  ASSERT_TRUE(read && read->size() == 1);
  const auto defines = [&](const char* name) {
    return std::ranges::find(read->front().defines, name) != read->front().defines.end();
  };
  EXPECT_TRUE(defines("one") && defines("_Z3twov") && defines("all"));
  EXPECT_FALSE(defines("own"));
  EXPECT_EQ(read->front().needs, std::vector<std::string>{"far"});
}

}  // namespace
}  // namespace fb::toolchain
