// Operations of cuBLAS.

#include "virtual_node/machine/libraries/blas/blas_operations.h"
#include "virtual_node/machine/process/stream_scheduler.h"
#include "virtual_node/machine/requests/handlers.h"

namespace fb::machine {

using wire::Status;

Status on_blas(NodeServices& node, Call& call, const wire::Blas& m, wire::Empty&, Answer&) {
  Process& process = *call.thread->process;
  Stream* stream = node.streams.find_stream(process, m.stream);
  if (!stream) return Status::invalid_handle;
  OperationPtr op;
  if (const Status s = node.blas.make(process, m, op); s != Status::ok) return s;
  // As a kernel's launch: the host's call returns before it reaches the device.
  op->issued = node.fabric.shares().later(call.thread->now, node.platform.kernel.launch, platform::Group::launch);
  call.thread->spend(node.platform.cublas.call);
  node.streams.enqueue(*call.thread, *stream, m.stream.stream, op);
  return Status::ok;
}

}  // namespace fb::machine
