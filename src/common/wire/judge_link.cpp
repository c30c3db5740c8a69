#include "common/wire/judge_link.h"

#include <sys/socket.h>

#include <cstring>

namespace fb::wire {
namespace {

JudgeLink::Answered<void> answered(Status status) {
  if (status != Status::ok) return std::unexpected(status);
  return {};
}

}  // namespace

void JudgeLink::interrupt() {
  if (channel_) ::shutdown(channel_.fd(), SHUT_RDWR);
}

JudgeLink::Answered<void> JudgeLink::begin(int arena, uint64_t bytes) {
  return answered(channel_.call<Kind::judge_begin>({bytes}, nullptr, {}, nullptr, arena));
}

JudgeLink::Answered<uint64_t> JudgeLink::make_tensor(uint32_t rank, uint64_t bytes, int32_t device) {
  Address reply;
  if (const Status s = channel_.call<Kind::judge_tensor>({rank, device, bytes}, &reply); s != Status::ok)
    return std::unexpected(s);
  return reply.address;
}

JudgeLink::Answered<void> JudgeLink::release(uint32_t rank, uint64_t address) {
  return answered(channel_.call<Kind::judge_free>({rank, 0, address}));
}

JudgeLink::Answered<StepResult> JudgeLink::construct(std::span<const uint64_t> words, const StepOrder& order) {
  return step(StepKind::construct, 1, 0, order, std::as_bytes(words));
}

JudgeLink::Answered<StepResult> JudgeLink::run(std::span<const Transfer> transfers, uint32_t calls, uint32_t first_call,
                                               const StepOrder& order) {
  return step(StepKind::run, calls, first_call, order, std::as_bytes(transfers));
}

JudgeLink::Answered<StepResult> JudgeLink::destroy(const StepOrder& order) {
  return step(StepKind::destroy, 1, 0, order, {});
}

JudgeLink::Answered<void> JudgeLink::leave() {
  if (auto left = step(StepKind::leave, 1, 0, {}, {}); !left) return std::unexpected(left.error());
  return {};
}

JudgeLink::Answered<StepResult> JudgeLink::step(StepKind kind, uint32_t calls, uint32_t first_call,
                                                const StepOrder& order, std::span<const std::byte> blob) {
  if (blob.size() > kLargestBlob) return std::unexpected(Status::invalid_value);
  JudgeStep request;
  request.kind = kind;
  request.calls = calls;
  request.first_call = first_call;
  request.ranks = ranks_;
  request.order = order;
  JudgeStepDone done;
  std::vector<std::byte> figures;
  if (const Status s = channel_.call<Kind::judge_step>(request, &done, blob, &figures); s != Status::ok)
    return std::unexpected(s);
  StepResult result{done.begin, done.drained, done.faults, done.late_requests, calls, done.shares, {}, {}, {}};
  if (kind == StepKind::leave) return result;
  result.times.resize(size_t{ranks_} * calls);
  result.traffic.resize(done.devices);
  result.words.resize(done.words);
  const size_t times = result.times.size() * sizeof(CallTimes), traffic = done.devices * sizeof(DeviceTraffic),
               words = done.words * sizeof(uint32_t);
  if (figures.size() != times + traffic + words) return std::unexpected(Status::unknown);
  std::memcpy(result.times.data(), figures.data(), times);
  std::memcpy(result.traffic.data(), figures.data() + times, traffic);
  if (words != 0) std::memcpy(result.words.data(), figures.data() + times + traffic, words);
  return result;
}

}  // namespace fb::wire
