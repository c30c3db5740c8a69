#include "launcher/line_forwarder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "common/base/process.h"

namespace fb::launcher {
namespace {

// What has been written since.
std::string read_pipe(Pipe& pipe) {
  std::array<char, 4096> buffer;
  if (write(pipe.writer.get(), "$", 1) != 1) return "";
  std::string text;
  while (!text.ends_with('$')) {
    const ssize_t got = read(pipe.reader.get(), buffer.data(), buffer.size());
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  text.pop_back();
  return text;
}

TEST(LineForwarder, WritesWholeLinesOnly) {
  Pipe pipe = make_pipe();
  LineForwarder lines(pipe.writer.get(), "[rank 1] ", true);
  lines.take("one\ntw");
  EXPECT_EQ(read_pipe(pipe), "[rank 1] one\n");
  lines.take("o\n\nthree");
  EXPECT_EQ(read_pipe(pipe), "[rank 1] two\n[rank 1] \n");
  lines.finish();
  EXPECT_EQ(read_pipe(pipe), "[rank 1] three\n");
  lines.finish();
  EXPECT_EQ(read_pipe(pipe), "");
}

TEST(LineForwarder, HoldsNothingWhereNobodyElseWrites) {
  Pipe pipe = make_pipe();
  LineForwarder lines(pipe.writer.get(), "", false);
  lines.take("50 %...");
  EXPECT_EQ(read_pipe(pipe), "50 %...");
}

TEST(LineForwarder, TranslatesTheTagsOfMpirun) {
  Pipe pipe = make_pipe();
  LineForwarder lines(pipe.writer.get(), "", true, true);
  lines.take("[1,12]<stdout>:hello <x>: y\n[other] text\n");
  EXPECT_EQ(read_pipe(pipe), "[rank 12] hello <x>: y\n[other] text\n");
}

}  // namespace
}  // namespace fb::launcher
