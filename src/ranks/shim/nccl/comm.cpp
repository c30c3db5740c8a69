#include "ranks/shim/nccl/comm.h"

#include <fmt/format.h>

#include <unordered_map>

#include "ranks/shim/nccl/export.h"

namespace fb::shim::nccl {
namespace {

struct Live {
  std::mutex mutex;
  std::unordered_map<ncclComm_t, CommPtr> comms;
  uintptr_t next = 0x20000;  // numbers in a pointer's clothes, never given twice
};
Live& live() {
  static auto* const made = new Live;
  return *made;
}

}  // namespace

void publish(const CommPtr& comm) {
  const std::lock_guard lock(live().mutex);
  comm->handle = reinterpret_cast<ncclComm_t>(live().next);
  live().next += 0x40;
  live().comms[comm->handle] = comm;
}

CommPtr find_comm(ncclComm_t handle) {
  const std::lock_guard lock(live().mutex);
  const auto found = live().comms.find(handle);
  return found == live().comms.end() ? nullptr : found->second;
}

CommPtr take_comm(ncclComm_t handle) {
  const std::lock_guard lock(live().mutex);
  const auto found = live().comms.find(handle);
  if (found == live().comms.end()) return nullptr;
  CommPtr comm = found->second;
  live().comms.erase(found);
  return comm;
}

namespace {

// Once: other threads read them without the mutex as soon as the communicator is ready.
void set_facts(Comm& comm, const wire::CommFacts& facts) {
  const std::lock_guard lock(comm.mutex);
  if (comm.ready) return;
  comm.rank = facts.rank;
  comm.ranks = facts.ranks;
  comm.device = static_cast<int>(facts.device);
  comm.symmetric = facts.symmetric != 0;
  comm.ready = true;
}

}  // namespace

ncclResult_t refresh(Comm& comm, ncclResult_t& state) {
  wire::CommFacts facts;
  const int error = request<wire::Kind::comm_query>({.handle = comm.id}, &facts);
  if (error != 0) return from_cuda(error, "ncclCommGetAsyncError");
  state = ncclSuccess;
  switch (facts.state) {
    case wire::CommState::in_progress:
      state = ncclInProgress;
      break;
    case wire::CommState::failed:
      state = from_cuda(static_cast<int>(facts.error), "ncclCommInitRank");
      break;
    case wire::CommState::ready:
      set_facts(comm, facts);
      break;
    case wire::CommState::ended:
      break;
  }
  return ncclSuccess;
}

ncclResult_t check_comm(ncclComm_t handle, const char* function, CommPtr& comm, bool ready) {
  if (!handle) return fail(ncclInvalidArgument, fmt::format("{}: comm is NULL", function));
  comm = find_comm(handle);
  if (!comm) return fail(ncclInvalidArgument, fmt::format("{}: comm is no communicator, or was destroyed", function));
  if (!ready || comm->ready) return ncclSuccess;
  return fail(ncclInvalidArgument, fmt::format("{}: the communicator is not ready", function));
}

ncclResult_t wait_for(Comm& comm, const char* function) {
  wire::CommFacts facts;
  const int error = request<wire::Kind::comm_wait>({.handle = comm.id}, &facts);
  if (error != 0) return from_cuda(error, function);
  if (facts.state == wire::CommState::failed) return from_cuda(static_cast<int>(facts.error), function);
  if (facts.state == wire::CommState::ready) set_facts(comm, facts);
  return ncclSuccess;
}

namespace {

template <class Value>
ncclResult_t give(ncclComm_t handle, const char* function, int* into, Value value) {
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, function, comm); r != ncclSuccess) return r;
  if (!into) return fail(ncclInvalidArgument, fmt::format("{}: the pointer to the result is NULL", function));
  *into = value(*comm);
  return ncclSuccess;
}

}  // namespace
}  // namespace fb::shim::nccl

using namespace fb::shim::nccl;

FB_NCCL(ncclResult_t, ncclCommCount, const ncclComm_t comm, int* count) {
  return give(comm, "ncclCommCount", count, [](const Comm& c) { return c.ranks; });
}

FB_NCCL(ncclResult_t, ncclCommCuDevice, const ncclComm_t comm, int* device) {
  return give(comm, "ncclCommCuDevice", device, [](const Comm& c) { return c.device; });
}

FB_NCCL(ncclResult_t, ncclCommUserRank, const ncclComm_t comm, int* rank) {
  return give(comm, "ncclCommUserRank", rank, [](const Comm& c) { return c.rank; });
}

FB_NCCL(ncclResult_t, ncclCommGetAsyncError, ncclComm_t handle, ncclResult_t* error) {
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommGetAsyncError", comm, false); r != ncclSuccess) return r;
  if (!error) return fail(ncclInvalidArgument, "ncclCommGetAsyncError: asyncError is NULL");
  comm->was_launched = false;
  return refresh(*comm, *error);
}

FB_NCCL(ncclResult_t, ncclCommMemStats, ncclComm_t handle, ncclCommMemStat_t stat, uint64_t* value) {
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommMemStats", comm); r != ncclSuccess) return r;
  if (!value || stat < ncclStatGpuMemSuspend || stat > ncclStatGpuMemTotal)
    return fail(ncclInvalidArgument, "ncclCommMemStats: no such figure, or value is NULL");
  // The model allocates no memory of devices.
  *value = stat == ncclStatGpuMemSuspended && comm->suspended ? 1 : 0;
  return ncclSuccess;
}
