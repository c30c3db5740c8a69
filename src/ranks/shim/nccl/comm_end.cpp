// How communicators end, and rest.

#include <fmt/format.h>

#include "ranks/shim/nccl/export.h"
#include "ranks/shim/nccl/group.h"

using namespace fb::shim::nccl;
namespace wire = fb::wire;

namespace {

ncclResult_t end(const Comm& comm, wire::CommChange how, const char* function) {
  return from_cuda(request<wire::Kind::comm_end>({.comm = comm.id, .how = how}), function);
}

// All ranks suspend and resume together: at the end of the group.
ncclResult_t rest(ncclComm_t handle, bool suspend, const char* function) {
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, function, comm); r != ncclSuccess) return r;
  Scope scope;
  if (comm->suspended.exchange(suspend) == suspend)
    return scope.end(
        fail(ncclInvalidUsage, fmt::format("{}: the communicator is {}suspended", function, suspend ? "" : "not ")));
  const ncclResult_t r = end(*comm, suspend ? wire::CommChange::suspend : wire::CommChange::resume, function);
  if (r == ncclSuccess) add_job(comm);
  return scope.end(r);
}

}  // namespace

FB_NCCL(ncclResult_t, ncclCommFinalize, ncclComm_t handle) {
  if (!handle) return ncclSuccess;
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommFinalize", comm); r != ncclSuccess) return r;
  if (comm->revoked || comm->finalized.exchange(true))
    return fail(ncclInvalidArgument, "ncclCommFinalize: the communicator was finalized or revoked before");
  const ncclResult_t r = end(*comm, wire::CommChange::finalize, "ncclCommFinalize");
  if (r != ncclSuccess) return r;
  if (in_group()) {
    add_job(comm);
    return ncclSuccess;
  }
  return comm->blocking ? wait_for(*comm, "ncclCommFinalize") : ncclInProgress;
}

FB_NCCL(ncclResult_t, ncclCommDestroy, ncclComm_t handle) {
  if (!handle) return ncclSuccess;
  const CommPtr comm = take_comm(handle);
  if (!comm) return fail(ncclInvalidArgument, "ncclCommDestroy: comm is no communicator, or was destroyed before");
  return end(*comm, wire::CommChange::destroy, "ncclCommDestroy");
}

FB_NCCL(ncclResult_t, ncclCommAbort, ncclComm_t handle) {
  if (!handle) return ncclSuccess;
  const CommPtr comm = take_comm(handle);
  if (!comm) return fail(ncclInvalidArgument, "ncclCommAbort: comm is no communicator, or was destroyed before");
  return end(*comm, wire::CommChange::abort, "ncclCommAbort");
}

FB_NCCL(ncclResult_t, ncclCommRevoke, ncclComm_t handle, int flags) {
  if (!handle) return ncclSuccess;
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommRevoke", comm); r != ncclSuccess) return r;
  if (flags != NCCL_REVOKE_DEFAULT) return fail(ncclInvalidArgument, "ncclCommRevoke: no such flags");
  if (comm->finalized || comm->revoked.exchange(true))
    return fail(ncclInvalidArgument, "ncclCommRevoke: the communicator was finalized or revoked before");
  return end(*comm, wire::CommChange::revoke, "ncclCommRevoke");
}

FB_NCCL(ncclResult_t, ncclCommSuspend, ncclComm_t handle, int flags) {
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommSuspend", comm); r != ncclSuccess) return r;
  if ((flags & NCCL_SUSPEND_MEM) == 0) return ncclSuccess;  // nothing to suspend
  // Work that is under way would still use what is released.
  const OnDevice on(comm->device);
  if (const cudaError_t e = cudaDeviceSynchronize(); e != cudaSuccess) return from_cuda(e, "ncclCommSuspend");
  return rest(handle, true, "ncclCommSuspend");
}

FB_NCCL(ncclResult_t, ncclCommResume, ncclComm_t handle) { return rest(handle, false, "ncclCommResume"); }
