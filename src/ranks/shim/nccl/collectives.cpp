// Collectives and messages.

#include <fmt/format.h>

#include "common/wire/collectives.h"
#include "ranks/shim/nccl/call.h"
#include "ranks/shim/nccl/export.h"
#include "ranks/shim/where/where.h"

namespace fb::shim::nccl {
namespace {

using Kind = wire::CollectiveKind;

// NCCL's header declares the functions of the table.
#define COLLECTIVE(name, function, ...) static_assert(sizeof(&::function) == sizeof(void*));
#include "common/wire/collectives.def"

constexpr wire::ReduceOp kOps[] = {wire::ReduceOp::sum, wire::ReduceOp::product, wire::ReduceOp::max,
                                   wire::ReduceOp::min, wire::ReduceOp::average};

ncclResult_t set_op(const Call& c, Comm& comm, wire::CollectiveCall& to) {
  const int op = c.op;
  if (op < 0 || op > ncclMaxRedOp) return fail(ncclInvalidArgument, fmt::format("{}: no such operation", c.name));
  if (op < ncclNumOps) {
    to.op = kOps[op];
    return ncclSuccess;
  }
  const std::lock_guard lock(comm.mutex);
  const auto own = comm.reductions.find(op);
  if (own == comm.reductions.end())
    return fail(ncclInvalidArgument, fmt::format("{}: the operation is none of this communicator", c.name));
  if (own->second.type != c.type)
    return fail(ncclInvalidArgument, fmt::format("{}: the operation was made for another type", c.name));
  to.op = wire::ReduceOp::scaled_sum;
  to.scalar = own->second.scalar;
  to.scalar_from = own->second.on_device ? wire::ScalarFrom::device : wire::ScalarFrom::request;
  return ncclSuccess;
}

}  // namespace

ncclResult_t check(const Call& c, ncclComm_t handle, GroupCall& into) {
  if (const ncclResult_t r = check_comm(handle, c.name, into.comm); r != ncclSuccess) return r;
  Comm& comm = *into.comm;
  if (comm.finalized || comm.revoked)
    return fail(ncclInvalidArgument, fmt::format("{}: the communicator was finalized or revoked", c.name));
  if (comm.suspended) return fail(ncclInvalidUsage, fmt::format("{}: the communicator is suspended", c.name));
  if (comm.was_launched.exchange(false) && !in_group())
    return fail(ncclInvalidArgument, fmt::format("{}: the call before is in progress", c.name));
  if (c.type < 0 || c.type >= ncclNumTypes) return fail(ncclInvalidArgument, fmt::format("{}: no such type", c.name));
  if (has_peer(c.kind) && (c.peer < 0 || c.peer >= comm.ranks))
    return fail(ncclInvalidArgument, fmt::format("{}: rank {} is none of 0 to {}", c.name, c.peer, comm.ranks - 1));
  wire::CollectiveCall& to = into.call;
  to.kind = c.kind;
  to.type = static_cast<wire::ElementType>(c.type);
  to.peer = c.peer;
  to.send = reinterpret_cast<uint64_t>(c.ends.send);
  to.receive = reinterpret_cast<uint64_t>(c.ends.receive);
  to.count = c.count;
  if (facts_of(c.kind).reduces) {
    if (const ncclResult_t r = set_op(c, comm, to); r != ncclSuccess) return r;
  }
  line_of(c.caller, to.where);
  return ncclSuccess;
}

namespace {

ncclResult_t call(const Call& c, ncclComm_t comm, cudaStream_t stream) {
  GroupCall into;
  into.stream = stream;
  // A call by itself is checked before it counts as a group.
  const ncclResult_t checked = check(c, comm, into);
  if (checked != ncclSuccess) {
    char where[sizeof into.call.where] = {};
    line_of(c.caller, where);
    tell_failed(checked, where);
  }
  Scope scope;
  // A collective of nothing is dropped; a message of nothing has to be matched.
  if (checked == ncclSuccess && (c.count != 0 || is_message(c.kind))) add_call(std::move(into));
  return scope.end(checked);
}

}  // namespace
}  // namespace fb::shim::nccl

using namespace fb::shim::nccl;

FB_NCCL(ncclResult_t, ncclAllReduce, const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
        ncclComm_t comm, cudaStream_t stream) {
  return call({.kind = Kind::all_reduce,
               .name = "ncclAllReduce",
               .ends = {send, receive},
               .count = count,
               .type = type,
               .op = op,
               .caller = FB_CALLER},
              comm, stream);
}

FB_NCCL(ncclResult_t, ncclBroadcast, const void* send, void* receive, size_t count, ncclDataType_t type, int root,
        ncclComm_t comm, cudaStream_t stream) {
  return call({.kind = Kind::broadcast,
               .name = "ncclBroadcast",
               .ends = {send, receive},
               .count = count,
               .type = type,
               .peer = root,
               .caller = FB_CALLER},
              comm, stream);
}

FB_NCCL(ncclResult_t, ncclBcast, void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
        cudaStream_t stream) {
  return call({.kind = Kind::broadcast,
               .name = "ncclBcast",
               .ends = {buffer, buffer},
               .count = count,
               .type = type,
               .peer = root,
               .caller = FB_CALLER},
              comm, stream);
}

FB_NCCL(ncclResult_t, ncclReduce, const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
        int root, ncclComm_t comm, cudaStream_t stream) {
  return call({.kind = Kind::reduce,
               .name = "ncclReduce",
               .ends = {send, receive},
               .count = count,
               .type = type,
               .op = op,
               .peer = root,
               .caller = FB_CALLER},
              comm, stream);
}

FB_NCCL(ncclResult_t, ncclAllGather, const void* send, void* receive, size_t count, ncclDataType_t type,
        ncclComm_t comm, cudaStream_t stream) {
  return call({.kind = Kind::all_gather,
               .name = "ncclAllGather",
               .ends = {send, receive},
               .count = count,
               .type = type,
               .caller = FB_CALLER},
              comm, stream);
}

FB_NCCL(ncclResult_t, ncclReduceScatter, const void* send, void* receive, size_t count, ncclDataType_t type,
        ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return call({.kind = Kind::reduce_scatter,
               .name = "ncclReduceScatter",
               .ends = {send, receive},
               .count = count,
               .type = type,
               .op = op,
               .caller = FB_CALLER},
              comm, stream);
}

FB_NCCL(ncclResult_t, ncclAlltoAll, const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
        cudaStream_t stream) {
  return call({.kind = Kind::all_to_all,
               .name = "ncclAlltoAll",
               .ends = {send, receive},
               .count = count,
               .type = type,
               .caller = FB_CALLER},
              comm, stream);
}

FB_NCCL(ncclResult_t, ncclGather, const void* send, void* receive, size_t count, ncclDataType_t type, int root,
        ncclComm_t comm, cudaStream_t stream) {
  return call({.kind = Kind::gather,
               .name = "ncclGather",
               .ends = {send, receive},
               .count = count,
               .type = type,
               .peer = root,
               .caller = FB_CALLER},
              comm, stream);
}

FB_NCCL(ncclResult_t, ncclScatter, const void* send, void* receive, size_t count, ncclDataType_t type, int root,
        ncclComm_t comm, cudaStream_t stream) {
  return call({.kind = Kind::scatter,
               .name = "ncclScatter",
               .ends = {send, receive},
               .count = count,
               .type = type,
               .peer = root,
               .caller = FB_CALLER},
              comm, stream);
}

FB_NCCL(ncclResult_t, ncclSend, const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
        cudaStream_t stream) {
  return call({.kind = Kind::send,
               .name = "ncclSend",
               .ends = {send, nullptr},
               .count = count,
               .type = type,
               .peer = peer,
               .caller = FB_CALLER},
              comm, stream);
}

FB_NCCL(ncclResult_t, ncclRecv, void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
        cudaStream_t stream) {
  return call({.kind = Kind::receive,
               .name = "ncclRecv",
               .ends = {nullptr, receive},
               .count = count,
               .type = type,
               .peer = peer,
               .caller = FB_CALLER},
              comm, stream);
}
