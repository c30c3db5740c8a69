#include "virtual_node/machine/server/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace fb::machine {
namespace {

// Output of kernels between two answers, and an answer.
constexpr size_t kMostUnsent = 40 << 20;
// The buffer grows by this much as bytes arrive, so that a large size in the header alone costs nothing.
constexpr size_t kGrowth = 64 << 10;

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
      const size_t got = got_ - head - frame.body;
      if (incoming_.blob.size() == got) incoming_.blob.resize(std::min<size_t>(frame.blob, got + kGrowth));
      into = std::span(incoming_.blob).subspan(got);
    }
    const long got = wire::receive_some(fd(), into, &incoming_.descriptor, false);
    if (got < 0) {
      gone_ = true;
      return false;
    }
    if (got == 0) return false;
    got_ += static_cast<size_t>(got);
    if (got_ == head) {
      // Check the sizes before relying on them.
      if (wire::request_bytes(frame.kind) == 0 || frame.body != wire::request_bytes(frame.kind) ||
          frame.blob > (thread ? wire::kLargestBlob : 0) || frame.descriptors > 1 || frame.status != wire::Status::ok) {
        fail(fmt::format("sent {} bytes that are no message", head));
        return false;
      }
      incoming_.body.resize(frame.body);
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

// Also wakes a thread that polls the socket.
void Connection::fail(std::string why) {
  gone_ = true;
  fault_ = std::move(why);
  unsent_.clear();
  unsent_bytes_ = 0;
  shutdown(fd(), SHUT_RDWR);
}

void Connection::append(const wire::Frame& frame, std::span<const std::byte> body, std::span<const std::byte> blob,
                        int descriptor) {
  if (gone_) return;
  Parcel parcel;
  parcel.bytes.resize(sizeof frame);
  std::copy_n(reinterpret_cast<const std::byte*>(&frame), sizeof frame, parcel.bytes.begin());
  parcel.bytes.insert(parcel.bytes.end(), body.begin(), body.end());
  parcel.bytes.insert(parcel.bytes.end(), blob.begin(), blob.end());
  if (descriptor >= 0) {
    parcel.descriptor.reset(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (!parcel.descriptor) return fail("could not be sent a descriptor");
  }
  unsent_bytes_ += parcel.bytes.size();
  unsent_.push_back(std::move(parcel));
  flush();
  if (unsent_bytes_ > kMostUnsent) fail("does not read its answers");
}

void Connection::send(const Answer& answer, wire::Kind kind) {
  // A thread reads its answer before it sends the next request.
  if (!gone_ && std::ranges::any_of(unsent_, &Parcel::is_answer)) return fail("does not read its answers");
  wire::Frame frame;
  frame.kind = kind;
  frame.body = static_cast<uint32_t>(answer.body.size());
  frame.blob = static_cast<uint32_t>(answer.blob.size());
  frame.status = answer.status;
  const int descriptor = answer.owned ? answer.owned.get() : answer.descriptor;
  frame.descriptors = descriptor >= 0 ? 1 : 0;
  append(frame, answer.body, answer.blob, descriptor);
  if (!unsent_.empty()) unsent_.back().is_answer = true;
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
  while (!gone_ && !unsent_.empty()) {
    Parcel& parcel = unsent_.front();
    // A descriptor travels with the first byte.
    const int descriptor = parcel.sent == 0 ? parcel.descriptor.get() : -1;
    const long sent = wire::send_some(fd(), std::span(parcel.bytes).subspan(parcel.sent), descriptor, false);
    if (sent < 0) gone_ = true;
    if (sent <= 0) return;
    parcel.sent += static_cast<size_t>(sent);
    unsent_bytes_ -= static_cast<size_t>(sent);
    if (parcel.sent == parcel.bytes.size()) unsent_.pop_front();
  }
}

bool Connection::unread() const {
  int bytes = 0;
  return wants_to_write() || (ioctl(fd(), SIOCOUTQ, &bytes) == 0 && bytes > 0);
}

}  // namespace fb::machine
