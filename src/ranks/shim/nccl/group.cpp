#include "ranks/shim/nccl/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "ranks/shim/nccl/export.h"

namespace fb::shim::nccl {
namespace {

struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<GroupCall> calls;
  std::vector<CommPtr> jobs;
};
thread_local Group group;

// All calls of a group on one communicator.
struct Batch {
  CommPtr comm;
  std::vector<wire::CollectiveCall> calls;
  std::vector<cudaStream_t> streams;
};

std::vector<Batch> batches_of(const std::vector<GroupCall>& calls) {
  std::vector<Batch> all;
  for (const GroupCall& call : calls) {
    auto batch = std::ranges::find(all, call.comm, &Batch::comm);
    if (batch == all.end()) batch = all.insert(all.end(), Batch{call.comm, {}, {}});
    batch->calls.push_back(call.call);
    if (std::ranges::find(batch->streams, call.stream) == batch->streams.end()) batch->streams.push_back(call.stream);
  }
  return all;
}

// A message to oneself needs both ends in one group: nothing else could match it.
bool matches_itself(const Batch& batch) {
  long sends = 0;
  for (const wire::CollectiveCall& c : batch.calls) {
    if (c.peer != batch.comm->rank) continue;
    sends += c.kind == wire::CollectiveKind::send ? 1 : c.kind == wire::CollectiveKind::receive ? -1 : 0;
  }
  return sends == 0;
}

struct Places {
  std::vector<wire::Id> ids;
  bool captures = false;
};

ncclResult_t find_streams(const Batch& batch, Places& places) {
  const OnDevice on(batch.comm->device);
  for (size_t k = 0; k < batch.streams.size(); ++k) {
    uint64_t id = 0;
    uint32_t device = 0;
    int captures = 0;
    if (const int e = fabricbench_stream(batch.streams[k], &id, &device, &captures); e != 0)
      return fail(ncclUnhandledCudaError, fmt::format("the stream of a call: Cuda failure {}", e));
    if (static_cast<int>(device) != batch.comm->device)
      return fail(ncclInvalidArgument,
                  fmt::format("a stream of device {} with a communicator of device {}", device, batch.comm->device));
    if (captures == 2) return fail(ncclUnhandledCudaError, "the capture of a stream was invalidated");
    if (k != 0 && places.captures != (captures == 1))
      return fail(ncclInvalidUsage, "some streams of the group are captured and others are not");
    places.captures = captures == 1;
    places.ids.push_back(id);
  }
  return ncclSuccess;
}

std::vector<std::byte> blob_of(const Batch& batch, const std::vector<wire::Id>& more) {
  std::vector<std::byte> blob(batch.calls.size() * sizeof(wire::CollectiveCall) + more.size() * sizeof(wire::Id));
  std::memcpy(blob.data(), batch.calls.data(), batch.calls.size() * sizeof(wire::CollectiveCall));
  if (!more.empty())
    std::memcpy(blob.data() + batch.calls.size() * sizeof(wire::CollectiveCall), more.data(),
                more.size() * sizeof(wire::Id));
  return blob;
}

ncclResult_t launch(const Batch& batch, const Places& places) {
  wire::Collective message;
  message.stream = {.stream = places.ids.front(), .device = static_cast<uint32_t>(batch.comm->device), .zero = 0};
  message.comm = batch.comm->id;
  message.calls = static_cast<uint32_t>(batch.calls.size());
  if (places.captures) {
    const OnDevice on(batch.comm->device);
    const auto blob = blob_of(batch, {});
    std::vector<void*> streams(batch.streams.begin(), batch.streams.end());
    const int e = fabricbench_capture_collective(streams.data(), streams.size(), &message, blob.data(), blob.size());
    return e == 0 ? ncclSuccess : fail(ncclUnhandledCudaError, fmt::format("a captured call: Cuda failure {}", e));
  }
  const std::vector<wire::Id> more(places.ids.begin() + 1, places.ids.end());
  message.more_streams = static_cast<uint32_t>(more.size());
  const auto blob = blob_of(batch, more);
  return from_cuda(request<wire::Kind::collective>(message, nullptr, blob.data(), blob.size()), "a collective");
}

ncclResult_t finish_whole(const Group& done) {
  if (done.error != ncclSuccess) return done.error;
  if (!done.jobs.empty() && !done.calls.empty())
    return fail(ncclInvalidUsage, "communicators are made and used in the same group");
  const auto blocks = [](const CommPtr& c) { return c->blocking; };
  bool waits = false, continues = false;
  for (const CommPtr& c : done.jobs) (blocks(c) ? waits : continues) = true;
  for (const GroupCall& c : done.calls) (blocks(c.comm) ? waits : continues) = true;
  if (waits && continues) return fail(ncclInvalidArgument, "blocking and nonblocking communicators in the same group");
  if (!done.jobs.empty()) {
    if (continues) return ncclInProgress;
    ncclResult_t first = ncclSuccess;
    for (const CommPtr& comm : done.jobs) {
      const ncclResult_t r = wait_for(*comm, "ncclGroupEnd");
      if (first == ncclSuccess) first = r;
    }
    return first;
  }
  // Everything is checked before anything is launched.
  const auto batches = batches_of(done.calls);
  std::vector<Places> places(batches.size());
  for (size_t k = 0; k < batches.size(); ++k) {
    if (!matches_itself(batches[k]))
      return fail(ncclInvalidUsage, "a message to oneself without its other end in the same group");
    if (const ncclResult_t r = find_streams(batches[k], places[k]); r != ncclSuccess) return r;
    if (places[k].captures != places[0].captures)
      return fail(ncclInvalidUsage, "some streams of the group are captured and others are not");
  }
  for (size_t k = 0; k < batches.size(); ++k) {
    if (const ncclResult_t r = launch(batches[k], places[k]); r != ncclSuccess) return r;
    batches[k].comm->was_launched = !batches[k].comm->blocking;
  }
  return continues ? ncclInProgress : ncclSuccess;
}

// Calls whose group fails are not launched. A call that is wrong by itself has been told of.
ncclResult_t finish(const Group& done) {
  const ncclResult_t result = finish_whole(done);
  if (result != ncclSuccess && result != ncclInProgress && done.error == ncclSuccess && !done.calls.empty())
    tell_failed(result, done.calls.front().call.where);
  return result;
}

}  // namespace

bool in_group() { return group.depth > 0; }
void add_call(GroupCall call) { group.calls.push_back(std::move(call)); }
void add_job(const CommPtr& comm) { group.jobs.push_back(comm); }

Scope::Scope() { ++group.depth; }

ncclResult_t Scope::end(ncclResult_t result) {
  if (result != ncclSuccess && group.error == ncclSuccess) group.error = result;
  if (--group.depth > 0) return result;
  return finish(std::exchange(group, {}));
}

}  // namespace fb::shim::nccl

using namespace fb::shim::nccl;
namespace wire = fb::wire;

FB_NCCL(ncclResult_t, ncclGroupStart, void) {
  ++group.depth;
  return ncclSuccess;
}

FB_NCCL(ncclResult_t, ncclGroupEnd, void) {
  if (group.depth == 0) return fail(ncclInvalidUsage, "ncclGroupEnd: without ncclGroupStart");
  if (--group.depth > 0) return ncclSuccess;
  return finish(std::exchange(group, {}));
}

FB_NCCL(ncclResult_t, ncclGroupSimulateEnd, ncclSimInfo_t* info) {
  constexpr unsigned int kMagic = 0x74685283;
  if (group.depth == 0) return fail(ncclInvalidUsage, "ncclGroupSimulateEnd: without ncclGroupStart");
  if (--group.depth > 0) return ncclSuccess;
  const Group done = std::exchange(group, {});
  if (done.error != ncclSuccess) return done.error;
  if (!info) return ncclSuccess;
  if (info->magic != kMagic) return fail(ncclInvalidArgument, "ncclGroupSimulateEnd: simInfo is not initialised");
  double all = 0;
  for (const Batch& batch : batches_of(done.calls)) {
    wire::Collective message;
    message.stream.device = static_cast<uint32_t>(batch.comm->device);
    message.comm = batch.comm->id;
    message.calls = static_cast<uint32_t>(batch.calls.size());
    const auto blob = blob_of(batch, {});
    wire::Elapsed elapsed;
    const int e = request<wire::Kind::collective_estimate>(message, &elapsed, blob.data(), blob.size());
    if (e != 0) return from_cuda(e, "ncclGroupSimulateEnd");
    all += elapsed.milliseconds * 1000;
  }
  info->estimatedTime = static_cast<float>(all);
  return ncclSuccess;
}
