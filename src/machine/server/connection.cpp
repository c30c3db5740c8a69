#include "machine/server/connection.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <utility>

namespace fb::machine {
namespace {

constexpr size_t kMostUnsent = 256 << 20;

}  // namespace

bool Connection::read() {
  using wire::Frame;
  while (!gone_ && !complete_) {
    Frame& frame = incoming_.frame;
    std::span<std::byte> into;
    const size_t head = sizeof frame;
    if (got_ < head) {
      into = std::span(reinterpret_cast<std::byte*>(&frame), head).subspan(got_);
    } else if (got_ < head + frame.body) {
      into = std::span(incoming_.body).subspan(got_ - head);
    } else {
      into = std::span(incoming_.blob).subspan(got_ - head - frame.body);
    }
    const long got = wire::receive_some(fd(), into, &incoming_.descriptor, false);
    if (got < 0) {
      gone_ = true;
      return false;
    }
    if (got == 0) return false;
    got_ += static_cast<size_t>(got);
    if (got_ == head) {
      // The first thing that is believed: how much more will come.
      if (wire::request_bytes(frame.kind) == 0 || frame.body != wire::request_bytes(frame.kind) ||
          frame.blob > wire::kLargestBlob || frame.descriptors > 1 || frame.status != wire::Status::ok) {
        fail(fmt::format("sent {} bytes that are no message", head));
        return false;
      }
      incoming_.body.resize(frame.body);
      incoming_.blob.resize(frame.blob);
    }
    complete_ = got_ >= head && got_ == head + frame.body + frame.blob;
  }
  return complete_;
}

wire::Received Connection::take() {
  complete_ = false;
  got_ = 0;
  return std::exchange(incoming_, {});
}

void Connection::fail(std::string why) {
  gone_ = true;
  fault_ = std::move(why);
}

void Connection::append(const wire::Frame& frame, std::span<const std::byte> body, std::span<const std::byte> blob,
                        int descriptor) {
  if (gone_) return;
  std::vector<std::byte> bytes(sizeof frame);
  std::copy_n(reinterpret_cast<const std::byte*>(&frame), sizeof frame, bytes.begin());
  bytes.insert(bytes.end(), body.begin(), body.end());
  bytes.insert(bytes.end(), blob.begin(), blob.end());
  if (!wants_to_write()) {
    unsent_.clear();
    sent_ = 0;
    const long sent = wire::send_some(fd(), bytes, descriptor, false);
    if (sent < 0) {
      gone_ = true;
      return;
    }
    if (sent == 0 && descriptor >= 0) return fail("does not read its answers");
    unsent_.assign(bytes.begin() + sent, bytes.end());
    return;
  }
  // A descriptor travels with the first byte of its frame; behind a backlog that would be the wrong one.
  if (descriptor >= 0 || unsent_.size() + bytes.size() > kMostUnsent) return fail("does not read its answers");
  unsent_.insert(unsent_.end(), bytes.begin(), bytes.end());
}

void Connection::send(const Answer& answer, wire::Kind kind) {
  wire::Frame frame;
  frame.kind = kind;
  frame.body = static_cast<uint32_t>(answer.body.size());
  frame.blob = static_cast<uint32_t>(answer.blob.size());
  frame.status = answer.status;
  const int descriptor = answer.owned ? answer.owned.get() : answer.descriptor;
  frame.descriptors = descriptor >= 0 ? 1 : 0;
  append(frame, answer.body, answer.blob, descriptor);
}

void Connection::send_output(std::string_view text) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, wire::kLargestBlob);
    wire::Frame frame;
    frame.kind = wire::Kind::output;
    frame.blob = static_cast<uint32_t>(part.size());
    append(frame, {}, std::as_bytes(std::span(part)), -1);
    text.remove_prefix(part.size());
  }
}

void Connection::flush() {
  if (gone_ || !wants_to_write()) return;
  const long sent = wire::send_some(fd(), std::span(unsent_).subspan(sent_), -1, false);
  if (sent < 0) {
    gone_ = true;
    return;
  }
  sent_ += static_cast<size_t>(sent);
}

bool Connection::unread() const {
  int bytes = 0;
  return wants_to_write() || (ioctl(fd(), SIOCOUTQ, &bytes) == 0 && bytes > 0);
}

}  // namespace fb::machine
