#include "common/sandbox/zygote_link.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>

namespace fb::sandbox {
namespace {

RankOrder whole() {
  return {.folder = "/tmp/run/cell",
          .files = {{"/tmp/a b.so", "/fabricbench/candidate.so"}, {"/tmp/driver.so", "/fabricbench/driver.so"}},
          .socket = {"/tmp/run/machine.sock.1", "/fabricbench/machine.sock"},
          .variables = {{"RANK", "1"}, {"EMPTY", ""}},
          .arguments = {"--candidate", "/fabricbench/candidate.so", ""},
          .tmp_bytes = ~uint64_t{0},
          .data_bytes = 1 << 30};
}

struct Ends {
  Ends() {
    std::array<int, 2> ends;
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    one.reset(ends[0]);
    other.reset(ends[1]);
  }
  UniqueFd one, other;
};

TEST(ZygoteLink, AnOrderArrivesAsItWas) {
  const auto got = order_from(to_bytes(whole()));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->folder, whole().folder);
  EXPECT_EQ(got->files, whole().files);
  EXPECT_EQ(got->socket, whole().socket);
  EXPECT_EQ(got->variables, whole().variables);
  EXPECT_EQ(got->arguments, whole().arguments);
  EXPECT_EQ(got->tmp_bytes, whole().tmp_bytes);
  EXPECT_EQ(got->data_bytes, whole().data_bytes);
}

TEST(ZygoteLink, WhatIsNoOrderIsRefused) {
  using namespace std::string_literals;
  for (const std::string& bytes :
       {"frobnicate\0"s, "folder\0/tmp"s, "file\0/tmp\0"s, "tmp\0many\0"s, "data\0-1\0"s, "data\0"s})
    EXPECT_FALSE(order_from(bytes)) << bytes;
  // Cut anywhere but between two parts.
  const std::string bytes = to_bytes(whole());
  EXPECT_FALSE(order_from(bytes.substr(0, bytes.size() - 1)));
}

TEST(ZygoteLink, MessagesKeepTheirBordersAndDescriptors) {
  Ends ends;
  const UniqueFd file(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const std::array<int, 2> descriptors = {file.get(), ends.other.get()};
  ASSERT_TRUE(send_message(ends.one.get(), "first", descriptors));
  ASSERT_TRUE(send_message(ends.one.get(), "second", {}));
  const auto first = receive_message(ends.other.get());
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bytes, "first");
  ASSERT_EQ(first->descriptors.size(), 2u);
  struct stat sent{}, got{};
  ASSERT_EQ(fstat(file.get(), &sent), 0);
  ASSERT_EQ(fstat(first->descriptors[0].get(), &got), 0);
  EXPECT_EQ(sent.st_rdev, got.st_rdev);
  EXPECT_NE(fcntl(first->descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  const auto second = receive_message(ends.other.get());
  ASSERT_TRUE(second);
  EXPECT_EQ(second->bytes, "second");
  EXPECT_TRUE(second->descriptors.empty());
}

TEST(ZygoteLink, TheEndAndWhatIsTooLongAreNoMessages) {
  Ends ends;
  EXPECT_FALSE(send_message(ends.one.get(), std::string(kMostMessage + 1, 'x'), {}));
  EXPECT_FALSE(send_message(ends.one.get(), "", {}));
  const std::array<int, kMostDescriptors + 1> many{};
  EXPECT_FALSE(send_message(ends.one.get(), "x", many));
  ends.one.reset();
  EXPECT_FALSE(receive_message(ends.other.get()));
  EXPECT_FALSE(send_message(ends.other.get(), "x", {}));
}

}  // namespace
}  // namespace fb::sandbox
