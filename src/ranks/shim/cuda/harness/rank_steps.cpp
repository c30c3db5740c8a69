#include "ranks/shim/cuda/harness/rank_steps.h"

#include <algorithm>
#include <cstring>

#include "ranks/shim/cuda/core/export.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/streams/stream.h"

namespace shim = fb::shim;
namespace wire = fb::wire;

namespace {

static_assert(FABRICBENCH_STEP_CONSTRUCT == static_cast<uint32_t>(wire::StepKind::construct));
static_assert(FABRICBENCH_STEP_RUN == static_cast<uint32_t>(wire::StepKind::run));
static_assert(FABRICBENCH_STEP_DESTROY == static_cast<uint32_t>(wire::StepKind::destroy));
static_assert(FABRICBENCH_STEP_LEAVE == static_cast<uint32_t>(wire::StepKind::leave));

enum Outcome : int { kDone = 0, kNotPermitted = 1, kFailed = 2 };

// A rank goes on after an error of its device: these requests are about no device.
wire::Channel* channel() {
  shim::ThreadState& mine = shim::thread();
  if (mine.in_callback || shim::Session::get().connect() != cudaSuccess) return nullptr;
  return &mine.channel;
}

int outcome_of(wire::Status status) {
  return status == wire::Status::ok ? kDone : status == wire::Status::not_permitted ? kNotPermitted : kFailed;
}

}  // namespace

FB_API int fabricbench_step_next(void* stream, int failed, const char* text, uint32_t* kind, uint32_t* call,
                                 uint64_t* words, size_t most_words, size_t* words_got) {
  wire::Channel* const machine = channel();
  if (!machine) return kFailed;
  wire::StepNext request;
  request.failed = static_cast<uint32_t>(failed);
  const auto found = shim::find_stream(static_cast<cudaStream_t>(stream));
  if (!found && failed == 0) return kFailed;
  if (found) {
    request.stream = (*found)->id;
    request.device = static_cast<uint32_t>((*found)->device);
  }
  constexpr size_t kLongestText = 4096;
  const size_t length = failed != 0 && text ? std::min(std::strlen(text), kLongestText) : 0;
  wire::StepReady reply;
  std::vector<std::byte> blob;
  const wire::Status status =
      machine->call<wire::Kind::step_next>(request, &reply, {reinterpret_cast<const std::byte*>(text), length}, &blob);
  if (status != wire::Status::ok) return outcome_of(status);
  *kind = static_cast<uint32_t>(reply.kind);
  *call = reply.call;
  *words_got = blob.size() / sizeof(uint64_t);
  if (!blob.empty()) std::memcpy(words, blob.data(), std::min(*words_got, most_words) * sizeof(uint64_t));
  return kDone;
}

// What is too long for one message goes in parts, of the same length on all ranks.
FB_API int fabricbench_exchange(const void* mine, size_t bytes, void* all, size_t all_bytes) {
  wire::Channel* const machine = channel();
  if (!machine || (bytes != 0 && all_bytes % bytes != 0)) return kFailed;
  const size_t ranks = bytes == 0 ? 0 : all_bytes / bytes;
  if (bytes != 0 && (ranks == 0 || ranks > wire::kLargestBlob)) return kFailed;
  const size_t most = bytes == 0 ? 1 : wire::kLargestBlob / ranks;
  const auto* const from = static_cast<const std::byte*>(mine);
  auto* const into = static_cast<std::byte*>(all);
  size_t at = 0;
  do {
    const size_t part = std::min(most, bytes - at);
    std::vector<std::byte> got;
    const wire::Status status = machine->call<wire::Kind::exchange>({}, nullptr, {from + at, part}, &got);
    if (status != wire::Status::ok) return outcome_of(status);
    if (got.size() != part * ranks) return kFailed;
    for (size_t r = 0; r < ranks; ++r) std::memcpy(into + r * bytes + at, got.data() + r * part, part);
    at += part;
  } while (at < bytes);
  return kDone;
}

FB_API int fabricbench_share_descriptor(int root, int descriptor, int* shared) {
  wire::Channel* const machine = channel();
  if (!machine || root < 0 || !shared) return kFailed;
  wire::ExchangeDescriptor request;
  request.root = static_cast<uint32_t>(root);
  fb::UniqueFd got;
  const wire::Status status =
      machine->call<wire::Kind::exchange_descriptor>(request, nullptr, {}, nullptr, descriptor, &got);
  if (status != wire::Status::ok) return outcome_of(status);
  if (!got) return kFailed;
  *shared = got.release();
  return kDone;
}
