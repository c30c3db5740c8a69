// The host's clock as programs under --virtual-clock read it: the virtual time of the calling thread. Candidates in a
// judged run have no use for it, and might tell by it which calls are timed.

#include <algorithm>

#include "virtual_node/machine/requests/handlers.h"

namespace fb::machine {

using wire::Status;

namespace {

constexpr Time kNanosecond = 1000;
// What a reading takes on a host. A loop that only reads the clock waits for time to pass: behind kManyReadings in a
// row each one takes a little longer than the last, so that a wait of seconds ends.
constexpr Time kReading = 25 * kNanosecond, kLongestReading = 1'000'000 * kNanosecond;
constexpr uint32_t kManyReadings = 1000, kDoubledAfter = 100;

Time price_of_reading(uint32_t readings) {
  if (readings <= kManyReadings) return kReading;
  const uint32_t doublings = std::min((readings - kManyReadings) / kDoubledAfter, 20u);
  return std::min(kReading << doublings, kLongestReading);
}

}  // namespace

// With 1 in the request it is the processor's cycle counter. Programs find out its rate by waiting for a clock between
// two readings of it, hundreds of times: the waits begin anew with each, and are short in messages.
Status on_host_time(NodeServices& node, Call& call, const wire::Empty& m, wire::HostTime& reply, Answer&) {
  if (node.judge) return Status::not_permitted;
  HostThread& thread = *call.thread;
  if (m.zero == 1) {
    constexpr uint32_t kShortWait = kManyReadings + 6 * kDoubledAfter;
    thread.clock_readings = thread.clock_readings == 0 ? 0 : kShortWait;
    thread.spend(kReading);
  } else {
    thread.spend(price_of_reading(++thread.clock_readings));
  }
  reply.nanoseconds = thread.now / kNanosecond;
  return Status::ok;
}

Status on_host_sleep(NodeServices& node, Call& call, const wire::HostSleep& m, wire::HostTime&, Answer&) {
  if (node.judge) return Status::not_permitted;
  // Time stands still, and a rank may wait for this one before it comes: the caller sleeps on the host.
  if (!node.everybody_came) return Status::not_ready;
  constexpr uint64_t kLongest = uint64_t{1000} * 3600 * 1'000'000'000;  // a thousand hours
  HostThread& thread = *call.thread;
  const Time until = thread.now + std::min(m.nanoseconds, kLongest) * kNanosecond;
  node.engine.schedule(until, thread.tie, [&node, self = thread.shared_from_this(), until] {
    if (self->gone) return;
    Answer answer;
    answer.set_body(wire::HostTime{until / kNanosecond});
    node.threads.answer_at(*self, until, std::move(answer));
  });
  return kLater;
}

}  // namespace fb::machine
