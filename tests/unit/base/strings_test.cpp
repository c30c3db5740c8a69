#include "common/base/strings.h"

#include <gtest/gtest.h>

#include "common/base/process.h"
#include "common/base/result.h"
#include "common/base/temp_dir.h"

namespace fb {
namespace {

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(Strings, TrimRemovesBlanksAtBothEnds) {
  EXPECT_EQ(trim(" \t a b \n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Strings, ReadingAMissingFileNamesIt) {
  try {
    read_file("/nowhere/at/all");
    FAIL() << "did not throw";
  } catch (const std::system_error& e) {
    EXPECT_NE(std::string(e.what()).find("/nowhere/at/all"), std::string::npos);
  }
}

TEST(Strings, FilesAreReadWhole) {
  const TempDir folder;
  const std::string path = folder.path() + "/file";
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{4097}, size_t{3'000'000}}) {
    std::string content(size, '\0');
    for (size_t k = 0; k < size; ++k) content[k] = static_cast<char>(k * 31 >> 3);
    write_file(path, content);
    EXPECT_EQ(read_file(path), content) << size;
  }
}

TEST(Strings, FilesThatDoNotSayTheirLengthAreReadWhole) {
  EXPECT_TRUE(read_file("/proc/self/status").starts_with("Name:"));
  Pipe pipe = make_pipe();
  const std::string text(50'000, 'x');
  ASSERT_EQ(write(pipe.writer.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  pipe.writer.reset();
  EXPECT_EQ(read_file("/dev/fd/" + std::to_string(pipe.reader.get())), text);
}

TEST(Strings, AFolderIsNoFile) { EXPECT_THROW(read_file("/tmp"), std::system_error); }

TEST(Strings, TheFirstLineHasNoBlanksAround) {
  EXPECT_EQ(first_line("\n  one \r\ntwo\n"), "one");
  EXPECT_EQ(first_line("one"), "one");
  EXPECT_EQ(first_line(" \n"), "");
}

TEST(Errors, FitIntoOneLine) {
  Errors errors("one\n");
  errors.list.push_back({{3, 4}, "two\nlines"});
  EXPECT_EQ(in_one_line(errors), "one; 3:4: two lines");
}

TEST(Errors, PrintLocationsOnlyWhereTheyAreKnown) {
  Errors errors("whole file");
  errors.list.push_back({{3, 7}, "here"});
  EXPECT_EQ(to_string(errors, "x.ptx"), "x.ptx: whole file\nx.ptx:3:7: here\n");
}

}  // namespace
}  // namespace fb
