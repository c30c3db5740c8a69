#pragma once

// Stream capture: work is written down as nodes of a graph instead of being done.

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "ranks/shim/cuda/core/error.h"
#include "ranks/shim/cuda/core/thread_state.h"
#include "ranks/shim/cuda/streams/event.h"
#include "ranks/shim/cuda/streams/graph.h"
#include "ranks/shim/cuda/streams/stream.h"

namespace fb::shim {

struct Capture {
  unsigned long long id = 0;
  std::shared_ptr<Graph> graph;
  cudaGraph_t graph_handle = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  ThreadState* thread = nullptr;  // that began it
  Stream* origin = nullptr;
  bool invalidated = false, ended = false;
  bool into_existing = false;
  std::vector<std::weak_ptr<Stream>> streams;  // that take part
  std::vector<NodePtr> left;                   // the last nodes of streams that were destroyed meanwhile
};

// A stream is destroyed: of the origin it ends the capture, of another one its nodes stay.
void leave_capture(Stream& stream);

// True when the stream takes part in a capture, valid or not.
bool capturing(const Stream& stream);

Error begin_capture(cudaStream_t handle, cudaStreamCaptureMode mode);
// Into a graph that exists; the first nodes depend on `tails`.
Error begin_capture_to_graph(cudaStream_t handle, cudaGraph_t graph, const cudaGraphNode_t* tails, size_t count,
                             cudaStreamCaptureMode mode);
Error end_capture(cudaStream_t handle, cudaGraph_t* graph);
Error capture_status(cudaStream_t handle, cudaStreamCaptureStatus* status);
// Pointers may be null. `dependencies` stays valid until the thread asks again.
Error capture_info(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                   const cudaGraphNode_t** dependencies, size_t* count);
Error update_capture_dependencies(cudaStream_t handle, const cudaGraphNode_t* dependencies, size_t count,
                                  unsigned int flags);

// A call that CUDA calls potentially unsafe (it may wait, or allocate): refused while a capture forbids it, which it
// invalidates. The thread's capture mode decides.
Error check_unsafe_call();
// Work on the default stream would wait for streams that capture.
Error check_default_stream(const Stream& stream);
// A call that can't be captured on this stream (waiting, asking): invalidates the capture.
Error refuse_captured(Stream& stream);

// The halves of submit(), record_event() and stream_wait_event() for streams that capture.
Error capture_work(Stream& stream, Work work);
// Behind all of these streams, which go on behind it; they must take part in one capture.
Error capture_joint_work(const std::vector<StreamPtr>& streams, Work work);
Error capture_event_record(Stream& stream, Event& event);
Error capture_event_wait(const StreamPtr& stream, Event& event);

}  // namespace fb::shim
