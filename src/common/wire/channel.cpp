#include "common/wire/channel.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fb::wire {
namespace {

bool send_all(int socket, std::span<const std::byte> bytes, int descriptor) {
  while (!bytes.empty()) {
    const long sent = send_some(socket, bytes, descriptor, true);
    if (sent <= 0) return false;
    descriptor = -1;
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return true;
}

bool receive_all(int socket, std::span<std::byte> into, UniqueFd* descriptor) {
  while (!into.empty()) {
    const long got = receive_some(socket, into, descriptor, true);
    if (got <= 0) return false;
    into = into.subspan(static_cast<size_t>(got));
  }
  return true;
}

}  // namespace

long send_some(int socket, std::span<const std::byte> bytes, int descriptor, bool block) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  while (true) {
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | (block ? 0 : MSG_DONTWAIT));
    if (sent >= 0) return sent;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
  }
}

long receive_some(int socket, std::span<std::byte> into, UniqueFd* descriptor, bool block) {
  iovec part{into.data(), into.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // Room for more descriptors than are taken: the surplus arrives here and is closed, not left open by the kernel.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)];
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  while (true) {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (block ? 0 : MSG_DONTWAIT));
    if (got > 0) break;
    if (got < 0 && errno == EINTR) continue;
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : -1;
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t k = 0; k < count; ++k) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + k * sizeof fd, sizeof fd);
      UniqueFd owned(fd);
      if (descriptor && !*descriptor) *descriptor = std::move(owned);
    }
  }
  return got;
}

Channel Channel::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return {};
  std::ranges::copy(path, address.sun_path);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINTR) return {};
  }
  return Channel(std::move(socket));
}

bool Channel::send(const Frame& frame, const void* body, std::span<const std::byte> blob, int descriptor) {
  // Small messages, which are nearly all, go out in one piece.
  std::byte buffer[1024];
  const size_t head = sizeof frame + frame.body;
  const auto* body_bytes = static_cast<const std::byte*>(body);
  if (head + blob.size() <= sizeof buffer) {
    std::memcpy(buffer, &frame, sizeof frame);
    std::copy_n(body_bytes, frame.body, buffer + sizeof frame);
    std::ranges::copy(blob, buffer + head);
    return send_all(fd(), {buffer, head + blob.size()}, descriptor);
  }
  return send_all(fd(), {reinterpret_cast<const std::byte*>(&frame), sizeof frame}, descriptor) &&
         send_all(fd(), {body_bytes, frame.body}, -1) && send_all(fd(), blob, -1);
}

bool Channel::receive(Received& message) {
  message.descriptor.reset();
  if (!receive_all(fd(), {reinterpret_cast<std::byte*>(&message.frame), sizeof message.frame}, &message.descriptor))
    return false;
  message.body.resize(message.frame.body);
  message.blob.resize(message.frame.blob);
  return receive_all(fd(), message.body, &message.descriptor) && receive_all(fd(), message.blob, &message.descriptor);
}

Status Channel::call(Kind kind, const void* request, size_t request_bytes, void* reply, size_t reply_bytes,
                     std::span<const std::byte> blob, std::vector<std::byte>* reply_blob, int descriptor,
                     UniqueFd* reply_descriptor) {
  if (!socket_) return Status::unknown;
  Frame frame;
  frame.kind = kind;
  frame.descriptors = descriptor >= 0 ? 1 : 0;
  frame.body = static_cast<uint32_t>(request_bytes);
  frame.blob = static_cast<uint32_t>(blob.size());
  Received received;
  if (!send(frame, request, blob, descriptor)) {
    close();
    return Status::unknown;
  }
  while (true) {
    if (!receive(received)) {
      close();
      return Status::unknown;
    }
    if (received.frame.kind != Kind::output) break;
    if (print) print({reinterpret_cast<const char*>(received.blob.data()), received.blob.size()});
  }
  if (reply && received.body.size() == reply_bytes) std::memcpy(reply, received.body.data(), reply_bytes);
  if (reply_blob) *reply_blob = std::move(received.blob);
  if (reply_descriptor) *reply_descriptor = std::move(received.descriptor);
  return received.frame.status;
}

}  // namespace fb::wire
