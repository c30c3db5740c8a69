// How communicators end.

#include <fmt/format.h>

#include "shim/nccl/export.h"
#include "shim/nccl/group.h"

using namespace fb::shim::nccl;
namespace wire = fb::wire;

namespace {

ncclResult_t end(const Comm& comm, wire::CommEnding how, const char* function) {
  return from_cuda(request<wire::Kind::comm_end>({.comm = comm.id, .how = how}), function);
}

}  // namespace

FB_NCCL(ncclResult_t, ncclCommFinalize, ncclComm_t handle) {
  if (!handle) return ncclSuccess;
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommFinalize", comm); r != ncclSuccess) return r;
  if (comm->revoked || comm->finalized.exchange(true))
    return fail(ncclInvalidArgument, "ncclCommFinalize: the communicator was finalized or revoked before");
  const ncclResult_t r = end(*comm, wire::CommEnding::finalize, "ncclCommFinalize");
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
  return end(*comm, wire::CommEnding::destroy, "ncclCommDestroy");
}

FB_NCCL(ncclResult_t, ncclCommAbort, ncclComm_t handle) {
  if (!handle) return ncclSuccess;
  const CommPtr comm = take_comm(handle);
  if (!comm) return fail(ncclInvalidArgument, "ncclCommAbort: comm is no communicator, or was destroyed before");
  return end(*comm, wire::CommEnding::abort, "ncclCommAbort");
}

FB_NCCL(ncclResult_t, ncclCommRevoke, ncclComm_t handle, int flags) {
  if (!handle) return ncclSuccess;
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclCommRevoke", comm); r != ncclSuccess) return r;
  if (flags != NCCL_REVOKE_DEFAULT) return fail(ncclInvalidArgument, "ncclCommRevoke: no such flags");
  if (comm->finalized || comm->revoked.exchange(true))
    return fail(ncclInvalidArgument, "ncclCommRevoke: the communicator was finalized or revoked before");
  return end(*comm, wire::CommEnding::revoke, "ncclCommRevoke");
}
