#include "common/sandbox/zygote_link.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace fb::sandbox {
namespace {

constexpr char kEnd = '\0';  // of a word

void add(std::string& bytes, std::string_view word) { (bytes += word) += kEnd; }

bool read_number(std::string_view text, uint64_t& value) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && end == text.data() + text.size();
}

// Takes words from the front.
class WordReader {
 public:
  explicit WordReader(std::string_view bytes) : left_(bytes) {}
  bool any() const { return !left_.empty(); }
  bool whole() const { return whole_; }
  std::string take() {
    const size_t end = left_.find(kEnd);
    if (end == std::string_view::npos) {
      whole_ = false;
      left_ = {};
      return {};
    }
    std::string word(left_.substr(0, end));
    left_.remove_prefix(end + 1);
    return word;
  }

 private:
  std::string_view left_;
  bool whole_ = true;
};

}  // namespace

// Each part is its name and its words.
std::string to_bytes(const RankOrder& order) {
  std::string bytes;
  const auto part = [&](std::string_view name, std::initializer_list<std::string_view> words) {
    add(bytes, name);
    for (const std::string_view word : words) add(bytes, word);
  };
  part("folder", {order.folder});
  for (const auto& [from, to] : order.files) part("file", {from, to});
  part("socket", {order.socket.first, order.socket.second});
  for (const auto& [name, value] : order.variables) part("variable", {name, value});
  for (const std::string& argument : order.arguments) part("argument", {argument});
  part("tmp", {std::to_string(order.tmp_bytes)});
  part("data", {std::to_string(order.data_bytes)});
  return bytes;
}

std::optional<RankOrder> order_from(std::string_view bytes) {
  RankOrder order;
  WordReader words(bytes);
  const auto pair = [&] {
    std::string first = words.take();
    return std::pair(std::move(first), words.take());
  };
  bool known = true;
  while (known && words.any()) {
    const std::string part = words.take();
    if (part == "folder") {
      order.folder = words.take();
    } else if (part == "file") {
      order.files.push_back(pair());
    } else if (part == "socket") {
      order.socket = pair();
    } else if (part == "variable") {
      order.variables.push_back(pair());
    } else if (part == "argument") {
      order.arguments.push_back(words.take());
    } else if (part == "tmp") {
      known = read_number(words.take(), order.tmp_bytes);
    } else if (part == "data") {
      known = read_number(words.take(), order.data_bytes);
    } else {
      known = false;
    }
  }
  if (!known || !words.whole()) return std::nullopt;
  return order;
}

bool send_message(int socket, std::string_view bytes, std::span<const int> descriptors) {
  if (bytes.empty() || bytes.size() > kMostMessage || descriptors.size() > kMostDescriptors) return false;
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  while ((sent = sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) continue;
  return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<Message> receive_message(int socket) {
  Message received;
  const auto bytes = std::make_unique_for_overwrite<char[]>(kMostMessage);
  iovec part{bytes.get(), kMostMessage};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  while ((got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
  if (got <= 0) return std::nullopt;
  received.bytes.assign(bytes.get(), static_cast<size_t>(got));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t k = 0; k < count; ++k) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + k * sizeof(int), sizeof descriptor);
      received.descriptors.emplace_back(descriptor);
    }
  }
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return std::nullopt;
  return received;
}

}  // namespace fb::sandbox
