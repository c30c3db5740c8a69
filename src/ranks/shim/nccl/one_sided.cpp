// Puts into windows of other ranks, signals, and waits for them.

#include <fmt/format.h>

#include <vector>

#include "ranks/shim/nccl/call.h"
#include "ranks/shim/nccl/export.h"
#include "ranks/shim/nccl/window.h"

namespace fb::shim::nccl {
namespace {

using Kind = wire::CollectiveKind;

// What NCCL reserves for later has to be 0.
ncclResult_t check_reserved(const char* function, int signal, int context, unsigned int flags) {
  if (signal == 0 && context == 0 && flags == 0) return ncclSuccess;
  return fail(ncclInvalidArgument, fmt::format("{}: sigIdx, ctx and flags must be 0", function));
}

ncclResult_t check_one_sided(const Call& c, ncclComm_t handle, GroupCall& into) {
  if (const ncclResult_t r = check(c, handle, into); r != ncclSuccess) return r;
  if (into.comm->symmetric) return ncclSuccess;
  return fail(ncclInvalidArgument, fmt::format("{}: the ranks can't map each other's memory", c.name));
}

ncclResult_t put(const Call& c, ncclWindow_t window, size_t offset, ncclComm_t handle, GroupCall& into) {
  if (const ncclResult_t r = check_one_sided(c, handle, into); r != ncclSuccess) return r;
  into.call.window = window_id(*into.comm, window);
  if (into.call.window == 0)
    return fail(ncclInvalidArgument, fmt::format("{}: peerWin is no window of this communicator", c.name));
  constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};  // by ncclDataType_t
  const size_t size = kSizes[c.type];
  if (!c.ends.send || c.count > SIZE_MAX / size || !in_symmetric_window(*into.comm, c.ends.send, c.count * size))
    return fail(ncclInvalidArgument, fmt::format("{}: localbuff is not in a symmetric window", c.name));
  into.call.receive = offset;
  return ncclSuccess;
}

ncclResult_t write_down(ncclResult_t checked, std::vector<GroupCall> calls) {
  Scope scope;
  if (checked == ncclSuccess) {
    for (GroupCall& c : calls) add_call(std::move(c));
  }
  return scope.end(checked);
}

}  // namespace
}  // namespace fb::shim::nccl

using namespace fb::shim::nccl;

FB_NCCL(ncclResult_t, ncclPutSignal, const void* local, size_t count, ncclDataType_t type, int peer,
        ncclWindow_t window, size_t offset, int signal, int context, unsigned int flags, ncclComm_t comm,
        cudaStream_t stream) {
  constexpr const char* kName = "ncclPutSignal";
  std::vector<GroupCall> calls(1);
  calls[0].stream = stream;
  ncclResult_t r = put({.kind = Kind::put_signal,
                        .name = kName,
                        .ends = {local, nullptr},
                        .count = count,
                        .type = type,
                        .peer = peer,
                        .caller = FB_CALLER},
                       window, offset, comm, calls[0]);
  if (r == ncclSuccess) r = check_reserved(kName, signal, context, flags);
  return write_down(r, std::move(calls));
}

FB_NCCL(ncclResult_t, ncclSignal, int peer, int signal, int context, unsigned int flags, ncclComm_t comm,
        cudaStream_t stream) {
  constexpr const char* kName = "ncclSignal";
  std::vector<GroupCall> calls(1);
  calls[0].stream = stream;
  ncclResult_t r = check_one_sided({.kind = Kind::signal, .name = kName, .ends = {}, .peer = peer, .caller = FB_CALLER},
                                   comm, calls[0]);
  if (r == ncclSuccess) r = check_reserved(kName, signal, context, flags);
  return write_down(r, std::move(calls));
}

FB_NCCL(ncclResult_t, ncclWaitSignal, int descriptors, ncclWaitSignalDesc_t* descriptor, ncclComm_t comm,
        cudaStream_t stream) {
  constexpr const char* kName = "ncclWaitSignal";
  ncclResult_t r = ncclSuccess;
  if (!descriptor || descriptors <= 0) r = fail(ncclInvalidArgument, "ncclWaitSignal: no descriptors");
  std::vector<GroupCall> calls;
  for (int k = 0; k < descriptors && r == ncclSuccess; ++k) {
    const ncclWaitSignalDesc_t& d = descriptor[k];
    if (d.opCnt <= 0) {
      r = fail(ncclInvalidArgument, "ncclWaitSignal: opCnt is not positive");
      break;
    }
    calls.emplace_back().stream = stream;
    r = check_one_sided({.kind = Kind::wait_signal,
                         .name = kName,
                         .ends = {},
                         .count = static_cast<size_t>(d.opCnt),
                         .peer = d.peer,
                         .caller = FB_CALLER},
                        comm, calls.back());
    if (r == ncclSuccess) r = check_reserved(kName, d.sigIdx, d.ctx, 0);
  }
  return write_down(r, std::move(calls));
}
