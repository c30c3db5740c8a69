// Objects and static libraries, whole and damaged.

#include "toolchain/device/object_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/process.h"
#include "common/base/strings.h"
#include "common/base/temp_dir.h"
#include "toolchain/compile/locate.h"
#include "toolchain/device/relocatable.h"

namespace fb::toolchain {
namespace {

class ObjectFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void make_object(const std::string& name, const std::string& source) const {
    write_file(path("source.c"), source);
    const auto where = locate();
    ASSERT_TRUE(where);
    const auto run =
        run_command({where->compiler, "-x", "c", "-c", "-o", path(name), path("source.c")}, std::chrono::seconds(60));
    ASSERT_TRUE(run.succeeded()) << run.output;
  }
  TempDir folder_;
};

constexpr const char* kWithCode =
    "extern void __cudaRegisterLinkedBinary__nv_12ab(void);\n"
    "__attribute__((section(\"__nv_relfatbin\"))) const char code[] = \".version 8.5\\n.target sm_90\\n\";\n"
    "void f(void) { __cudaRegisterLinkedBinary__nv_12ab(); }\n";

TEST_F(ObjectFiles, SymbolsAndDeviceCode) {
  make_object("a.o", kWithCode);
  const auto read = read_objects(path("a.o"));
  ASSERT_TRUE(read && read->size() == 1);
  EXPECT_EQ(read->front().module_id, "_nv_12ab");
  EXPECT_TRUE(read->front().device_code.starts_with(".version"));
  EXPECT_NE(std::ranges::find(read->front().defines, "f"), read->front().defines.end());
}

TEST_F(ObjectFiles, LibrariesHaveMembersWithLongNames) {
  make_object("a.o", kWithCode);
  make_object("a_name_of_more_than_sixteen_letters.o", "int g(void) { return 1; }\n");
  for (const char* kind : {"rcs", "rcsT"}) {
    const std::string library = path(std::string(kind) + ".a");
    const auto run =
        run_command({find_program("ar"), kind, library, path("a.o"), path("a_name_of_more_than_sixteen_letters.o")},
                    std::chrono::seconds(60));
    ASSERT_TRUE(run.succeeded()) << run.output;
    const auto read = read_objects(library);
    ASSERT_TRUE(read) << to_string(read.error(), "");
    ASSERT_EQ(read->size(), 2u) << kind;
    EXPECT_EQ((*read)[0].module_id, "_nv_12ab");
    EXPECT_TRUE((*read)[1].name.ends_with("a_name_of_more_than_sixteen_letters.o)")) << (*read)[1].name;
  }
}

TEST_F(ObjectFiles, DamagedFilesAreErrorsOrNothing) {
  make_object("a.o", kWithCode);
  const std::string whole = read_file(path("a.o"));
  for (size_t size = 0; size < whole.size(); size += 7) {
    write_file(path("cut.o"), whole.substr(0, size));
    (void)read_objects(path("cut.o"));
  }
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string bent = whole;
    bent[at] = '\xff';
    write_file(path("bent.o"), bent);
    (void)read_objects(path("bent.o"));
  }
  write_file(path("cut.a"), "!<arch>\nnonsense that is no header, but long enough to be read as one, 60 bytes");
  EXPECT_FALSE(read_objects(path("cut.a")));
  write_file(path("text.o"), "INPUT(libx.so)\n");
  EXPECT_TRUE(read_objects(path("text.o"))->empty());
}

TEST(Relocatable, ModuleIdsAreReplacedInPlace) {
  const std::string object = "..__fatbinwrap__nv_69b5ae3244daf4a\0__cudaRegisterLinkedBinary__nv_69b5ae3244daf4a..";
  const std::string other = with_unique_module_id(object, "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(other.size(), object.size());
  EXPECT_NE(other.find("__fatbinwrap__nv_0123456789abcde"), std::string::npos) << other;
  EXPECT_EQ(with_unique_module_id("nothing", "01"), "nothing");
}

TEST(Relocatable, StaticNamesHaveOneSpelling) {
  EXPECT_EQ(with_suffixed_names("\n.extern .global .align 4 .u32 _ZL1x;\n.visible .global .u32 _ZL1x__static__ab = 4;\n"
                                "ld.global.u32 %r1, [_ZL1x];\nld.global.u32 %r1, [_ZL1xy];\n"),
            "\n.extern .global .align 4 .u32 _ZL1x__static__ab;\n.visible .global .u32 _ZL1x__static__ab = 4;\n"
            "ld.global.u32 %r1, [_ZL1x__static__ab];\nld.global.u32 %r1, [_ZL1xy];\n");
}

TEST(Relocatable, ListOfUsesIsLeftOut) {
  EXPECT_EQ(without_list_of_uses(".version 8.5\n.global .align 8 .u64 __clang_gpu_used_external[1] = {_Z1kILi3EEvv};\n"
                                 ".weak .entry _Z1kILi3EEvv() { ret; }\n"),
            ".version 8.5\n\n.weak .entry _Z1kILi3EEvv() { ret; }\n");
  EXPECT_EQ(without_list_of_uses("// __clang_gpu_used_external;\n"), "// __clang_gpu_used_external;\n");
}

}  // namespace
}  // namespace fb::toolchain
