// Values that streams wait for and write.

#include "ranks/shim/cuda/driver/driver.h"
#include "ranks/shim/cuda/memory/copy.h"
#include "ranks/shim/cuda/memory/send_copy.h"
#include "ranks/shim/cuda/streams/stream.h"
#include "ranks/shim/cuda/streams/submit.h"
#include "ranks/shim/cuda/streams/work.h"

using namespace fb::shim;
namespace wire = fb::wire;

namespace {

Error check_address(CUdeviceptr address, uint32_t bytes) {
  if (address == 0 || address % bytes != 0) return cudaErrorInvalidValue;
  return memory_type_of(pointer_of(address)) == MemoryType::pageable ? cudaErrorInvalidValue : cudaSuccess;
}

Expected<ValueWork> make_wait(CUdeviceptr address, uint64_t value, uint32_t bytes, unsigned int flags) {
  if (flags & CU_STREAM_WAIT_VALUE_FLUSH) return failure(cudaErrorNotSupported);
  if (flags > CU_STREAM_WAIT_VALUE_NOR) return failure(cudaErrorInvalidValue);
  if (const Error e = check_address(address, bytes); e != cudaSuccess) return failure(e);
  static constexpr wire::Compare kCompare[] = {wire::Compare::greater_equal, wire::Compare::equal,
                                               wire::Compare::bit_and, wire::Compare::bit_nor};
  return ValueWork{.address = address, .value = value, .bytes = bytes, .write = false, .compare = kCompare[flags]};
}

// Writes are ordered behind the stream's earlier work whether the barrier is wanted or not.
Expected<ValueWork> make_write(CUdeviceptr address, uint64_t value, uint32_t bytes, unsigned int flags) {
  if (flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) return failure(cudaErrorInvalidValue);
  if (const Error e = check_address(address, bytes); e != cudaSuccess) return failure(e);
  return ValueWork{.address = address, .value = value, .bytes = bytes, .write = true, .compare = {}};
}

CUresult put_on(CUstream handle, const auto& make) {
  return in_context([&] {
    const auto stream = find_stream(handle);
    if (!stream) return stream.error();
    const Expected<ValueWork> work = make();
    return work ? submit(**stream, *work) : work.error();
  });
}

// Nothing to do for a barrier: a stream's operations are in order.
Expected<Work> to_work(const CUstreamBatchMemOpParams& op) {
  switch (op.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return make_wait(op.waitValue.address, op.waitValue.value, 4, op.waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return make_wait(op.waitValue.address, op.waitValue.value64, 8, op.waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return make_write(op.writeValue.address, op.writeValue.value, 4, op.writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return make_write(op.writeValue.address, op.writeValue.value64, 8, op.writeValue.flags);
    case CU_STREAM_MEM_OP_BARRIER:
      return EmptyWork{};
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return failure(cudaErrorNotSupported);
  }
  return failure(cudaErrorInvalidValue);
}

}  // namespace

FB_API CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  return put_on(stream, [&] { return make_wait(address, value, 4, flags); });
}

FB_API CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  return put_on(stream, [&] { return make_wait(address, value, 8, flags); });
}

FB_API CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  return put_on(stream, [&] { return make_write(address, value, 4, flags); });
}

FB_API CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags) {
  return put_on(stream, [&] { return make_write(address, value, 8, flags); });
}

FB_API CUresult cuStreamBatchMemOp(CUstream handle, unsigned int count, CUstreamBatchMemOpParams* operations,
                                   unsigned int flags) {
  return in_context([&] {
    if (flags != 0 || count == 0 || count > 256 || !operations) return cudaErrorInvalidValue;
    const auto stream = find_stream(handle);
    if (!stream) return stream.error();
    // All of them or none.
    std::vector<Work> works;
    for (unsigned int k = 0; k < count; ++k) {
      auto work = to_work(operations[k]);
      if (!work) return work.error();
      if (!std::holds_alternative<EmptyWork>(*work)) works.push_back(std::move(*work));
    }
    for (Work& work : works) {
      if (const Error e = submit(**stream, std::move(work)); e != cudaSuccess) return e;
    }
    return cudaSuccess;
  });
}
