#include "ranks/shim/cuda/streams/submit.h"

#include "ranks/shim/cuda/core/callbacks.h"
#include "ranks/shim/cuda/core/session.h"
#include "ranks/shim/cuda/memory/send_copy.h"
#include "ranks/shim/cuda/streams/capture.h"
#include "ranks/shim/cuda/streams/wire_work.h"

namespace fb::shim {
namespace {

// Sends one kind of work; `wait` matters to copies and fills alone.
struct Sender {
  Stream& stream;
  bool wait;

  Error operator()(const EmptyWork&) const { return cudaSuccess; }
  Error operator()(const KernelWork& kernel) const {
    const auto info = kernel.function->info(stream.device);
    if (!info) return info.error();
    return call_on<wire::Kind::launch>(stream.device, to_wire(kernel, stream.ref(), info->facts.function), nullptr,
                                       kernel.params);
  }
  Error operator()(const CopyWork& box) const { return send_copy(stream, box, wait); }
  Error operator()(const MemsetWork& box) const {
    wire::Memset request = to_wire(box, stream.ref());
    request.wait = wait ? 1 : 0;
    return call_on<wire::Kind::memset>(stream.device, request);
  }
  Error operator()(const HostWork& host) const {
    const auto number = add_callback([host] { host.function(host.data); }, true);
    if (!number) return number.error();
    const Error e = call_on<wire::Kind::callback>(stream.device, {.stream = stream.ref(), .callback = *number});
    if (e != cudaSuccess) forget_callback(*number);
    return e;
  }
  Error operator()(const EventWork& work) const {
    const wire::EventOnStream request{.stream = stream.ref(), .event = work.event->id};
    return work.record ? call_on<wire::Kind::event_record>(stream.device, request)
                       : call_on<wire::Kind::event_depend>(stream.device, request);
  }
  Error operator()(const ValueWork& work) const {
    const wire::StreamValue request = to_wire(work, stream.ref());
    return work.write ? call_on<wire::Kind::stream_write_value>(stream.device, request)
                      : call_on<wire::Kind::stream_wait_value>(stream.device, request);
  }
  // Nodes of graphs only.
  Error operator()(const ChildWork&) const { return cudaErrorInvalidValue; }
  Error operator()(const ConditionalWork&) const { return cudaErrorInvalidValue; }
  Error operator()(const MemoryWork&) const { return cudaErrorInvalidValue; }
  Error operator()(const CollectiveWork&) const { return cudaErrorInvalidValue; }
  Error operator()(const BlasWork&) const { return cudaErrorInvalidValue; }
};

}  // namespace

Error submit(Stream& stream, Work work, bool wait) {
  if (capturing(stream)) return wait ? refuse_captured(stream) : capture_work(stream, std::move(work));
  if (const Error e = check_default_stream(stream); e != cudaSuccess) return e;
  return std::visit(Sender{stream, wait}, work);
}

}  // namespace fb::shim
