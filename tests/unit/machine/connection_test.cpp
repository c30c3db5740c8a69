// The machine's end of a socket, against whatever the other end does.

#include "virtual_node/machine/server/connection.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace fb::machine {
namespace {

using wire::Frame;
using wire::Kind;
using wire::Status;

size_t open_descriptors() {
  size_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    other = wire::Channel(UniqueFd(pair[0]));
    connection.emplace(1, UniqueFd(pair[1]));
    connection->thread = &thread;  // as after hello
  }

  static Frame frame_of(Kind kind, uint32_t blob = 0) {
    Frame f;
    f.kind = kind;
    f.body = wire::request_bytes(kind);
    f.blob = blob;
    return f;
  }
  void write(const void* bytes, size_t n) { ASSERT_EQ(::send(other.fd(), bytes, n, 0), static_cast<ssize_t>(n)); }

  HostThread thread;
  wire::Channel other;
  std::optional<Connection> connection;
};

TEST_F(ConnectionTest, AMessageThatComesByteByByteIsWholeAtItsLast) {
  const Frame frame = frame_of(Kind::function_find, 5);
  wire::FunctionFind m;
  m.module = 77;
  std::vector<char> bytes(sizeof frame + sizeof m + 5, 'x');
  std::memcpy(bytes.data(), &frame, sizeof frame);
  std::memcpy(bytes.data() + sizeof frame, &m, sizeof m);
  for (int again = 0; again < 2; ++again) {
    for (size_t k = 0; k < bytes.size(); ++k) {
      EXPECT_FALSE(connection->read());
      write(&bytes[k], 1);
    }
    ASSERT_TRUE(connection->read());
    const wire::Received got = connection->take();
    EXPECT_EQ(got.frame.kind, Kind::function_find);
    ASSERT_EQ(got.body.size(), sizeof m);
    EXPECT_EQ(std::memcmp(got.body.data(), &m, sizeof m), 0);
    EXPECT_EQ(got.blob.size(), 5u);
  }
}

TEST_F(ConnectionTest, ALargeBlobArrivesAsItWasSent) {
  const Frame frame = frame_of(Kind::module_load, wire::kLargestBlob);
  std::vector<std::byte> blob(wire::kLargestBlob);
  for (size_t k = 0; k < blob.size(); ++k) blob[k] = static_cast<std::byte>(k * 7);
  const wire::ModuleLoad m;
  write(&frame, sizeof frame);
  write(&m, sizeof m);
  for (size_t at = 0; at < blob.size();) {
    at += static_cast<size_t>(::send(other.fd(), blob.data() + at, std::min<size_t>(50'000, blob.size() - at), 0));
    EXPECT_EQ(connection->read(), at == blob.size());
  }
  EXPECT_EQ(connection->take().blob, blob);
}

TEST_F(ConnectionTest, WhatIsNoMessageEndsIt) {
  const auto ends = [](Frame frame, bool known) {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const UniqueFd far(pair[0]);
    Connection c(1, UniqueFd(pair[1]));
    HostThread someone;
    if (known) c.thread = &someone;
    EXPECT_EQ(::send(far.get(), &frame, sizeof frame, 0), static_cast<ssize_t>(sizeof frame));
    EXPECT_FALSE(c.read());
    return c.gone() && !c.fault().empty();
  };
  Frame frame = frame_of(Kind::launch);
  EXPECT_FALSE(ends(frame, true));
  frame.body += 4;
  EXPECT_TRUE(ends(frame, true));
  frame = frame_of(Kind::launch, wire::kLargestBlob + 1);
  EXPECT_TRUE(ends(frame, true));
  frame = frame_of(Kind::output);
  EXPECT_TRUE(ends(frame, true));
  frame = frame_of(Kind::launch);
  frame.descriptors = 2;
  EXPECT_TRUE(ends(frame, true));
  frame = frame_of(Kind::launch);
  frame.kind = static_cast<Kind>(60'000);
  EXPECT_TRUE(ends(frame, true));
  // Before hello no large message is accepted.
  EXPECT_TRUE(ends(frame_of(Kind::module_load, 1000), false));
  EXPECT_FALSE(ends(frame_of(Kind::hello), false));
}

TEST_F(ConnectionTest, DescriptorsThatNobodyAskedForAreClosed) {
  const size_t before = open_descriptors();
  const Frame frame = frame_of(Kind::callback_next);
  const wire::CallbackNext m;
  std::vector<std::byte> bytes(sizeof frame + sizeof m);
  std::memcpy(bytes.data(), &frame, sizeof frame);
  std::memcpy(bytes.data() + sizeof frame, &m, sizeof m);
  for (int k = 0; k < 100; ++k) {
    for (const std::byte b : bytes) {
      iovec part{const_cast<std::byte*>(&b), 1};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      int fds[20];
      std::ranges::fill(fds, 2);
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof fds);
      std::memcpy(CMSG_DATA(header), fds, sizeof fds);
      ASSERT_EQ(sendmsg(other.fd(), &message, 0), 1);
      connection->read();
      ASSERT_LE(open_descriptors(), before + 1);
    }
    ASSERT_TRUE(connection->has_message());
    connection->take();
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ConnectionTest, ADescriptorBehindMuchOutputArrivesWithItsAnswer) {
  const std::string text(3 << 20, 'x');
  connection->send_output(text);
  ASSERT_TRUE(connection->wants_to_write());
  Answer answer;
  answer.body.resize(sizeof(wire::Address));
  answer.owned.reset(dup(2));
  connection->send(answer, Kind::allocate);
  EXPECT_FALSE(connection->gone()) << connection->fault();
  size_t printed = 0;
  wire::Received got;
  std::thread reader([&] {
    while (other.receive(got) && got.frame.kind == Kind::output) printed += got.blob.size();
  });
  while (connection->wants_to_write() && !connection->gone()) connection->flush();
  reader.join();
  EXPECT_EQ(printed, text.size());
  EXPECT_EQ(got.frame.kind, Kind::allocate);
  EXPECT_EQ(got.frame.descriptors, 1);
  EXPECT_TRUE(got.descriptor);
}

TEST_F(ConnectionTest, WhoDoesNotReadItsAnswersIsDropped) {
  Answer answer;
  answer.blob.resize(wire::kLargestBlob);
  int sent = 0;
  while (!connection->gone() && ++sent < 100) connection->send(answer, Kind::copy);
  EXPECT_LE(sent, 3);
  EXPECT_FALSE(connection->fault().empty());
  EXPECT_FALSE(connection->wants_to_write());
}

}  // namespace
}  // namespace fb::machine
