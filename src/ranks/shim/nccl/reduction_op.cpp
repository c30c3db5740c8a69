// Reductions that a program makes: sums of scaled elements.

#include <atomic>
#include <cstring>

#include "ranks/shim/nccl/comm.h"
#include "ranks/shim/nccl/export.h"

using namespace fb::shim::nccl;

namespace {

constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};  // by ncclDataType_t
std::atomic<int> next_op = ncclNumOps;                             // never given twice, so that a foreign one is known

}  // namespace

FB_NCCL(ncclResult_t, ncclRedOpCreatePreMulSum, ncclRedOp_t* op, void* scalar, ncclDataType_t type,
        ncclScalarResidence_t residence, ncclComm_t handle) {
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclRedOpCreatePreMulSum", comm); r != ncclSuccess) return r;
  if (!op || !scalar) return fail(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: op or scalar is NULL");
  if (type < 0 || type >= ncclNumTypes) return fail(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: no such type");
  if (residence != ncclScalarDevice && residence != ncclScalarHostImmediate)
    return fail(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: no such residence");
  ScaledSum sum;
  sum.type = type;
  sum.on_device = residence == ncclScalarDevice;
  if (sum.on_device) {
    sum.scalar = reinterpret_cast<uint64_t>(scalar);
  } else {
    std::memcpy(&sum.scalar, scalar, kSizes[type]);
  }
  const int number = next_op++;
  const std::lock_guard lock(comm->mutex);
  comm->reductions[number] = sum;
  *op = static_cast<ncclRedOp_t>(number);
  return ncclSuccess;
}

FB_NCCL(ncclResult_t, ncclRedOpDestroy, ncclRedOp_t op, ncclComm_t handle) {
  const int number = op;
  if (number >= 0 && number < ncclNumOps)
    return fail(ncclInvalidArgument, "ncclRedOpDestroy: the operation is one of NCCL's own");
  CommPtr comm;
  if (const ncclResult_t r = check_comm(handle, "ncclRedOpDestroy", comm); r != ncclSuccess) return r;
  const std::lock_guard lock(comm->mutex);
  if (comm->reductions.erase(number) == 0)
    return fail(ncclInvalidArgument, "ncclRedOpDestroy: the operation is none of this communicator");
  return ncclSuccess;
}
